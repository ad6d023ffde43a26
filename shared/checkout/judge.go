package checkout

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"holdfast/shared/deposit"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/wallet"
)

// judge decides in memory which new orders can be, given what users hold, what their wallets have and what buckets have free by locked
// rows. It takes the orders in the sequence in which Redis took the units, gives each its own buckets where they have enough, and takes
// what is missing from the others of the type; held, money and free are used up on the way.
type judge struct {
	limits map[string]int // per activity
	held   order.Holdings
	free   map[stock.BucketKey]int
	sizes  map[stock.TypeKey]int // number of buckets per type

	money    map[wallet.Key]wallet.Balance // what is available goes down
	deposits map[int]deposit.Record        // by the place of the order in the list
}

func newJudge(limits map[string]int, held order.Holdings, rows map[stock.TypeKey][]stock.BucketRow) *judge {
	j := &judge{limits: limits, held: held, free: make(map[stock.BucketKey]int), sizes: make(map[stock.TypeKey]int),
		money: make(map[wallet.Key]wallet.Balance)}
	for t, buckets := range rows {
		j.sizes[t] = len(buckets)
		for _, b := range buckets {
			j.free[b.BucketKey] = b.Free()
		}
	}
	return j
}

// verdict holds indexes into the list that was judged.
type verdict struct {
	moved   []int
	refused map[int]order.Reason
}

func (j *judge) decide(orders []order.Order) verdict {
	turn := make([]int, len(orders))
	for i := range turn {
		turn[i] = i
	}
	slices.SortFunc(turn, func(a, b int) int {
		return cmp.Or(cmp.Compare(orders[a].Seq, orders[b].Seq), order.CompareIDs(orders[a].ID, orders[b].ID))
	})
	v := verdict{refused: make(map[int]order.Reason)}
	for _, i := range turn {
		o := &orders[i]
		holder := order.Holder{ActivityID: o.ActivityID, UserID: o.UserID}
		if j.held[holder]+o.Quantity > j.limits[o.ActivityID] {
			v.refused[i] = order.PurchaseLimit
			continue
		}
		if !j.covers(i) {
			v.refused[i] = order.InsufficientBalance
			continue
		}
		given, ok := j.allocate(o)
		if !ok {
			v.refused[i] = order.InsufficientStock
			continue
		}
		j.spend(i)
		j.held[holder] += o.Quantity
		if !slices.Equal(given, o.Allocations) {
			o.Allocations = given
			v.moved = append(v.moved, i)
		}
	}
	return v
}

// covers says whether the wallet has what the deposit of the order at this place needs, if it has one that moves money.
func (j *judge) covers(i int) bool {
	d, needed := j.deposits[i]
	if !needed || d.Mode == sale.Test {
		return true
	}
	have, found := j.money[payerOf(&d)]
	return found && !have.Available.Less(d.Deposit)
}

// spend takes the deposit of the order at this place off its wallet.
func (j *judge) spend(i int) {
	if d, needed := j.deposits[i]; needed && d.Mode != sale.Test {
		have := j.money[payerOf(&d)]
		have.Available = have.Available.Minus(d.Deposit)
		j.money[payerOf(&d)] = have
	}
}

// allocate takes the order's units from free, or nothing at all. It keeps as much as it can of the order's own allocation, so
// that Redis has little to move.
func (j *judge) allocate(o *order.Order) (sale.Allocations, bool) {
	t := stock.TypeKey{ActivityID: o.ActivityID, TicketType: o.TicketType}
	n := j.sizes[t]
	key := func(bucket int) stock.BucketKey {
		return stock.BucketKey{ActivityID: o.ActivityID, TicketType: o.TicketType, Bucket: bucket}
	}
	take := make([]int, n)
	missing := o.Quantity
	for _, a := range o.Allocations {
		if a.Bucket < n {
			take[a.Bucket] = min(a.Count, max(0, j.free[key(a.Bucket)]))
			missing -= take[a.Bucket]
		}
	}
	start := o.ID.StartBucket(max(1, n))
	for step := 0; step < n && missing > 0; step++ {
		bucket := (start + step) % n
		more := min(missing, max(0, j.free[key(bucket)]-take[bucket]))
		take[bucket] += more
		missing -= more
	}
	if missing > 0 {
		return nil, false
	}
	var given sale.Allocations
	for bucket, count := range take {
		if count > 0 {
			given = append(given, sale.Allocation{Bucket: bucket, Count: count})
			j.free[key(bucket)] -= count
		}
	}
	return given, true
}

// judgeFresh locks what the claimed orders need, decides which of them can be, and writes down who cannot and who was moved.
func judgeFresh(ctx context.Context, tx *sql.Tx, fresh []order.Order, deposits map[int]deposit.Record, limits map[string]int, now time.Time) error {
	live, at := []order.Order{}, []int{}
	wanted, needed := make(order.Holdings), make(map[int]deposit.Record)
	var types []stock.TypeKey
	for i := range fresh {
		if o := &fresh[i]; o.Status.Live() {
			if d, found := deposits[i]; found {
				needed[len(live)] = d
			}
			live, at = append(live, *o), append(at, i)
			wanted.Add(o)
			types = append(types, stock.TypeKey{ActivityID: o.ActivityID, TicketType: o.TicketType})
		}
	}
	held, err := order.LockHeld(ctx, tx, wanted.Sorted(), limits, now)
	if err != nil {
		return err
	}
	money, err := wallet.Lock(ctx, tx, payersOf(needed))
	if err != nil {
		return err
	}
	rows, err := stock.LockBuckets(ctx, tx, types)
	if err != nil {
		return err
	}
	j := newJudge(limits, held, rows)
	j.money, j.deposits = money, needed
	v := j.decide(live)
	var moved, refused []order.Order
	for i := range live {
		if reason, no := v.refused[i]; no {
			live[i].Cancel(reason, now)
			live[i].PayDeadline = nil
			refused = append(refused, live[i])
		}
		fresh[at[i]] = live[i]
	}
	for _, i := range v.moved {
		moved = append(moved, live[i])
	}
	if err := order.Refuse(ctx, tx, refused, now); err != nil {
		return err
	}
	return order.Move(ctx, tx, moved)
}

func payerOf(d *deposit.Record) wallet.Key {
	return wallet.Key{UserID: d.UserID, Currency: d.Deposit.Currency}
}

// payersOf are the wallets that deposits take from. TEST deposits take from none.
func payersOf(deposits map[int]deposit.Record) []wallet.Key {
	var keys []wallet.Key
	for _, d := range deposits {
		if d.Mode != sale.Test {
			keys = append(keys, payerOf(&d))
		}
	}
	return keys
}

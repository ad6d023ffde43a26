package invariant

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/waitlist"
)

// bucketKey names a bucket within the activity.
type bucketKey struct {
	ticketType string
	bucket     int
}

func (k bucketKey) String() string { return fmt.Sprintf("bucket %s:%d", k.ticketType, k.bucket) }

// bucketRow is one row of stock_bucket.
type bucketRow struct{ capacity, adjusted, frozen, sold int }

// orderRow is what the equations need of one order.
type orderRow struct {
	id          sale.OrderID
	userID      string
	ticketType  string
	quantity    int
	allocations sale.Allocations
	status      string
	source      string
	paid        int // hundredths, as all money here
	refunded    int
	paidBy      string
	createdAt   time.Time
	deadline    *time.Time
	cancelledAt *time.Time
	releasedAt  *time.Time
}

func (o *orderRow) live() bool { return o.status != "CANCELLED" }

// movement is one row of stock_log.
type movement struct {
	action string
	change int
}

// adjustment is one row of stock_adjustment that has a split.
type adjustment struct {
	ticketType string
	split      sale.Split
	status     string
	createdAt  time.Time
}

// rows is all that MySQL knows of one activity, at one moment.
type rows struct {
	now         time.Time
	status      sale.Status
	overSince   *time.Time // since when nobody can be offered anything any more, or later; nil: they still can
	offSince    *time.Time // since when nothing has moved of what a call-off gives back; nil: it was not called off
	number      int64
	buckets     map[bucketKey]bucketRow
	orders      map[sale.OrderID]*orderRow
	sorted      []*orderRow             // the orders by id, once sort has run
	routers     map[sale.OrderID]string // order -> user
	held        map[string]int          // purchase_limit: user -> quantity
	limit       int
	taken       map[sale.OrderID]movement
	givenBack   map[sale.OrderID]movement
	adjustments map[string]adjustment
	money       *moneyChecks // nil: nothing about money was read
	wallets     []Equation   // of the buyers' wallets; none for a TEST sale
	waiters     []waiterRow
	notices     noticeSums
}

// readRows reads MySQL's side in one snapshot. It returns catalog.ErrNotFound for an unknown activity and the errors of the driver.
func readRows(ctx context.Context, db *sqltx.DB, activityID string) (r *rows, err error) {
	err = db.Snapshot(ctx, func(tx *sql.Tx) error {
		activity, err := catalog.Get(ctx, tx, activityID)
		if err != nil {
			return err
		}
		now, err := db.Now(ctx, tx)
		if err != nil {
			return err
		}
		r = &rows{now: now, status: activity.Status, overSince: overSince(activity, now), offSince: activity.CancelledAt,
			number: activity.Number, limit: activity.PerUserLimit,
			buckets: make(map[bucketKey]bucketRow), orders: make(map[sale.OrderID]*orderRow),
			routers: make(map[sale.OrderID]string), held: make(map[string]int), taken: make(map[sale.OrderID]movement),
			givenBack: make(map[sale.OrderID]movement), adjustments: make(map[string]adjustment)}
		for _, read := range []func(context.Context, *sql.Tx, string) error{r.readBuckets, r.readAdjustments, r.readOrders,
			r.readRouters, r.readLimits, r.readLog, r.readWaiters, r.readNotices, r.readCallOff} {
			if err := read(ctx, tx, activityID); err != nil {
				return fmt.Errorf("invariant: read rows: %w", err)
			}
		}
		return r.readMoney(ctx, tx, activity)
	})
	return r, err
}

// overSince is since when the waitlist of a sale has nothing to wait for, or a later instant at which the sale was changed.
func overSince(a *sale.Activity, now time.Time) *time.Time {
	if waitlist.Over(a, now) == "" {
		return nil
	}
	since := a.UpdatedAt
	if late := waitlist.Ends(a).Add(-a.PayWindow); late.After(since) && !late.After(now) {
		since = late
	}
	return &since
}

// each runs a query and hands every row to scan.
func each(ctx context.Context, q sqltx.Querier, scan func(func(...any) error) error, query string, args ...any) error {
	result, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer result.Close()
	for result.Next() {
		if err := scan(result.Scan); err != nil {
			return err
		}
	}
	return result.Err()
}

// ids is the range of the activity's order ids, which begin with its number: one range of every primary key that begins with them.
func (r *rows) ids() (from, below []byte) {
	return boundary(r.number), boundary(r.number + 1)
}

func boundary(number int64) []byte {
	b := make([]byte, 16)
	for i := range 6 {
		b[i] = byte(number >> (8 * (5 - i)))
	}
	return b
}

func (r *rows) readBuckets(ctx context.Context, tx *sql.Tx, activityID string) error {
	return each(ctx, tx, func(scan func(...any) error) error {
		var key bucketKey
		var b bucketRow
		err := scan(&key.ticketType, &key.bucket, &b.capacity, &b.adjusted, &b.frozen, &b.sold)
		r.buckets[key] = b
		return err
	}, `SELECT ticket_type, bucket, capacity, adjusted, frozen, sold FROM stock_bucket WHERE activity_id = ?`, activityID)
}

func (r *rows) readAdjustments(ctx context.Context, tx *sql.Tx, activityID string) error {
	return each(ctx, tx, func(scan func(...any) error) error {
		var id string
		var a adjustment
		var split sql.NullString
		if err := scan(&id, &a.ticketType, &split, &a.status, &a.createdAt); err != nil {
			return err
		}
		var err error
		if split.String != "" {
			a.split, err = sale.ParseSplit(split.String)
		}
		r.adjustments[id] = a
		return err
	}, `SELECT adjustment_id, ticket_type, split, status, created_at FROM stock_adjustment WHERE activity_id = ?`, activityID)
}

// readCallOff reads when the job that calls the sale off last came further. It may take hours over a large sale.
func (r *rows) readCallOff(ctx context.Context, tx *sql.Tx, activityID string) error {
	if r.offSince == nil {
		return nil
	}
	return each(ctx, tx, func(scan func(...any) error) error {
		var at time.Time
		err := scan(&at)
		if at.After(*r.offSince) {
			r.offSince = &at
		}
		return err
	}, `SELECT updated_at FROM job WHERE kind = 'CALL_OFF' AND activity_id = ?`, activityID)
}

func (r *rows) readOrders(ctx context.Context, tx *sql.Tx, activityID string) error {
	from, below := r.ids()
	return each(ctx, tx, func(scan func(...any) error) error {
		var o orderRow
		var id []byte
		var allocations string
		var paidBy sql.NullString
		err := scan(&id, &o.userID, &o.ticketType, &o.quantity, &allocations, &o.status, &o.deadline, &o.cancelledAt, &o.releasedAt,
			&o.source, &o.paid, &o.refunded, &paidBy, &o.createdAt)
		if err != nil {
			return err
		}
		o.paidBy = paidBy.String
		if o.id, err = sale.OrderIDFromBytes(id); err != nil {
			return err
		}
		if o.allocations, err = sale.ParseAllocations(allocations); err != nil {
			return fmt.Errorf("order %s: %w", o.id, err)
		}
		r.orders[o.id] = &o
		return nil
	}, `SELECT id, user_id, ticket_type, quantity, allocations, status, pay_deadline, cancelled_at, released_at, source,
		CAST(paid * 100 AS SIGNED), CAST(refunded * 100 AS SIGNED), paid_by, created_at FROM trade_order WHERE id >= ? AND id < ? AND activity_id = ?`, from, below, activityID)
}

func (r *rows) readRouters(ctx context.Context, tx *sql.Tx, activityID string) error {
	from, below := r.ids()
	return each(ctx, tx, func(scan func(...any) error) error {
		var id []byte
		var user string
		if err := scan(&id, &user); err != nil {
			return err
		}
		orderID, err := sale.OrderIDFromBytes(id)
		r.routers[orderID] = user
		return err
	}, `SELECT order_id, user_id FROM order_router WHERE order_id >= ? AND order_id < ? AND activity_id = ?`, from, below, activityID)
}

func (r *rows) readLimits(ctx context.Context, tx *sql.Tx, activityID string) error {
	return each(ctx, tx, func(scan func(...any) error) error {
		var user string
		var quantity int
		err := scan(&user, &quantity)
		r.held[user] = quantity
		return err
	}, `SELECT user_id, quantity FROM purchase_limit WHERE activity_id = ?`, activityID)
}

func (r *rows) readLog(ctx context.Context, tx *sql.Tx, activityID string) error {
	from, below := r.ids()
	return each(ctx, tx, func(scan func(...any) error) error {
		var id []byte
		var direction int
		var m movement
		if err := scan(&id, &direction, &m.action, &m.change); err != nil {
			return err
		}
		orderID, err := sale.OrderIDFromBytes(id)
		if direction < 0 {
			r.taken[orderID] = m
		} else {
			r.givenBack[orderID] = m
		}
		return err
	}, `SELECT order_id, direction, action, change_quantity FROM stock_log WHERE order_id >= ? AND order_id < ? AND activity_id = ?`,
		from, below, activityID)
}

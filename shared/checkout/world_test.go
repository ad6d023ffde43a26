package checkout_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/shopspring/decimal"

	"holdfast/shared/audit"
	"holdfast/shared/catalog"
	"holdfast/shared/checkout"
	"holdfast/shared/money"
	"holdfast/shared/order"
	"holdfast/shared/reconcile"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

// world is one test's own database and Redis keys, with one activity on sale.
type world struct {
	t        testing.TB
	dsn      string
	db       *sqltx.DB
	catalog  *catalog.Catalog
	stock    *stock.Store
	checkout *checkout.Checkout
	activity *sale.Activity
	facts    sale.Facts
	clock    atomic.Int64 // offset of the database's clock, nanoseconds
	reads    atomic.Int64 // of the database's clock
	seq      atomic.Int64
}

// plan says what the activity of a world is like; zero fields take the defaults written here.
type plan struct {
	capacity, buckets int // 100 units in 4 buckets
	limit             int // 10 per user
	price             string
	refundRule        string
	dsn               string
	redis             redis.UniversalClient
	unloaded          bool // the activity stays out of Redis
	deposit           *sale.DepositPolicy
	mode              sale.Mode // LIVE
}

const ticket = "STANDARD"

func operator(action string) audit.Entry {
	return audit.Entry{Operator: "op", Action: action, Subject: "test", RequestID: "r"}
}

// newWorld makes a world whose activity is PUBLISHED and, unless the plan says otherwise, loaded into Redis.
func newWorld(t testing.TB, p plan) *world {
	t.Helper()
	if p.capacity == 0 {
		p.capacity = 100
	}
	if p.buckets == 0 {
		p.buckets = min(4, p.capacity)
	}
	if p.limit == 0 {
		p.limit = 10
	}
	if p.price == "" {
		p.price = "12.50"
	}
	if p.dsn == "" {
		p.dsn = testenv.MySQLDSN(t)
	}
	w := &world{t: t, dsn: p.dsn}
	w.db = w.open(p.dsn)
	if p.redis == nil {
		p.redis = testenv.Redis(t)
	}
	w.stock = stock.New(p.redis, func() time.Duration { return time.Duration(w.clock.Load()) })
	w.catalog = catalog.New(w.db)
	w.checkout = checkout.New(w.db, w.stock, w.catalog, nil)
	w.activity = w.publish(p)
	w.facts = w.activity.Facts()
	if !p.unloaded {
		if err := w.reconciler().Load(t.Context(), w.activity.ID); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) reconciler() *reconcile.Reconciler {
	return reconcile.New(w.db, w.stock, w.catalog, w.checkout, nil, nil)
}

func (w *world) open(dsn string) *sqltx.DB {
	w.t.Helper()
	db, err := sqltx.Open(dsn)
	if err != nil {
		w.t.Fatal(err)
	}
	db.SetMaxOpenConns(20)
	db.SetMaxIdleConns(20)
	w.t.Cleanup(func() { _ = db.Close() })
	return sqltx.New(db, func() time.Duration {
		w.reads.Add(1)
		return time.Duration(w.clock.Load())
	})
}

func (w *world) publish(p plan) *sale.Activity {
	w.t.Helper()
	draft := sale.Activity{ID: testenv.ActivityID(w.t), Kind: sale.Ticket, Mode: sale.Live, Title: "A concert",
		OpensAt: time.Now().Add(-time.Hour), ClosesAt: time.Now().Add(24 * time.Hour), PerUserLimit: p.limit,
		PayWindow: 15 * time.Minute, Currency: "CNY", RefundRule: []byte(p.refundRule),
		TicketTypes: []sale.TicketType{{ID: ticket, Title: "Standard", Price: money.Of(decimal.RequireFromString(p.price), "CNY"),
			Capacity: p.capacity, Buckets: p.buckets}}}
	if p.refundRule == "" {
		draft.RefundRule = nil
	}
	if p.mode != "" {
		draft.Mode = p.mode
	}
	if p.deposit != nil {
		draft.Kind, draft.Deposit = sale.Deposit, p.deposit
	}
	if _, _, err := w.catalog.Create(w.t.Context(), draft, operator("activity.create")); err != nil {
		w.t.Fatal(err)
	}
	a, _, err := w.catalog.Transition(w.t.Context(), draft.ID, sale.Published, operator("activity.publish"))
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// message is a reservation as Redis would have made it, all units from the bucket that the order id starts at.
func (w *world) message(user, key string, quantity int) checkout.Message {
	id := sale.NewOrderID(w.activity.Number, w.activity.Salt, user, key)
	return w.messageFrom(user, key, quantity, id.StartBucket(w.activity.TicketTypes[0].Buckets))
}

func (w *world) messageFrom(user, key string, quantity, bucket int) checkout.Message {
	seq := time.Now().UnixMicro() + w.seq.Add(1)
	return checkout.Message{MessageID: fmt.Sprintf("m-%s-%s", user, key), Reservation: sale.Reservation{
		OrderID:    sale.NewOrderID(w.activity.Number, w.activity.Salt, user, key),
		ActivityID: w.activity.ID, UserID: user, TicketType: ticket, Quantity: quantity,
		Allocations: sale.Allocations{{Bucket: bucket, Count: quantity}},
		Seq:         seq, At: time.UnixMicro(seq).UTC().Truncate(time.Millisecond), Before: 1000,
	}}
}

// reserve takes units in Redis and returns the message that would be sent.
func (w *world) reserve(user, key string, quantity int) (checkout.Message, error) {
	id := w.facts.OrderID(user, key)
	got, err := w.stock.Reserve(w.t.Context(), &w.facts, stock.ReserveRequest{OrderID: id, UserID: user, TicketType: ticket, Quantity: quantity})
	return checkout.Message{Reservation: got.Reservation, MessageID: "m-" + id.String()}, err
}

func (w *world) mustReserve(user, key string, quantity int) checkout.Message {
	w.t.Helper()
	m, err := w.reserve(user, key, quantity)
	if err != nil {
		w.t.Fatalf("%s reserves %d: %v", user, quantity, err)
	}
	return m
}

// create runs the batch as create-orders does and settles it.
func (w *world) create(batch ...checkout.Message) checkout.Outcome {
	w.t.Helper()
	out, err := w.checkout.CreateOrders(w.t.Context(), batch)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.checkout.Settle(w.t.Context(), out); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// buy reserves and creates an order.
func (w *world) buy(user, key string, quantity int) order.Order {
	w.t.Helper()
	out := w.create(w.mustReserve(user, key, quantity))
	if len(out.Live) != 1 {
		w.t.Fatalf("%s buys %d: %+v", user, quantity, out)
	}
	return out.Live[0]
}

func (w *world) get(id sale.OrderID) order.Order {
	w.t.Helper()
	o, err := order.Get(w.t.Context(), w.db, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return *o
}

func (w *world) count(query string, args ...any) int {
	w.t.Helper()
	var n int
	if err := w.db.QueryRowContext(w.t.Context(), query, args...).Scan(&n); err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (w *world) wantCount(want int, query string, args ...any) {
	w.t.Helper()
	if got := w.count(query, args...); got != want {
		w.t.Errorf("%d, want %d: %s %v", got, want, query, args)
	}
}

// waiting waits until as many statements in the test's database have been at it for so long that they must be waiting for a lock.
func (w *world) waiting(statements int) {
	w.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		got := w.count(`SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND command = 'Query' AND time_ms > 200
 AND id <> CONNECTION_ID()`)
		if got >= statements {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%d statements wait for a lock, want %d", got, statements)
		}
	}
}

// units gives the units of unpaid and of paid orders in all buckets.
func (w *world) units() (frozen, sold int) {
	w.t.Helper()
	rows, err := stock.Buckets(w.t.Context(), w.db, w.activity.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, b := range rows {
		frozen, sold = frozen+b.Frozen, sold+b.Sold
	}
	return frozen, sold
}

// agreeInMySQL checks that buckets, limits and stock log are what the live orders make them.
func (w *world) agreeInMySQL() {
	w.t.Helper()
	count := func(what string) int { return w.count("SELECT COALESCE("+what+" AND activity_id = ?", w.activity.ID) }
	frozen, sold := w.units()
	orders, cancelled := count("COUNT(*), 0) FROM trade_order WHERE 1 = 1"), count("COUNT(*), 0) FROM trade_order WHERE status = 'CANCELLED'")
	for what, pair := range map[string][2]int{
		"frozen units and unpaid orders":           {frozen, count("SUM(quantity), 0) FROM trade_order WHERE status = 'UNPAID'")},
		"sold units and paid orders":               {sold, count("SUM(quantity), 0) FROM trade_order WHERE status = 'PAID'")},
		"limits and live orders":                   {count("SUM(quantity), 0) FROM purchase_limit WHERE 1 = 1"), frozen + sold},
		"stock log and live orders":                {-count("SUM(change_quantity), 0) FROM stock_log WHERE 1 = 1"), frozen + sold},
		"router rows and orders":                   {count("COUNT(*), 0) FROM order_router WHERE 1 = 1"), orders},
		"log rows taken and orders":                {count("COUNT(*), 0) FROM stock_log WHERE direction = -1"), orders},
		"log rows given back and cancelled orders": {count("COUNT(*), 0) FROM stock_log WHERE direction = 1"), cancelled},
		"buckets beyond their capacity and none":   {count("COUNT(*), 0) FROM stock_bucket WHERE frozen + sold > capacity + adjusted"), 0},
		"users beyond their limit and none":        {count("COUNT(*), 0) FROM purchase_limit WHERE quantity > max_quantity"), 0},
	} {
		if pair[0] != pair[1] {
			w.t.Errorf("%s: %d and %d", what, pair[0], pair[1])
		}
	}
}

// agree checks that both stores say the same of every bucket, once everything is settled.
func (w *world) agree() {
	w.t.Helper()
	w.agreeInMySQL()
	shot, err := w.stock.Snapshot(w.t.Context(), &w.facts)
	if err != nil {
		w.t.Fatal(err)
	}
	rows, err := stock.Buckets(w.t.Context(), w.db, w.activity.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	left := 0
	for _, b := range rows {
		left += b.Free()
		if got := shot.Types[b.TicketType].Buckets[b.Bucket]; got != b.Free() {
			w.t.Errorf("bucket %d: %d left in Redis, %d free in MySQL", b.Bucket, got, b.Free())
		}
	}
	if got := shot.Types[ticket].Left; got != left {
		w.t.Errorf("%d left in Redis in all, %d free in MySQL", got, left)
	}
	if shot.Pending != 0 {
		w.t.Errorf("%d reservations are pending", shot.Pending)
	}
}

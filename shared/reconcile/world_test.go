package reconcile_test

import (
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

// world is one test's own database and Redis keys, with one activity that is PUBLISHED and loaded.
type world struct {
	t          testing.TB
	db         *sqltx.DB
	rdb        redis.UniversalClient
	stock      *stock.Store
	catalog    *catalog.Catalog
	checkout   *checkout.Checkout
	reconciler *reconcile.Reconciler
	activity   *sale.Activity
	facts      sale.Facts
	clock      *atomic.Int64 // offset of all clocks, nanoseconds
}

// plan says what the activity of a world is like; zero fields take the defaults written here.
type plan struct {
	capacity, buckets int // 100 units in 4 buckets
	limit             int // 10 per user
	price             string
	dsn               string
	redis             redis.UniversalClient
	empty             reconcile.QueueEmpty
	deposit           *sale.DepositPolicy // nil: a sale of tickets
}

const ticket = "STANDARD"

func operator(action string) audit.Entry {
	return audit.Entry{Operator: "op", Action: action, Subject: "test", RequestID: "r"}
}

func newWorld(t testing.TB, p plan) *world {
	t.Helper()
	if p.capacity == 0 {
		p.capacity, p.buckets = 100, 4
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
	if p.redis == nil {
		p.redis = testenv.Redis(t)
	}
	w := &world{t: t, rdb: p.redis, clock: new(atomic.Int64)}
	db, err := sqltx.Open(p.dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(20)
	t.Cleanup(func() { _ = db.Close() })
	offset := func() time.Duration { return time.Duration(w.clock.Load()) }
	w.db = sqltx.New(db, offset)
	w.stock = stock.New(p.redis, offset)
	w.catalog = catalog.New(w.db)
	w.checkout = checkout.New(w.db, w.stock, w.catalog, nil)
	w.reconciler = w.other(p.empty)
	w.publish(p)
	if err := w.reconciler.Load(t.Context(), w.activity.ID); err != nil {
		t.Fatal(err)
	}
	return w
}

// other is a reconciler as another process has it.
func (w *world) other(empty reconcile.QueueEmpty) *reconcile.Reconciler {
	return reconcile.New(w.db, w.stock, w.catalog, w.checkout, empty, nil)
}

func (w *world) draft(p plan) sale.Activity {
	a := sale.Activity{ID: testenv.ActivityID(w.t), Kind: sale.Ticket, Mode: sale.Live, Title: "A concert",
		OpensAt: time.Now().Add(-time.Hour), ClosesAt: time.Now().Add(240 * time.Hour), PerUserLimit: p.limit,
		PayWindow: 15 * time.Minute, Currency: "CNY",
		TicketTypes: []sale.TicketType{{ID: ticket, Title: "Standard", Price: money.Of(decimal.RequireFromString(p.price), "CNY"),
			Capacity: p.capacity, Buckets: p.buckets}}}
	if p.deposit != nil {
		a.Kind, a.Deposit = sale.Deposit, p.deposit
	}
	return a
}

func (w *world) publish(p plan) {
	w.t.Helper()
	draft := w.draft(p)
	if _, _, err := w.catalog.Create(w.t.Context(), draft, operator("activity.create")); err != nil {
		w.t.Fatal(err)
	}
	a, _, err := w.catalog.Transition(w.t.Context(), draft.ID, sale.Published, operator("activity.publish"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.activity, w.facts = a, a.Facts()
}

// forget removes the activity's set from Redis, as a loss of memory does.
func (w *world) forget() {
	w.t.Helper()
	keys, err := w.rdb.Keys(w.t.Context(), "hf:{"+w.activity.ID+"}:*").Result()
	if err != nil || len(keys) == 0 {
		w.t.Fatalf("keys %v, %v", keys, err)
	}
	for _, key := range keys {
		if err := w.rdb.Del(w.t.Context(), key).Err(); err != nil {
			w.t.Fatal(err)
		}
	}
}

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

// commit runs create-orders without telling Redis.
func (w *world) commit(batch ...checkout.Message) checkout.Outcome {
	w.t.Helper()
	out, err := w.checkout.CreateOrders(w.t.Context(), batch)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) create(batch ...checkout.Message) checkout.Outcome {
	w.t.Helper()
	out := w.commit(batch...)
	if err := w.checkout.Settle(w.t.Context(), out); err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) buy(user, key string, quantity int) order.Order {
	w.t.Helper()
	out := w.create(w.mustReserve(user, key, quantity))
	if len(out.Live) != 1 {
		w.t.Fatalf("%s buys %d: %+v", user, quantity, out)
	}
	return out.Live[0]
}

func (w *world) cancel(o order.Order) {
	w.t.Helper()
	if _, err := w.checkout.Cancel(w.t.Context(), o.ID, checkout.Canceller{UserID: o.UserID}); err != nil {
		w.t.Fatal(err)
	}
}

// compensate runs one minute pass that must succeed.
func (w *world) compensate() reconcile.CompensateSummary {
	w.t.Helper()
	sum, err := reconcile.NewCompensate(w.reconciler, reconcile.CompensateConfig{}).Run(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return sum
}

func (w *world) advance(d time.Duration) { w.clock.Add(int64(d)) }

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

func (w *world) snapshot() stock.Snapshot {
	w.t.Helper()
	shot, err := w.stock.Snapshot(w.t.Context(), &w.facts)
	if err != nil {
		w.t.Fatal(err)
	}
	return shot
}

// agree checks that both stores say the same of every bucket, that what users hold is the same, and that nothing is pending.
func (w *world) agree() {
	w.t.Helper()
	shot := w.snapshot()
	if shot.State != stock.Open || shot.Pending != 0 {
		w.t.Errorf("state %d, %d pending", shot.State, shot.Pending)
	}
	rows, err := stock.Buckets(w.t.Context(), w.db, w.activity.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	units := 0
	for _, b := range rows {
		units += b.Frozen + b.Sold
		if got := shot.Types[b.TicketType].Buckets[b.Bucket]; got != b.Free() {
			w.t.Errorf("bucket %d: %d left in Redis, %d free in MySQL", b.Bucket, got, b.Free())
		}
	}
	live := w.count("SELECT COALESCE(SUM(quantity), 0) FROM trade_order WHERE status <> 'CANCELLED' AND activity_id = ?", w.activity.ID)
	if live != units {
		w.t.Errorf("live orders have %d units, buckets %d", live, units)
	}
	w.agreeOnHolders()
}

func (w *world) agreeOnHolders() {
	w.t.Helper()
	rows, err := w.db.QueryContext(w.t.Context(), "SELECT user_id, quantity FROM purchase_limit WHERE activity_id = ?", w.activity.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var user string
		var quantity int
		if err := rows.Scan(&user, &quantity); err != nil {
			w.t.Fatal(err)
		}
		h, err := w.stock.Holding(w.t.Context(), w.activity.ID, user)
		if err != nil || h.Quantity != quantity {
			w.t.Errorf("%s holds %d in Redis, %d in MySQL, %v", user, h.Quantity, quantity, err)
		}
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
}

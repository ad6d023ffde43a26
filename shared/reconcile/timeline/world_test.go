package timeline_test

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
	"holdfast/shared/reconcile/timeline"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

const ticket = "STANDARD"

// world is one test's own database and Redis keys, with one activity on sale: 6 units in 2 buckets, 4 for each user.
type world struct {
	t          *testing.T
	db         *sqltx.DB
	rdb        *redis.Client
	stock      *stock.Store
	catalog    *catalog.Catalog
	checkout   *checkout.Checkout
	reconciler *reconcile.Reconciler
	id         string
	facts      sale.Facts
	clock      atomic.Int64 // offset of all clocks, nanoseconds
}

func operator(action string) audit.Entry {
	return audit.Entry{Operator: "op", Action: action, Subject: "test", RequestID: "r"}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOf(t, func(*sale.Activity) {})
}

// newWorldOf is newWorld with another sale.
func newWorldOf(t *testing.T, change func(*sale.Activity)) *world {
	t.Helper()
	w := &world{t: t, rdb: testenv.Redis(t), id: testenv.ActivityID(t)}
	pool := testenv.MySQL(t)
	pool.SetMaxOpenConns(16)
	offset := func() time.Duration { return time.Duration(w.clock.Load()) }
	w.db, w.stock = sqltx.New(pool, offset), stock.New(w.rdb, offset)
	w.catalog = catalog.New(w.db)
	w.checkout = checkout.New(w.db, w.stock, w.catalog, nil)
	w.reconciler = reconcile.New(w.db, w.stock, w.catalog, w.checkout, nil, nil)
	draft := sale.Activity{ID: w.id, Kind: sale.Ticket, Mode: sale.Live, Title: "A concert", OpensAt: time.Now().Add(-time.Hour),
		ClosesAt: time.Now().Add(240 * time.Hour), PerUserLimit: 4, PayWindow: 15 * time.Minute, Currency: "CNY",
		TicketTypes: []sale.TicketType{{ID: ticket, Title: "Standard", Price: money.Of(decimal.RequireFromString("12.50"), "CNY"),
			Capacity: 6, Buckets: 2}}}
	change(&draft)
	if _, _, err := w.catalog.Create(t.Context(), draft, operator("activity.create")); err != nil {
		t.Fatal(err)
	}
	a, _, err := w.catalog.Transition(t.Context(), w.id, sale.Published, operator("activity.publish"))
	if err != nil {
		t.Fatal(err)
	}
	w.facts = a.Facts()
	if err := w.reconciler.Load(t.Context(), w.id); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) mustReserve(user, key string, quantity int) checkout.Message {
	w.t.Helper()
	got, err := w.stock.Reserve(w.t.Context(), &w.facts, stock.ReserveRequest{OrderID: w.facts.OrderID(user, key), UserID: user,
		TicketType: ticket, Quantity: quantity})
	if err != nil {
		w.t.Fatal(err)
	}
	return checkout.Message{Reservation: got.Reservation, MessageID: "m-" + key}
}

// commit makes an order without telling Redis.
func (w *world) commit(m checkout.Message) checkout.Outcome {
	w.t.Helper()
	out, err := w.checkout.CreateOrders(w.t.Context(), []checkout.Message{m})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) buy(user, key string, quantity int) order.Order {
	w.t.Helper()
	out := w.commit(w.mustReserve(user, key, quantity))
	if err := w.checkout.Settle(w.t.Context(), out); err != nil || len(out.Live) != 1 {
		w.t.Fatalf("%+v, %v", out, err)
	}
	return out.Live[0]
}

func (w *world) cancel(id sale.OrderID, user string) {
	w.t.Helper()
	if _, err := w.checkout.Cancel(w.t.Context(), id, checkout.Canceller{UserID: user}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) exec(query string, args ...any) {
	w.t.Helper()
	if _, err := w.db.ExecContext(w.t.Context(), query, args...); err != nil {
		w.t.Fatal(err)
	}
}

// redis runs a command on a key of the activity's set.
func (w *world) redis(command, key string, args ...any) {
	w.t.Helper()
	if err := w.rdb.Do(w.t.Context(), append([]any{command, "hf:{" + w.id + "}:" + key}, args...)...).Err(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) letter(r sale.Reservation) {
	w.t.Helper()
	err := reconcile.RecordDeadLetter(w.t.Context(), w.db, reconcile.DeadLetter{Queue: "letters", MessageID: "m" + r.OrderID.String(), OrderID: &r.OrderID,
		ActivityID: w.id, Reason: "TOO_MANY_RECEIVES", ReceiveCount: 6})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) order(id sale.OrderID) *timeline.OrderStory {
	w.t.Helper()
	story, err := timeline.OfOrder(w.t.Context(), w.db, w.stock, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return story
}

func (w *world) buyer(user string) *timeline.BuyerStory {
	w.t.Helper()
	story, err := timeline.OfBuyer(w.t.Context(), w.db, w.stock, w.id, user)
	if err != nil {
		w.t.Fatal(err)
	}
	return story
}

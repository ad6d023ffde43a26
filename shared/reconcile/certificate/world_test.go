package certificate_test

import (
	"context"
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
	"holdfast/shared/reconcile/certificate"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

const ticket = "STANDARD"

// world is one test's own database and Redis keys, with one activity on sale: 20 units in 2 buckets, 4 for each user.
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
			Capacity: 20, Buckets: 2}}}
	change(&draft)
	if _, _, err := w.catalog.Create(t.Context(), draft, operator("activity.create")); err != nil {
		t.Fatal(err)
	}
	w.turn(sale.Published)
	if err := w.reconciler.Load(t.Context(), w.id); err != nil {
		t.Fatal(err)
	}
	return w
}

// turn takes the activity to another status, in both stores.
func (w *world) turn(to sale.Status) {
	w.t.Helper()
	a, _, err := w.catalog.Transition(w.t.Context(), w.id, to, operator("activity.turn"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.facts = a.Facts()
	if to != sale.Published {
		if err := w.reconciler.ApplyRules(w.t.Context(), w.id); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) reserve(ctx context.Context, user, key string, quantity int) (checkout.Message, error) {
	got, err := w.stock.Reserve(ctx, &w.facts, stock.ReserveRequest{OrderID: w.facts.OrderID(user, key), UserID: user,
		TicketType: ticket, Quantity: quantity})
	return checkout.Message{Reservation: got.Reservation, MessageID: "m-" + key}, err
}

func (w *world) mustReserve(user string, quantity int) checkout.Message {
	w.t.Helper()
	m, err := w.reserve(w.t.Context(), user, user, quantity)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (w *world) buy(user string, quantity int) order.Order {
	w.t.Helper()
	out, err := w.checkout.CreateOrders(w.t.Context(), []checkout.Message{w.mustReserve(user, quantity)})
	if err != nil || len(out.Live) != 1 {
		w.t.Fatalf("%+v, %v", out, err)
	}
	if err := w.checkout.Settle(w.t.Context(), out); err != nil {
		w.t.Fatal(err)
	}
	return out.Live[0]
}

func (w *world) exec(query string, args ...any) {
	w.t.Helper()
	conn, err := w.db.Conn(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()
	for _, one := range []struct {
		query string
		args  []any
	}{{"SET SESSION check_constraint_checks = 0", nil}, {query, args}, {"SET SESSION check_constraint_checks = 1", nil}} {
		if _, err := conn.ExecContext(w.t.Context(), one.query, one.args...); err != nil {
			w.t.Fatalf("%s: %v", one.query, err)
		}
	}
}

// redis runs a command on a key of the activity's set.
func (w *world) redis(command, key string, args ...any) {
	w.t.Helper()
	if err := w.rdb.Do(w.t.Context(), append([]any{command, "hf:{" + w.id + "}:" + key}, args...)...).Err(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) make() *certificate.Certificate {
	w.t.Helper()
	c, err := certificate.Make(w.t.Context(), w.db, w.stock, w.id)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// cast is a sale in which everything has happened: ann's order is unpaid, bob's paid, cat's cancelled, dan's is only a reservation; two
// units were added.
type cast struct {
	*world
	ann, bob, cat, dan sale.OrderID
}

func newCast(t *testing.T) *cast {
	t.Helper()
	w := newWorld(t)
	c := &cast{world: w, ann: w.buy("ann", 2).ID, bob: w.buy("bob", 3).ID, cat: w.buy("cat", 1).ID}
	if _, err := w.checkout.MarkPaid(t.Context(), c.bob, "bank", operator("order.pay")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.checkout.Cancel(t.Context(), c.cat, checkout.Canceller{UserID: "cat"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.reconciler.AdjustStock(t.Context(), catalog.Adjustment{ActivityID: w.id, ID: "more", TicketType: ticket, Delta: 2, Reason: "r"},
		operator("adjust")); err != nil {
		t.Fatal(err)
	}
	c.dan = w.mustReserve("dan", 1).OrderID
	return c
}

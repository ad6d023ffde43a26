package order_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/audit"
	"holdfast/shared/catalog"
	"holdfast/shared/money"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

// world is one test's own database with one activity.
type world struct {
	t        *testing.T
	db       *sqltx.DB
	activity *sale.Activity
	now      time.Time
	batches  byte
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db, err := sqltx.Open(testenv.MySQLDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(4)
	t.Cleanup(func() { _ = db.Close() })
	w := &world{t: t, db: sqltx.New(db, nil), now: time.Date(2031, 5, 1, 10, 0, 0, int(250*time.Millisecond), time.UTC)}
	w.activity = w.addActivity(time.Date(2031, 5, 1, 9, 0, 0, 0, time.UTC))
	return w
}

func (w *world) addActivity(opens time.Time) *sale.Activity {
	w.t.Helper()
	a, _, err := catalog.New(w.db).Create(w.t.Context(), sale.Activity{ID: testenv.ActivityID(w.t), Kind: sale.Ticket, Mode: sale.Live,
		Title: "A concert", OpensAt: opens, ClosesAt: opens.Add(time.Hour), PerUserLimit: 4, PayWindow: time.Minute, Currency: "CNY",
		TicketTypes: []sale.TicketType{{ID: "STANDARD", Title: "Standard", Price: money.Of(decimal.RequireFromString("12.50"), "CNY"),
			Capacity: 100, Buckets: 4}}}, audit.Entry{Operator: "op", RequestID: "r"})
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// order makes an UNPAID order in memory.
func (w *world) order(user, key string, quantity int) order.Order {
	seq := w.now.UnixMicro()
	o := order.New(w.activity, w.activity.TicketTypes[0], sale.Reservation{
		OrderID: sale.NewOrderID(w.activity.Number, w.activity.Salt, user, key), ActivityID: w.activity.ID, UserID: user,
		TicketType: "STANDARD", Quantity: quantity, Allocations: sale.Allocations{{Bucket: 1, Count: quantity}},
		Seq: seq, At: w.now, Before: 40,
	}, order.FromSale, "m-"+key, w.now)
	o.Await(w.now.Add(time.Minute))
	return o
}

// tx runs f in a transaction that must succeed.
func (w *world) tx(f func(ctx context.Context, tx *sql.Tx) error) {
	w.t.Helper()
	if err := w.db.Run(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
}

// claim claims orders in a transaction of their own, with all rows that go with them.
func (w *world) claim(orders ...order.Order) (mine map[sale.OrderID]bool, known map[sale.OrderID]order.Order) {
	w.t.Helper()
	order.Sort(orders)
	w.batches++
	w.tx(func(ctx context.Context, tx *sql.Tx) (err error) {
		mine, known, err = order.Claim(ctx, tx, orders, order.BatchID{w.batches})
		if err != nil {
			return err
		}
		var fresh []order.Order
		units := make(order.Holdings)
		for _, o := range orders {
			if mine[o.ID] {
				fresh = append(fresh, o)
				units.Add(&o)
			}
		}
		if err := order.Hold(ctx, tx, units, map[string]int{w.activity.ID: 4}, w.now); err != nil {
			return err
		}
		if err := order.Route(ctx, tx, fresh); err != nil {
			return err
		}
		return order.LogTaken(ctx, tx, fresh)
	})
	return mine, known
}

func (w *world) get(id sale.OrderID) order.Order {
	w.t.Helper()
	o, err := order.Get(w.t.Context(), w.db, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return *o
}

// value reads one value as text; NULL is "NULL".
func (w *world) value(query string, args ...any) string {
	w.t.Helper()
	var v sql.NullString
	if err := w.db.QueryRowContext(w.t.Context(), query, args...).Scan(&v); err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
	if !v.Valid {
		return "NULL"
	}
	return v.String
}

func user(n int) string { return fmt.Sprintf("user-%d", n) }

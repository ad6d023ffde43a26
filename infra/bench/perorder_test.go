package bench

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"holdfast/shared/catalog"
	"holdfast/shared/checkout"
	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

// differs are the columns in which two orders of two users differ by nature, and batch_id, by which batches know their own rows.
var differs = map[string]bool{"id": true, "order_id": true, "reference": true, "user_id": true, "seq": true, "reserved_at": true,
	"created_at": true, "updated_at": true, "pay_deadline": true, "message_id": true, "batch_id": true, "allocations": true,
	"before_quantity": true, "after_quantity": true, "subject": true, "notice_id": true, "data": true, "due_at": true}

// rowsOf gives a user's rows in all tables, one line per table, without the columns that differ by nature; NULL stays visible there too.
func rowsOf(t *testing.T, db *sql.DB, user string) string {
	t.Helper()
	var all strings.Builder
	for _, table := range []string{"trade_order", "purchase_limit", "order_router", "stock_log", "notice"} {
		rows, err := db.QueryContext(t.Context(), "SELECT * FROM "+table+" WHERE user_id = ?", user)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values, targets := make([]sql.NullString, len(columns)), make([]any, len(columns))
			for i := range values {
				targets[i] = &values[i]
			}
			if err := rows.Scan(targets...); err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(&all, table)
			for i, name := range columns {
				switch {
				case name == "batch_id":
				case differs[name]:
					fmt.Fprintf(&all, " %s:%t", name, values[i].Valid)
				default:
					fmt.Fprintf(&all, " %s=%v", name, values[i])
				}
			}
			fmt.Fprintln(&all)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

func TestBaselinesWriteTheRowsThatBatchesWrite(t *testing.T) {
	t.Parallel()
	db := testenv.MySQL(t)
	wrapped := sqltx.New(db, nil)
	d := &database{db: wrapped, catalog: catalog.New(wrapped)}
	a, err := d.openSale(t.Context(), "same-rows", 80)
	if err != nil {
		t.Fatal(err)
	}
	facts := a.Facts()
	next, p := newReservations(&facts), &perOrder{db: wrapped, activity: a}
	batched, single, sold := next.take(), next.take(), next.take()
	out, err := checkout.New(wrapped, nil, d.catalog, nil).CreateOrders(t.Context(), []checkout.Message{{Reservation: batched, MessageID: "m"}})
	if err != nil || len(out.Live) != 1 {
		t.Fatalf("a batch of one made %+v (%v)", out, err)
	}
	if err := p.create(t.Context(), single, "m"); err != nil {
		t.Fatal(err)
	}
	if err := p.sell(t.Context(), sold, "m"); err != nil {
		t.Fatal(err)
	}
	want := rowsOf(t, db, batched.UserID)
	if strings.Count(want, "\n") != 5 {
		t.Fatalf("a batch wrote other tables than are compared:\n%s", want)
	}
	for _, user := range []string{single.UserID, sold.UserID} {
		if got := rowsOf(t, db, user); got != want {
			t.Errorf("a baseline wrote\n%s, a batch wrote\n%s", got, want)
		}
	}
	if got := frozen(t, db); got != 3 {
		t.Errorf("%d units are frozen, want 3", got)
	}
}

func TestBaselineSellsNoUnitTwice(t *testing.T) {
	t.Parallel()
	db := testenv.MySQL(t)
	wrapped := sqltx.New(db, nil)
	d := &database{db: wrapped, catalog: catalog.New(wrapped)}
	a, err := d.openSale(t.Context(), "sold-out", buckets)
	if err != nil {
		t.Fatal(err)
	}
	facts := a.Facts()
	next, p := newReservations(&facts), &perOrder{db: wrapped, activity: a}
	refused := 0
	for range buckets + 3 {
		if err := p.sell(context.Background(), next.take(), "m"); err == errSoldOut {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if got := frozen(t, db); refused != 3 || got != buckets {
		t.Errorf("%d units are frozen and %d buyers were refused, want %d and 3", got, refused, buckets)
	}
}

func frozen(t *testing.T, db *sql.DB) (units int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT SUM(frozen) FROM stock_bucket").Scan(&units); err != nil {
		t.Fatal(err)
	}
	return units
}

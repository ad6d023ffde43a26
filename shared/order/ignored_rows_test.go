package order_test

import (
	"context"
	"database/sql"
	"testing"

	"holdfast/shared/order"
	"holdfast/shared/sqltx"
)

// A statement of many rows that only ignored its errors would leave rows out without a word. A server says so only of a single row, so
// here several rows break a rule at once.
func TestSeveralRowsThatBreakARuleAreRefusedAndNotLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good, bad, worse := w.order("u1", "k", 1), w.order("u2", "k", 1), w.order("u3", "k", 1)
	bad.Quantity, worse.Quantity = 0, 0
	orders := []order.Order{good, bad, worse}
	order.Sort(orders)
	err := w.db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, _, err := order.Claim(ctx, tx, orders, order.BatchID{1})
		return err
	})
	if !sqltx.CheckViolated(err) {
		t.Errorf("claiming: %v, want the violated CHECK", err)
	}
	units := make(order.Holdings)
	for i, quantity := range []int{4, 5, 6} { // of four that are allowed
		units[order.Holder{ActivityID: w.activity.ID, UserID: user(i)}] = quantity
	}
	err = w.db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return order.Hold(ctx, tx, units, map[string]int{w.activity.ID: 4}, w.now)
	})
	if !sqltx.CheckViolated(err) {
		t.Errorf("holding: %v, want the violated CHECK", err)
	}
	if n := w.value("SELECT (SELECT COUNT(*) FROM trade_order) + (SELECT COUNT(*) FROM purchase_limit)"); n != "0" {
		t.Errorf("%s rows stayed", n)
	}
}

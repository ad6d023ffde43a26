package order_test

import (
	"context"
	"database/sql"
	"testing"

	"holdfast/shared/order"
)

// Between the list and the lock somebody may pay. The lock decides by what the row says then.
func TestOrderThatWasPaidAfterItWasListedDoesNotExpire(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	paid, cancelled, due := w.order("u1", "k", 1), w.order("u2", "k", 1), w.order("u3", "k", 1)
	for _, o := range []order.Order{paid, cancelled, due} {
		w.insert(o)
	}
	deadline := *due.PayDeadline
	ids, _, err := order.Overdue(t.Context(), w.db, deadline, order.Cursor{}, 10)
	if err != nil || len(ids) != 3 {
		t.Fatalf("overdue: %v, %v", ids, err)
	}
	w.tx(func(ctx context.Context, tx *sql.Tx) error {
		o, err := order.GetForUpdate(ctx, tx, paid.ID)
		if err != nil {
			return err
		}
		if err := order.Pay(ctx, tx, o, order.PaidByManual("r"), w.now); err != nil {
			return err
		}
		if o, err = order.GetForUpdate(ctx, tx, cancelled.ID); err != nil {
			return err
		}
		return order.CancelAll(ctx, tx, []order.Order{*o}, order.ByUser, w.now)
	})
	w.tx(func(ctx context.Context, tx *sql.Tx) error {
		got, err := order.LockOverdue(ctx, tx, ids, deadline)
		if err == nil && (len(got) != 1 || got[0].ID != due.ID) {
			t.Errorf("locked %v, want the one that is still unpaid", got)
		}
		return err
	})
}

package reconcile_test

import (
	"errors"
	"testing"
	"time"

	"holdfast/shared/order"
	"holdfast/shared/reconcile"
)

// A buyer who was told 503 has a seat in the log that was never marked sent. When Redis loses what was pending, nothing says any more that
// it was not acknowledged: whether money may be frozen for it is for a person to say.
func TestMoneyIsFrozenForNoSeatOfWhichNobodyKnowsThatItWasPromised(t *testing.T) {
	t.Parallel()
	w := depositWorld(t)
	w.freeze("u1", 1)
	w.topUp("u1", 100)
	unpromised, promised := w.mustReserve("u1", "unpromised", 1), w.mustReserve("u1", "promised", 1)
	w.must(w.stock.MarkSent(t.Context(), w.activity.ID, promised.OrderID))
	w.must(w.rdb.Del(t.Context(), w.key("pending")).Err())
	w.advance(2 * time.Minute)
	w.compensate()
	for range 2 {
		w.reconcileNow(reconcile.Repairing)
	}
	if _, err := order.Get(t.Context(), w.db, unpromised.OrderID); !errors.Is(err, order.ErrNotFound) {
		t.Errorf("the seat that nobody was promised has a row: %v", err)
	}
	if o := w.get(promised.OrderID); o.Status != order.Unpaid {
		t.Errorf("the seat that was promised is %s", o.Status)
	}
	if n := w.count(`SELECT COUNT(*) FROM deposit_record WHERE status = 'FROZEN'`); n != 2 {
		t.Errorf("%d deposits are frozen, want the one from before and the promised one", n)
	}
	if d := w.resolve(reconcile.ActRelease); d.Kind != reconcile.RowMissing || d.Subject != unpromised.OrderID.String() {
		t.Errorf("%+v", d)
	}
	if o := w.get(unpromised.OrderID); o.Status != order.Cancelled {
		t.Errorf("released, it is %s", o.Status)
	}
	w.agree()
}

package reconcile_test

import (
	"fmt"
	"testing"
	"time"

	"holdfast/shared/alert"
	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/reconcile"
)

// pass runs one minute pass, which may fail.
func (w *world) onePass() (reconcile.CompensateSummary, error) {
	w.t.Helper()
	return reconcile.NewCompensate(w.reconciler, reconcile.CompensateConfig{}).Run(w.t.Context())
}

func (w *world) alerts(kind alert.Kind, subject string) int {
	w.t.Helper()
	return w.count(`SELECT COUNT(*) FROM alert WHERE kind = ? AND subject = ? AND activity_id = ?`, string(kind), subject, w.activity.ID)
}

// The figures that Redis answered belong into the stock log. Where that contradicts itself they cannot, and the release counts all the same.
func TestAStockLogThatContradictsItselfKeepsNoReleaseFromBeingRecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	var all []order.Order
	for i := range 5 {
		all = append(all, w.buy(fmt.Sprint("u", i), "k", 2))
	}
	w.cancelUnheard(all...)
	w.exec(`UPDATE stock_log SET change_quantity = 3 WHERE direction = 1 AND user_id = 'u2'`)
	if sum := w.compensate(); sum.Released != 5 {
		t.Errorf("%+v", sum)
	}
	for _, o := range all {
		if w.get(o.ID).ReleasedAt == nil {
			t.Errorf("that the units of %s are back is not recorded", o.UserID)
		}
	}
	if n := w.count(`SELECT COUNT(*) FROM stock_log WHERE direction = 1 AND before_quantity IS NOT NULL`); n != 4 {
		t.Errorf("%d releases have their figures, want all but the one", n)
	}
	w.agree()
}

func TestAnEntryThatNobodyCanReadKeepsNoOtherReservationPending(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	var batch []checkout.Message
	for i := range 5 {
		batch = append(batch, w.mustReserve(fmt.Sprint("u", i), "k", 1))
	}
	odd := batch[2].OrderID
	w.must(w.rdb.HSet(t.Context(), w.key("log"), "t"+string(odd[:]), "what").Err())
	w.advance(2 * time.Minute)
	for n, created := range []int{4, 0} {
		if sum := w.compensate(); sum.Pending != (reconcile.Swept{Created: created}) {
			t.Errorf("pass %d: %+v", n+1, sum.Pending)
		}
	}
	if n := w.alerts(alert.PendingWithoutEntry, odd.String()); n != 1 {
		t.Errorf("%d alerts name it", n)
	}
}

// A load that cannot be done is tried by every pass: a person has to hear of it.
func TestALoadThatCanNeverBeDoneIsAnAlert(t *testing.T) {
	t.Parallel()
	for what, split := range map[string]string{"unreadable": "xyz", "no such bucket": "9:5"} {
		for _, closed := range []bool{false, true} { // found by the walk, or asked for
			t.Run(fmt.Sprint(what, ", closed ", closed), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, plan{})
				other := w.beside(plan{capacity: 10, buckets: 2, limit: 2, price: "1.00"})
				w.adjust("a1", 5)
				w.exec(`UPDATE stock_adjustment SET split = ?`, split)
				if closed {
					w.closeSale()
				}
				w.forget()
				other.forget()
				w.must(w.reconciler.RequestLoad(t.Context(), w.activity.ID))
				if sum, err := w.onePass(); err == nil || sum.Loaded != 1 {
					t.Errorf("%+v, %v", sum, err)
				}
				if n := w.alerts(alert.CompensationStuck, w.activity.ID); n != 1 {
					t.Errorf("%d alerts name the sale", n)
				}
				other.agree()
			})
		}
	}
}

func TestAnAdjustmentThatCanNeverBeFinishedIsAnAlertAndKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	for _, id := range []string{"odd", "plain"} {
		_, _, err := w.catalog.BeginAdjustment(t.Context(), w.wish(id, 5), operator("adjust"))
		w.must(err)
	}
	w.must(w.rdb.HSet(t.Context(), w.key("log"), "aodd", "what").Err())
	w.advance(time.Minute)
	if sum, err := w.onePass(); err == nil || sum.Adjustments != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
	if n := w.alerts(alert.CompensationStuck, w.activity.ID+"/odd"); n != 1 {
		t.Errorf("%d alerts name it", n)
	}
}

// Redis lost what was pending, so the full reconcile makes the orders; of one entry none can be made.
func TestAnEntryThatCanBecomeNoOrderIsAnAlertOfTheFullReconcile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	sound, odd := w.mustReserve("u1", "k", 2), w.mustReserve("u2", "k", 2)
	field := "t" + string(odd.OrderID[:])
	w.must(w.rdb.HSet(t.Context(), w.key("log"), field, fmt.Sprintf("%d 2 -1 GHOST 0:2 u2", odd.Seq)).Err())
	w.must(w.rdb.Del(t.Context(), w.key("pending")).Err())
	w.advance(2 * time.Minute)
	for range 2 {
		w.reconcileNow(reconcile.Repairing)
	}
	if o := w.get(sound.OrderID); o.Status != order.Unpaid {
		t.Errorf("the sound one is %s", o.Status)
	}
	if n := w.alerts(alert.PendingUnfit, odd.OrderID.String()); n != 1 {
		t.Errorf("%d alerts name the other", n)
	}
}

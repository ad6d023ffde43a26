package reconcile_test

import (
	"errors"
	"testing"

	"holdfast/shared/audit"
	"holdfast/shared/order"
	"holdfast/shared/reconcile"
)

func TestReleaseOfALostRowWritesTheTombstoneAndGivesTheUnitsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	o := w.soldTo(1)[0]
	injectionsThere["row gone"].spoil(w, o)
	w.advance(2 * reconcile.PendingGrace)
	w.reconcileNow(reconcile.Repairing)
	// The router still knows the order, so a tombstone cannot be written: the action says so and changes nothing.
	d := w.openDifferences()[0]
	w.refuses(d, reconcile.ActRelease, reconcile.ErrActionImpossible)
	w.exec("DELETE FROM order_router WHERE order_id = ?", o.ID[:])
	w.resolve(reconcile.ActRelease)
	if got := w.get(o.ID); got.Status != order.Cancelled || got.Reason != order.ByOperator {
		t.Errorf("%+v", got)
	}
	if run := w.reconcileNow(reconcile.Repairing); run.Differences != 0 || len(run.Repaired) != 0 {
		t.Errorf("%+v", run)
	}
	w.agree()
}

// refuses checks that an action is refused and that nothing of the difference changed.
func (w *world) refuses(d reconcile.Difference, action reconcile.Action, want error) {
	w.t.Helper()
	before := w.figures()
	_, err := w.reconciler.Resolve(w.t.Context(), reconcile.Resolution{ID: d.ID, Revision: d.Revision, Action: action, Note: "n",
		Entry: audit.Entry{Operator: "op", Action: "difference.resolve", Subject: "d", RequestID: "r"}})
	if !errors.Is(err, want) {
		w.t.Errorf("%s: %v, want %v", action, err, want)
	}
	if after, err := reconcile.GetDifference(w.t.Context(), w.db, d.ID); err != nil || after.Status != reconcile.DifferenceOpen || w.figures() != before {
		w.t.Errorf("something changed: %+v, %v", after, err)
	}
}

func TestReleaseOfADeathWithoutARowWritesTheRowOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	m := w.mustReserve("a", "k", 2)
	if _, err := w.stock.Release(t.Context(), w.activity.ID, m.OrderID, "a", "USER"); err != nil {
		t.Fatal(err)
	}
	w.reconcileNow(reconcile.Repairing)
	w.resolve(reconcile.ActRelease)
	if out := w.create(m); len(out.Cancelled) != 1 { // its message comes late
		t.Errorf("%+v", out)
	}
	if run := w.reconcileNow(reconcile.Repairing); run.Differences != 0 {
		t.Errorf("%+v", run)
	}
	w.agree()
}

func TestLiveOrderThatIsDeadInRedisIsCancelledUnlessItWasPaidFor(t *testing.T) {
	t.Parallel()
	for _, paid := range []bool{false, true} {
		w := newWorld(t, plan{})
		o := w.soldTo(1)[0]
		if paid {
			if _, err := w.checkout.MarkPaid(t.Context(), o.ID, "ref", operator("order.pay")); err != nil {
				t.Fatal(err)
			}
		}
		injectionsThere["live order dead in Redis"].spoil(w, o)
		w.reconcileNow(reconcile.Repairing)
		if paid {
			w.refuses(w.openDifferences()[0], reconcile.ActCancelOrder, reconcile.ErrActionImpossible)
			continue
		}
		w.resolve(reconcile.ActCancelOrder)
		if run := w.reconcileNow(reconcile.Repairing); run.Differences != 0 {
			t.Errorf("%+v", run)
		}
		w.agree()
	}
}

func TestRebuildMendsWhatRedisAloneHasWrong(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"mark of another quantity", "mark gone", "entry of another user", "live order dead in Redis"} {
		w := newWorld(t, plan{})
		o := w.soldTo(1)[0]
		injectionsThere[name].spoil(w, o)
		w.reconcileNow(reconcile.Repairing)
		w.resolve(reconcile.ActRebuild)
		w.compensate()
		if run := w.reconcileNow(reconcile.Repairing); run.Differences != 0 {
			t.Errorf("%s: %+v", name, run)
		}
		w.agree()
	}
}

func TestLimitIsCorrectedFromLiveOrders(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]string{
		"too much": "UPDATE purchase_limit SET quantity = quantity + 1", "row gone": "DELETE FROM purchase_limit",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, plan{})
			w.buy("a", "k", 2)
			w.exec(spoil)
			w.reconcileNow(reconcile.Repairing)
			if d := w.resolve(reconcile.ActLimit); len(d.Inverse) == 0 {
				t.Error("no inverse")
			}
			if n := w.count("SELECT quantity FROM purchase_limit WHERE user_id = 'a'"); n != 2 {
				t.Errorf("holds %d", n)
			}
			if run := w.reconcileNow(reconcile.Repairing); run.Differences != 0 {
				t.Errorf("%+v", run)
			}
		})
	}
}

func TestFieldThatNobodyCanReadIsADifferenceOfTheWholeLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	w.buy("a", "k", 2)
	w.must(w.rdb.HSet(t.Context(), w.key("log"), "zzz", "1").Err())
	if run := w.reconcileNow(reconcile.Repairing); run.Differences != 1 || w.openDifferences()[0].Kind != reconcile.LogUnreadable {
		t.Errorf("%+v", run)
	}
	w.resolve(reconcile.ActRebuild)
	w.compensate()
	if run := w.reconcileNow(reconcile.Repairing); run.Differences != 0 {
		t.Errorf("%+v", run)
	}
	w.agree()
}

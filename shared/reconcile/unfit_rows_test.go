package reconcile_test

import (
	"fmt"
	"testing"
	"time"

	"holdfast/shared/alert"
	"holdfast/shared/order"
	"holdfast/shared/reconcile"
)

// unfit are allocations that an order of two units in four buckets cannot have; a foreign hand wrote them.
var unfit = map[string]string{"too few units": "0:1", "no such bucket": "9:2", "a bucket twice": "0:1,0:1", "no allocations": "xyz"}

// toldOf checks that a person was told of the one order, and of no other.
func (w *world) toldOf(o order.Order) {
	w.t.Helper()
	told := w.alerts(alert.LiveButOtherwise, o.ID.String())
	if all := w.count(`SELECT COUNT(*) FROM alert WHERE kind = ?`, string(alert.LiveButOtherwise)); told != 1 || all != 1 {
		w.t.Errorf("%d alerts name the order, %d are there, want one", told, all)
	}
}

func eachUnfit(t *testing.T, do func(t *testing.T, w *world, allocations string)) {
	t.Parallel()
	for what, allocations := range unfit {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			do(t, newWorld(t, plan{}), allocations)
		})
	}
}

func (w *world) spoilAllocations(user, allocations string) {
	w.t.Helper()
	w.exec(`UPDATE trade_order SET allocations = ? WHERE user_id = ?`, allocations, user)
}

func TestALoadLeavesOutTheOneOrderThatFitsNowhere(t *testing.T) {
	eachUnfit(t, func(t *testing.T, w *world, allocations string) {
		var sold []order.Order
		for i := range 5 {
			sold = append(sold, w.buy(fmt.Sprint("u", i), "k", 2))
		}
		w.spoilAllocations("u2", allocations)
		w.forget()
		if sum, err := reconcile.NewCompensate(w.reconciler, reconcile.CompensateConfig{}).Run(t.Context()); sum.Loaded != 1 {
			t.Fatalf("%+v, %v", sum, err)
		}
		w.toldOf(sold[2])
		for i, o := range sold {
			if h, err := w.stock.Holding(t.Context(), w.activity.ID, o.UserID); err != nil || (h.Quantity == 2) != (i != 2) {
				t.Errorf("%s holds %d in Redis, %v", o.UserID, h.Quantity, err)
			}
		}
		w.buy("new", "k", 1)
		w.advance(time.Minute)
		w.compensate() // which finds the order again among recent ones, and nothing to do
		run := w.reconcileNow(reconcile.Repairing)
		if run.Differences == 0 {
			t.Errorf("nobody is told what contradicts: %+v", run)
		}
	})
}

func TestAnOrderThatFitsNowhereKeepsNoOtherPending(t *testing.T) {
	eachUnfit(t, func(t *testing.T, w *world, allocations string) {
		var all []order.Order
		for i := range 5 {
			all = append(all, w.commit(w.mustReserve(fmt.Sprint("u", i), "k", 2)).Live...)
		}
		w.spoilAllocations("u2", allocations)
		w.advance(2 * time.Minute)
		if sum := w.compensate(); sum.Pending.Acknowledged != 4 {
			t.Errorf("%+v", sum)
		}
		w.toldOf(all[2])
		if n := w.snapshot().Pending; n != 1 {
			t.Errorf("%d reservations are pending, want the one whose row is unfit", n)
		}
		w.reconcileNow(reconcile.Repairing)
	})
}

// What the first layer wrote down is tried page by page as well.
func TestAnOrderThatFitsNowhereKeepsNoOtherFailureOpen(t *testing.T) {
	eachUnfit(t, func(t *testing.T, w *world, allocations string) {
		var batch []order.Order
		for i := range 3 {
			out := w.commit(w.mustReserve(fmt.Sprint("u", i), "k", 2))
			if err := w.offline().Settle(t.Context(), out); err == nil {
				t.Fatal("settled without Redis")
			}
			batch = append(batch, out.Live...)
		}
		w.spoilAllocations("u2", allocations)
		w.advance(6 * time.Second)
		if sum := w.compensate(); sum.Retried != 3 {
			t.Errorf("%+v", sum)
		}
		w.toldOf(batch[2])
		if n := w.count(`SELECT COUNT(*) FROM compensation_fail WHERE status = 'OPEN'`); n != 0 {
			t.Errorf("%d failures are open", n)
		}
	})
}

// Redis lost some orders, one of which fits nowhere: the others are adopted by the run that finds them.
func TestTheFullReconcileAdoptsOthersThanTheOneThatFitsNowhere(t *testing.T) {
	eachUnfit(t, func(t *testing.T, w *world, allocations string) {
		var sold []order.Order
		for i := range 3 {
			sold = append(sold, w.buy(fmt.Sprint("u", i), "k", 2))
			w.lose(sold[i])
		}
		w.advance(10 * time.Minute)
		w.spoilAllocations("u2", allocations)
		run := w.reconcileNow(reconcile.Repairing)
		if run.Repaired[reconcile.MendAdopt] != 2 {
			t.Errorf("%+v", run)
		}
		found := w.differences()
		want := string(reconcile.EntryDiffers) + " " + sold[2].ID.String()
		named := false
		for _, d := range found {
			named = named || d == want
		}
		if !named {
			t.Errorf("found %v, want %s among them", found, want)
		}
	})
}

// An order is cancelled whatever its allocations say, so that its bucket can be corrected after; and its release keeps nobody waiting.
func TestACancelledOrderThatNamesNoBucketsKeepsNoOtherFromBeingReleased(t *testing.T) {
	eachUnfit(t, func(t *testing.T, w *world, allocations string) {
		var all []order.Order
		for i := range 5 {
			all = append(all, w.buy(fmt.Sprint("u", i), "k", 2))
		}
		w.cancelUnheard(all...)
		w.spoilAllocations("u2", allocations)
		if sum := w.compensate(); sum.Released != 5 {
			t.Errorf("%+v", sum)
		}
		w.agree()
	})
}

package reconcile_test

import (
	"testing"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/reconcile"
	"holdfast/shared/reconcile/certificate"
	"holdfast/shared/sale"
)

func (w *world) closeSale() {
	w.t.Helper()
	if _, _, err := w.catalog.Transition(w.t.Context(), w.activity.ID, sale.Closed, operator("close")); err != nil {
		w.t.Fatal(err)
	}
}

// minutes lets so many minute passes go by, and gives the error of the last.
func (w *world) minutes(n int) (last error) {
	w.t.Helper()
	for range n {
		w.advance(time.Minute)
		_, last = reconcile.NewCompensate(w.reconciler, reconcile.CompensateConfig{}).Run(w.t.Context())
	}
	return last
}

func TestAClosedSaleThatRedisLostIsNotLoadedForNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	w.buy("u1", "k", 1)
	w.closeSale()
	w.forget()
	if err := w.minutes(3); err != nil {
		t.Error(err)
	}
	if n := w.count(`SELECT COUNT(*) FROM job`); n != 0 {
		t.Errorf("%d jobs", n)
	}
	if a := w.present(); a.Epoch != 1 {
		t.Errorf("loaded under epoch %d", a.Epoch)
	}
}

func TestAnAdjustmentOfAClosedSaleThatRedisLostIsFinished(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	w.buy("u1", "k", 1)
	if _, _, err := w.catalog.BeginAdjustment(t.Context(), w.wish("a1", 5), operator("adjust")); err != nil {
		t.Fatal(err)
	}
	w.forget()
	w.closeSale()
	if err := w.minutes(3); err != nil {
		t.Errorf("the third pass still fails: %v", err)
	}
	if a := w.adjust("a1", 5); a.Status != catalog.Applied {
		t.Errorf("%+v", a)
	}
	w.agree()
}

func TestAFailedAcknowledgementOfAClosedSaleThatRedisLostIsDoneWith(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	out := w.commit(w.mustReserve("u1", "k", 1))
	if err := w.offline().Settle(t.Context(), out); err == nil {
		t.Fatal("settled without Redis")
	}
	w.forget()
	w.closeSale()
	if err := w.minutes(4); err != nil {
		t.Error(err)
	}
	if n := w.count(`SELECT COUNT(*) FROM compensation_fail WHERE status = 'OPEN'`); n != 0 {
		t.Errorf("%d failures stay OPEN, with %d alerts", n, w.count(`SELECT COUNT(*) FROM alert`))
	}
	w.agree()
}

// An operator's full reconcile needs the set as well.
func TestAClosedSaleThatRedisLostIsLoadedForTheRunThatAnOperatorAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	w.buy("u1", "k", 1)
	w.closeSale()
	w.forget()
	want := reconcile.RunRequest{ActivityID: w.activity.ID, Mode: reconcile.Repairing, Cause: reconcile.ByOperator}
	if run, err := w.reconciler.Reconcile(t.Context(), want); err != nil || run.Checked != 0 || run.Problem == "" {
		t.Fatalf("nothing was there to be read: %+v, %v", run, err)
	}
	if err := w.minutes(1); err != nil {
		t.Error(err)
	}
	if run := w.reconcileNow(reconcile.Repairing); run.Differences != 0 {
		t.Errorf("%+v", run)
	}
	if c, err := certificate.Make(t.Context(), w.db, w.stock, w.activity.ID); err != nil || c.Verdict != certificate.Pass {
		t.Errorf("certificate: %+v, %v", c, err)
	}
	w.agree()
}

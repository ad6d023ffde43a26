package reconcile_test

import (
	"errors"
	"testing"

	"holdfast/shared/reconcile"
)

// An operator has read that a counter is off by three; by now it is off by five. The decision was about something else, so nothing is
// done.
func TestDifferenceThatChangedSinceItWasReadIsNotActedUpon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	w.buy("u", "k", 1)
	drift := func(units int64) {
		t.Helper()
		w.must(w.rdb.HIncrBy(t.Context(), w.key("rules"), "left:"+ticket, units).Err())
		w.reconcileNow(reconcile.Repairing)
	}
	drift(3)
	read := w.openDifferences()
	if len(read) != 1 {
		t.Fatalf("%d differences", len(read))
	}
	drift(2)
	before := w.snapshot()
	_, err := w.reconciler.Resolve(t.Context(), reconcile.Resolution{ID: read[0].ID, Revision: read[0].Revision,
		Action: reconcile.ActSetCounter, Note: "n", Entry: operator("difference.resolve")})
	if !errors.Is(err, reconcile.ErrDifferenceChanged) {
		t.Errorf("got %v", err)
	}
	if after := w.snapshot(); after.Types[ticket].Left != before.Types[ticket].Left {
		t.Errorf("the counter went from %d to %d", before.Types[ticket].Left, after.Types[ticket].Left)
	}
	if open := w.openDifferences(); len(open) != 1 || open[0].Revision != read[0].Revision+1 {
		t.Errorf("open: %+v", open)
	}
	if d := w.resolve(reconcile.ActSetCounter); d.Revision != read[0].Revision+2 {
		t.Errorf("resolved: %+v", d)
	}
	if after := w.snapshot(); after.Types[ticket].Left != 99 {
		t.Errorf("%d left after it was resolved, want 99", after.Types[ticket].Left)
	}
}

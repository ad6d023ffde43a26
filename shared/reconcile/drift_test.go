package reconcile_test

import (
	"fmt"
	"testing"

	"holdfast/shared/reconcile"
)

// A counter is off, and nothing in the log or in MySQL has moved. The run of the schedule finds it all the same, says so, and leaves the
// counter to a person, whichever way it is off.
func TestCounterThatDriftedIsFoundBySchedulesAndLeftAsItIs(t *testing.T) {
	t.Parallel()
	for _, off := range []int64{3, -3, -500} {
		t.Run(fmt.Sprint(off), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, plan{})
			w.buy("u", "k", 2)
			scheduled := func() reconcile.ReconcileSummary {
				t.Helper()
				sum, err := reconcile.NewReconcileStock(w.reconciler, reconcile.ReconcileConfig{}).Run(t.Context())
				if err != nil || sum.Status != reconcile.StatusSucceeded {
					t.Fatalf("%+v, %v", sum, err)
				}
				return sum
			}
			for range 2 { // the first writes statuses
				scheduled()
			}
			if sum := scheduled(); sum.Skipped != 1 {
				t.Fatalf("a sale that is at rest: %+v", sum)
			}
			w.must(w.rdb.HIncrBy(t.Context(), w.key("rules"), "left:"+ticket, off).Err())
			w.must(w.rdb.HIncrBy(t.Context(), w.key("rules"), "left:"+ticket+":1", off).Err())
			before := w.snapshot()
			for range 2 {
				if sum := scheduled(); sum.Skipped != 0 || sum.Differences != 2 {
					t.Errorf("%+v", sum)
				}
			}
			after := w.snapshot()
			if got, want := fmt.Sprint(after.Types), fmt.Sprint(before.Types); got != want {
				t.Errorf("the counters are %s, and were %s", got, want)
			}
			if got, want := fmt.Sprint(w.differences()), "[COUNTER_DIFFERS "+ticket+" COUNTER_DIFFERS "+ticket+":1]"; got != want {
				t.Errorf("found %s, want %s", got, want)
			}
		})
	}
}

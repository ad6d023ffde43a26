package reconcile_test

import (
	"errors"
	"testing"

	"holdfast/shared/catalog"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

func (w *world) suspend() {
	w.t.Helper()
	if _, _, err := w.catalog.Transition(w.t.Context(), w.activity.ID, sale.Suspended, operator("activity.suspend")); err != nil {
		w.t.Fatal(err)
	}
	if err := w.reconciler.ApplyRules(w.t.Context(), w.activity.ID); err != nil {
		w.t.Fatal(err)
	}
}

// setRules overwrites rules in Redis, as a failover to an older or a foreign copy does.
func (w *world) setRules(pairs ...any) {
	w.t.Helper()
	if err := w.rdb.HSet(w.t.Context(), "hf:{"+w.activity.ID+"}:rules", pairs...).Err(); err != nil {
		w.t.Fatal(err)
	}
}

// S11: a sale that was stopped does not go on because somebody remembers it as open.
func TestSuspensionThatAFailoverTookBackIsAppliedAgainByTheNextPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	w.suspend()
	if _, err := w.reserve("u1", "k", 1); !errors.Is(err, stock.ErrSuspended) { // w.facts are from before
		t.Fatalf("reserving from what is suspended: %v", err)
	}
	w.setRules("status", "P", "version", 1)
	if _, err := w.reserve("u1", "k", 1); err != nil {
		t.Fatalf("the rules were not set back: %v", err)
	}
	if sum := w.compensate(); sum.Rules != 1 || w.repaired(order.RepairRules) != 1 {
		t.Fatalf("got %+v", sum)
	}
	if _, err := w.reserve("u2", "k", 1); !errors.Is(err, stock.ErrSuspended) {
		t.Errorf("after the pass: %v", err)
	}
	if sum := w.compensate(); sum.Rules != 0 {
		t.Errorf("a second pass: %+v", sum)
	}
}

// MySQL wins, also over a Redis whose version is higher than any that MySQL has given, or whose rules differ under the same version.
func TestRulesOfMySQLWinOverAnyThatRedisHas(t *testing.T) {
	t.Parallel()
	for name, planted := range map[string][]any{
		"a higher version":              {"status", "P", "version", 99},
		"the same version, other words": {"status", "P"},
	} {
		w := newWorld(t, plan{})
		w.suspend()
		w.setRules(planted...)
		if sum := w.compensate(); sum.Rules != 1 {
			t.Fatalf("%s: %+v", name, sum)
		}
		a, err := catalog.Get(t.Context(), w.db, w.activity.ID)
		if shot := w.snapshot(); err != nil || shot.Status != sale.Suspended || shot.RulesVersion != a.RulesVersion {
			t.Errorf("%s: Redis %s %d, MySQL %+v, %v", name, shot.Status, shot.RulesVersion, a, err)
		}
		if _, err := w.reserve("u1", "k", 1); !errors.Is(err, stock.ErrSuspended) {
			t.Errorf("%s: %v", name, err)
		}
		if sum := w.compensate(); sum.Rules != 0 {
			t.Errorf("%s, a second pass: %+v", name, sum)
		}
	}
}

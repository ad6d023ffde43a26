package reconcile_test

import (
	"testing"

	"holdfast/shared/reconcile"
)

func TestARunOverStockLeavesDifferencesOfMoneyAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	o := w.soldTo(1)[0]
	injectionsThere["live order dead in Redis"].spoil(w, o)
	w.reconcileNow(reconcile.Repairing)
	w.resolve(reconcile.ActRebuild)
	w.exec(`INSERT INTO difference (activity_id, kind, subject, status, digest, evidence, proposed_action, found_at, seen_at)
 VALUES (?, 'DEPOSIT_STALE', ?, 'OPEN', REPEAT('d', 32), '{}', 'SETTLE_DEPOSIT', '2020-01-01 00:00:00', '2020-01-01 00:00:00')`,
		w.activity.ID, o.ID.String())
	w.compensate()
	w.reconcileNow(reconcile.Repairing)
	if open := w.openDifferences(); len(open) != 1 || open[0].Kind != reconcile.DepositStale {
		t.Errorf("open %+v", open)
	}
}

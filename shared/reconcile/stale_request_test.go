package reconcile_test

import "testing"

func TestARequestForALoadThatCameTooLateLeavesTheSetAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	before := w.snapshot()
	w.mustReserve("alice", "key", 1) // known to Redis alone: no message of it will come
	if err := w.reconciler.RequestLoad(t.Context(), w.activity.ID); err != nil {
		t.Fatal(err)
	}
	w.compensate()
	if after := w.snapshot(); after.Epoch != before.Epoch || after.Pending != 1 {
		t.Errorf("epoch %d became %d, and %d reservations are pending", before.Epoch, after.Epoch, after.Pending)
	}
	if n := w.count("SELECT COUNT(*) FROM job WHERE activity_id = ? AND status = 'SUCCEEDED'", w.activity.ID); n != 1 {
		t.Errorf("%d requests are over", n)
	}
}

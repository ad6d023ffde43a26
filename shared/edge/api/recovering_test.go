package api

import (
	"strings"
	"testing"
	"time"

	"holdfast/shared/reconcile"
	"holdfast/shared/testenv"
)

func TestUnknownOrderIsNotSaidToBeMissingUntilTheSetIsProvenWholeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	h := NewGetOrder(w.d)
	f := a.Facts()
	nobody := seek("u1", f.OrderID("u1", "never sent").String())
	w.expect(w.call(h, nobody), 404, "ORDER_NOT_FOUND")
	if err := w.sure.HSet(t.Context(), "hf:{"+a.ID+"}:rules", "run", "of the server before").Err(); err != nil {
		t.Fatal(err)
	}
	got := w.call(h, nobody)
	w.expect(got, 503, "SALE_NOT_READY")
	if got.header["Retry-After"] == "" {
		t.Error("it does not say when to ask again")
	}
	run, err := w.d.Reconcile.Reconcile(t.Context(), reconcile.RunRequest{ActivityID: a.ID, Mode: reconcile.Repairing, Cause: reconcile.ByEvidence})
	if err != nil || run.Status != reconcile.StatusSucceeded {
		t.Fatalf("%+v, %v", run, err)
	}
	w.expect(w.call(h, nobody), 404, "ORDER_NOT_FOUND")

	// A sale that was over long ago has only orders with rows, and nobody reconciles it.
	long := time.Now().UTC().Add(-60 * 24 * time.Hour)
	if _, err := w.d.DB.ExecContext(t.Context(), "UPDATE activity SET status = 'CLOSED', updated_at = ?", long); err != nil {
		t.Fatal(err)
	}
	if err := w.sure.HSet(t.Context(), "hf:{"+a.ID+"}:rules", "run", "of the server before").Err(); err != nil {
		t.Fatal(err)
	}
	w.expect(w.call(h, nobody), 404, "ORDER_NOT_FOUND")
}

func TestHealthWarnsOfARedisThatDropsKeys(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t, testenv.OwnRedis(t, "--maxmemory-policy", "allkeys-lru").Addr)
	got := w.call(NewHealth(w.d), ask{method: "GET"})
	if got.status != 200 || got.str("status") != "UP" || !strings.Contains(got.text, "allkeys-lru") {
		t.Errorf("%d %s", got.status, got.text)
	}
	sound := newWorld(t)
	if got := sound.call(NewHealth(sound.d), ask{method: "GET"}); strings.Contains(got.text, "warnings") {
		t.Errorf("%s", got.text)
	}
}

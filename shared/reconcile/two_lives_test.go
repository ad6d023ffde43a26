package reconcile_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"holdfast/shared/catalog"
	"holdfast/shared/checkout"
	"holdfast/shared/reconcile"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

// atScan calls do once, just before the log is scanned.
type atScan struct{ do atomic.Pointer[func()] }

func (h *atScan) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h *atScan) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *atScan) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "hscan" {
			if do := h.do.Swap(nil); do != nil {
				(*do)()
			}
		}
		return next(ctx, cmd)
	}
}

// The counters are of one life of the set, and the log of the next, in which every entry is younger. What both together say is of no life
// at all: it is thrown away, and the run tries again.
func TestWhatWasReadOfTwoLivesIsThrownAway(t *testing.T) {
	t.Parallel()
	hook := &atScan{}
	client := testenv.RedisClient(t, testenv.RedisAddr(t))
	client.AddHook(hook)
	w := newWorld(t, plan{redis: client})
	for _, user := range []string{"a", "b", "c"} {
		w.buy(user, "k", 2)
	}
	w.cancel(w.buy("d", "k", 1))
	plain := stock.New(testenv.Redis(t), nil)
	cat := catalog.New(w.db)
	other := reconcile.New(w.db, plain, cat, checkout.New(w.db, plain, cat, nil), nil, nil)
	loaded := false
	load := func() {
		loaded = true
		if err := other.Load(t.Context(), w.activity.ID); err != nil {
			t.Error(err)
		}
	}
	hook.do.Store(&load)
	run, err := w.reconciler.Reconcile(t.Context(), reconcile.RunRequest{ActivityID: w.activity.ID, Mode: reconcile.Repairing, Cause: reconcile.ByOperator})
	if err != nil || !loaded {
		t.Fatalf("loaded %v, %v", loaded, err)
	}
	if run.Differences != 0 || len(run.Repaired) != 0 {
		t.Errorf("the run that saw two lives: %+v", run)
	}
	if found := w.differences(); len(found) != 0 {
		t.Errorf("found %v", found)
	}
	if run = w.reconcileNow(reconcile.Repairing); run.Differences != 0 || len(run.Repaired) != 0 || run.Checked != run.Consistent {
		t.Errorf("the run after: %+v", run)
	}
	w.agree()
}

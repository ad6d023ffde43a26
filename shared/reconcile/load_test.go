package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/reconcile"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

func TestPublishedActivitySellsOnceItIsLoaded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	a, err := catalog.Get(t.Context(), w.db, w.activity.ID)
	if err != nil || a.Epoch != 1 || w.snapshot().Epoch != 1 {
		t.Fatalf("epoch %d in MySQL, %d in Redis, %v", a.Epoch, w.snapshot().Epoch, err)
	}
	w.buy("u1", "k", 3)
	w.agree()
}

func TestLoadAfterALossKnowsEveryOrderAdjustmentAndBuyer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 700, buckets: 8, limit: 1})
	var batch []checkout.Message
	for i := range 620 { // more than a page
		batch = append(batch, w.mustReserve(fmt.Sprintf("u%d", i), "k", 1))
	}
	out := w.create(batch...)
	w.cancel(out.Live[0])
	w.adjust("a1", 30)
	w.adjust("a2", -7)
	w.forget()
	if _, err := w.reserve("u5", "again", 1); !errors.Is(err, stock.ErrNotLoaded) {
		t.Fatalf("while nothing is loaded: %v", err)
	}
	if err := w.reconciler.Load(t.Context(), w.activity.ID); err != nil {
		t.Fatal(err)
	}
	w.agree()
	dead := out.Live[0]
	if entry, err := w.stock.Entry(t.Context(), w.activity.ID, dead.ID); err != nil || entry.Standing != stock.Dead {
		t.Errorf("the cancelled order: %+v, %v", entry, err)
	}
	if _, err := w.reserve(out.Live[1].UserID, "again", 1); !errors.Is(err, stock.ErrAlreadyReserved) {
		t.Errorf("an earlier buyer: %v", err)
	}
	if _, err := w.reserve(dead.UserID, "again", 1); err != nil {
		t.Errorf("whoever cancelled: %v", err)
	}
}

func TestOrderThatArrivesWhileLoadingComesBeforeNewBuyers(t *testing.T) {
	t.Parallel()
	asked := 0
	var late checkout.Message
	w := newWorld(t, plan{capacity: 2, buckets: 1, limit: 2})
	late = w.mustReserve("early", "k", 2)
	w.forget()
	loader := w.other(func(context.Context) (bool, error) {
		asked++
		if asked == 2 { // the queue delivers what was answered with 202 before the loss
			w.create(late)
		}
		return asked > 2, nil
	})
	if err := loader.Load(t.Context(), w.activity.ID); err != nil {
		t.Fatal(err)
	}
	if asked != 3 {
		t.Errorf("asked the queue %d times", asked)
	}
	if _, err := w.reserve("new", "k", 1); !errors.Is(err, stock.ErrInsufficient) {
		t.Errorf("a new buyer: %v", err)
	}
	if o := w.get(late.OrderID); o.Status != order.Unpaid {
		t.Errorf("the early order is %s", o.Status)
	}
	w.agree()
}

func TestQueueThatCannotBeAskedDelaysALoadAndDoesNotStopIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{empty: func(context.Context) (bool, error) { return true, nil }})
	loader := w.other(func(ctx context.Context) (bool, error) { return false, errors.New("no queue") })
	began := time.Now()
	if err := loader.Load(t.Context(), w.activity.ID); err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(began); waited > 30*time.Second {
		t.Errorf("waited %v for the queue", waited)
	}
	w.agree()
}

func TestLoadersAtOnceLeaveOneWholeSet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 100, buckets: 4})
	for i := range 30 {
		w.buy(fmt.Sprintf("u%d", i), "k", 1)
	}
	w.forget()
	var group sync.WaitGroup
	var mu sync.Mutex
	loaded := 0
	for range 6 {
		group.Go(func() {
			err := w.other(nil).Load(t.Context(), w.activity.ID)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				loaded++
			case !errors.Is(err, reconcile.ErrLoadRunning):
				t.Error(err)
			}
		})
	}
	group.Wait()
	if loaded == 0 {
		t.Fatal("nobody loaded")
	}
	w.agree()
}

// A loader that slept through its lease wakes up and finds another one's set.
func TestLoaderThatLostItsLeaseChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	w.buy("u1", "k", 2)
	asleep, awake := make(chan struct{}), make(chan struct{})
	var once sync.Once
	slow := w.other(func(context.Context) (bool, error) {
		once.Do(func() { close(asleep) })
		<-awake
		return true, nil
	})
	ended := make(chan error, 1)
	go func() { ended <- slow.Load(t.Context(), w.activity.ID) }()
	<-asleep
	if err := w.other(nil).Load(t.Context(), w.activity.ID); !errors.Is(err, reconcile.ErrLoadRunning) {
		t.Errorf("while the lease lasts: %v", err)
	}
	w.advance(2 * time.Minute)
	if err := w.other(nil).Load(t.Context(), w.activity.ID); err != nil {
		t.Errorf("after the lease: %v", err)
	}
	w.buy("u2", "k", 1)
	close(awake)
	if err := <-ended; !errors.Is(err, reconcile.ErrLoadRunning) {
		t.Errorf("the sleeper: %v", err)
	}
	w.agree()
}

func TestDraftAndUnknownActivityAreNotLoaded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	draft := w.draft(plan{capacity: 1, buckets: 1, limit: 1, price: "1.00"})
	if _, _, err := w.catalog.Create(t.Context(), draft, operator("activity.create")); err != nil {
		t.Fatal(err)
	}
	if err := w.reconciler.Load(t.Context(), draft.ID); !errors.Is(err, reconcile.ErrNotPublished) {
		t.Errorf("a draft: %v", err)
	}
	if err := w.reconciler.Load(t.Context(), "none"); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("an unknown activity: %v", err)
	}
}

func TestAskingForALoadTwiceIsOneJobThatTheNextPassDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	w.buy("u1", "k", 2)
	w.forget()
	for range 3 {
		if err := w.reconciler.RequestLoad(t.Context(), w.activity.ID); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.count("SELECT COUNT(*) FROM job WHERE kind = 'LOAD'"); n != 1 {
		t.Fatalf("%d jobs", n)
	}
	if sum := w.compensate(); sum.Loaded != 1 {
		t.Fatalf("got %+v", sum)
	}
	if n := w.count("SELECT COUNT(*) FROM job WHERE status = 'SUCCEEDED' AND attempts = 1 AND finished_at IS NOT NULL"); n != 1 {
		t.Error("the job is not written down as done")
	}
	w.agree()
	if err := w.reconciler.RequestLoad(t.Context(), w.activity.ID); err != nil {
		t.Fatal(err)
	}
	if n := w.count("SELECT COUNT(*) FROM job WHERE status = 'QUEUED'"); n != 1 {
		t.Errorf("after it is done another one cannot be asked for: %d", n)
	}
}

func TestLoadThatCanNeverBeDoneIsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	if err := w.reconciler.RequestLoad(t.Context(), "none"); err != nil {
		t.Fatal(err)
	}
	_, err := reconcile.NewCompensate(w.reconciler, reconcile.CompensateConfig{}).Run(t.Context())
	if !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if n := w.count("SELECT COUNT(*) FROM job WHERE status = 'FAILED' AND problem IS NOT NULL"); n != 1 {
		t.Errorf("%d jobs have failed", n)
	}
	w.compensate()
}

func TestLossThatNobodyReportedIsLoadedByTheNextPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	w.buy("u1", "k", 2)
	w.forget()
	if sum := w.compensate(); sum.Loaded != 1 {
		t.Fatalf("got %+v", sum)
	}
	w.agree()
	if sum := w.compensate(); sum != (reconcile.CompensateSummary{}) {
		t.Errorf("the second pass still did %+v", sum)
	}
}

func TestRulesThatRedisMissedAreAppliedByTheNextPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	if _, _, err := w.catalog.Transition(t.Context(), w.activity.ID, sale.Suspended, operator("activity.suspend")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.reserve("u1", "k", 1); err != nil {
		t.Fatalf("Redis knows of it already: %v", err)
	}
	if sum := w.compensate(); sum.Rules != 1 {
		t.Fatalf("got %+v", sum)
	}
	if _, err := w.reserve("u2", "k", 1); !errors.Is(err, stock.ErrSuspended) {
		t.Errorf("got %v", err)
	}
}

// Redis came back empty: one pass loads all sales, although each waits for a queue that does not become empty.
func TestManyLostActivitiesAreLoadedInOnePass(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	lost := []*world{w}
	for range 3 {
		other := *w
		other.publish(plan{capacity: 10, buckets: 2, limit: 2, price: "1.00"})
		lost = append(lost, &other)
	}
	for i, one := range lost {
		if i > 0 {
			if err := w.reconciler.Load(t.Context(), one.activity.ID); err != nil {
				t.Fatal(err)
			}
		}
		one.buy("u1", "k", 1)
		one.forget()
	}
	busy := w.other(func(context.Context) (bool, error) { return false, nil })
	sum, err := reconcile.NewCompensate(busy, reconcile.CompensateConfig{}).Run(t.Context())
	if err != nil || sum.Loaded != len(lost) {
		t.Fatalf("got %+v, %v", sum, err)
	}
	for _, one := range lost {
		one.agree()
	}
}

package reconcile_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/reconcile"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

// fallBack does what a restart from an old copy does, or a failover to a replica that lags: the keys are as they were, and the run of the
// server is another one than the set was proven under.
func (w *world) fallBack(kept map[string]string) {
	w.t.Helper()
	w.forget()
	w.restore(kept)
	w.must(w.rdb.HSet(w.t.Context(), w.key("rules"), "run", "of the server before").Err())
}

func (w *world) proven() bool {
	w.t.Helper()
	proven, err := w.stock.Proven(w.t.Context(), w.activity.ID)
	w.must(err)
	return proven
}

func TestOldCopyIsBroughtUpToDateWithoutAHand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 10, buckets: 2, limit: 1})
	early := w.buy("early", "k", 1)
	kept := w.copySet()
	w.cancel(early)
	for i := range 5 {
		w.buy(fmt.Sprint("before", i), "k", 1)
	}
	w.fallBack(kept)
	if w.proven() {
		t.Fatal("the set counts as whole")
	}
	// New buyers come at once, before any repair; Redis has units to offer that MySQL has not.
	var bought []checkout.Message
	for i := range 20 {
		m, err := w.reserve(fmt.Sprint("after", i), "k", 1)
		if err == nil {
			bought = append(bought, m)
		} else if !errors.Is(err, stock.ErrInsufficient) {
			t.Fatal(err)
		}
	}
	w.create(bought...)
	w.compensate()
	w.compensate()
	if !w.proven() {
		t.Error("the set does not count as whole after repair")
	}
	live := w.count("SELECT COUNT(*) FROM trade_order WHERE status <> 'CANCELLED'")
	if live != 10 {
		t.Errorf("%d live orders of 10 units", live)
	}
	for i := range 5 {
		if _, err := w.reserve(fmt.Sprint("before", i), "again", 1); !errors.Is(err, stock.ErrAlreadyReserved) {
			t.Errorf("an earlier buyer buys again: %v", err)
		}
	}
	if got := w.differences(); len(got) != 0 {
		t.Errorf("%v", got)
	}
	w.agree()
}

func TestMessagesThatOutlivedTheirEntriesAreAdopted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 10, buckets: 2})
	kept := w.copySet()
	waiting := w.mustReserve("a", "k", 3) // its message is in the queue
	w.fallBack(kept)
	if run := w.reconcileNow(reconcile.Repairing); run.Checked != 0 || len(run.Repaired) != 0 {
		t.Errorf("%+v", run)
	}
	w.create(waiting)
	w.agree()
	if n := w.count("SELECT COUNT(*) FROM reconcile_run WHERE cause = 'EVIDENCE'"); n == 0 {
		t.Error("an adoption is no evidence of a loss")
	}
}

func TestSetThatLostAKeyIsLoadedAgain(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"rules", "buyers", "log"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, plan{capacity: 10, buckets: 2})
			w.buy("a", "k", 3)
			w.must(w.rdb.Del(t.Context(), w.key(key)).Err())
			if _, err := w.reserve("b", "k", 1); !errors.Is(err, stock.ErrNotLoaded) {
				t.Errorf("a buyer is served from a set without %s: %v", key, err)
			}
			if run := w.reconcileNow(reconcile.Repairing); run.Checked != 0 || run.Differences != 0 {
				t.Errorf("%+v", run)
			}
			w.compensate()
			w.buy("b", "k", 1)
			w.agree()
		})
	}
}

func TestReservationsWhosePendingMarksWereLostBecomeOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 10, buckets: 2})
	m := w.mustReserve("a", "k", 3)
	w.must(w.rdb.Del(t.Context(), w.key("pending")).Err())
	if run := w.reconcileNow(reconcile.Repairing); run.InFlight != 1 || len(run.Repaired) != 0 {
		t.Errorf("young: %+v", run)
	}
	w.advance(2 * reconcile.PendingGrace)
	if run := w.reconcileNow(reconcile.Repairing); run.Repaired[reconcile.MendCreate] != 1 || run.Differences != 0 {
		t.Errorf("old: %+v", run)
	}
	if o := w.get(m.OrderID); o.Status != order.Unpaid {
		t.Errorf("%+v", o)
	}
	w.agree()
}

func TestAdjustmentsThatRedisLostAreAppliedAsTheyWereSplit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 10, buckets: 2})
	kept := w.copySet()
	w.adjust("more", 5)
	w.fallBack(kept)
	run := w.reconcileNow(reconcile.Repairing)
	if run.Repaired[reconcile.MendAdjustment] != 1 || run.Differences != 0 || !w.proven() {
		t.Errorf("%+v", run)
	}
	w.agree()
}

// The figures of the database are never written over those of Redis: what is reserved and not yet an order would be sold twice.
func TestReconcileWhileTheConsumerRestsSellsNothingTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 10, buckets: 2, limit: 1})
	var batch []checkout.Message
	for i := range 4 {
		batch = append(batch, w.mustReserve(fmt.Sprint("u", i), "k", 1))
	}
	if run := w.reconcileNow(reconcile.Repairing); run.InFlight != 4 || run.Differences != 0 || len(run.Repaired) != 0 {
		t.Errorf("%+v", run)
	}
	if left := w.snapshot().Types[ticket].Left; left != 6 {
		t.Fatalf("%d left, want 6", left)
	}
	for i := range 6 {
		batch = append(batch, w.mustReserve(fmt.Sprint("v", i), "k", 1))
	}
	if _, err := w.reserve("w", "k", 1); !errors.Is(err, stock.ErrInsufficient) {
		t.Errorf("the eleventh buyer: %v", err)
	}
	w.reconcileNow(reconcile.Repairing)
	if out := w.create(batch...); len(out.Live) != 10 {
		t.Errorf("%d orders", len(out.Live))
	}
	w.agree()
}

// loopFor is how long reconciliations run beside a sale that goes on.
const loopFor = 4 * time.Second

func TestReconcileInALoopBesideASaleFindsNoFalseDifference(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 300, buckets: 8, limit: 5})
	stop := make(chan struct{})
	var sellers sync.WaitGroup
	var sold atomic.Int64
	for seller := range 4 {
		sellers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := w.sellAndCancel(seller, n); err != nil {
					t.Error(err)
					return
				}
				sold.Add(1)
			}
		})
	}
	runs := 0
	for until := time.Now().Add(loopFor); time.Now().Before(until); runs++ {
		run := w.reconcileNow(reconcile.Repairing)
		if run.Differences != 0 || len(run.Repaired) != 0 {
			t.Errorf("run %d: %+v %v", runs, run, w.differences())
			break
		}
	}
	close(stop)
	sellers.Wait()
	t.Logf("%d runs beside %d orders", runs, sold.Load())
	if run := w.reconcileNow(reconcile.Repairing); run.Differences != 0 || run.InFlight != 0 || run.Checked != run.Consistent {
		t.Errorf("at rest: %+v", run)
	}
	w.agree()
}

// sellAndCancel makes an order of one of few users, so that marks move a lot, and cancels two of three.
func (w *world) sellAndCancel(seller, n int) error {
	user := fmt.Sprintf("s%d-%d", seller, n%7)
	m, err := w.reserve(user, fmt.Sprint("k", n), 1+n%2)
	if errors.Is(err, stock.ErrInsufficient) || errors.Is(err, stock.ErrLimit) {
		return nil
	}
	if err != nil {
		return err
	}
	if n%5 == 0 { // cancelled before it became an order
		_, err = w.checkout.Cancel(w.t.Context(), m.OrderID, checkout.Canceller{UserID: user})
		return err
	}
	out, err := w.checkout.CreateOrders(w.t.Context(), []checkout.Message{m})
	if err == nil {
		err = w.checkout.Settle(w.t.Context(), out)
	}
	if err == nil && n%3 != 0 {
		_, err = w.checkout.Cancel(w.t.Context(), m.OrderID, checkout.Canceller{UserID: user})
	}
	return err
}

func TestPolicyThatDropsKeysRaisesAnAlert(t *testing.T) {
	t.Parallel()
	own := testenv.RedisClient(t, testenv.OwnRedis(t, "--maxmemory-policy", "volatile-lru").Addr)
	w := newWorld(t, plan{redis: own})
	if _, err := reconcile.NewReconcileStock(w.reconciler, reconcile.ReconcileConfig{}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.count("SELECT COUNT(*) FROM alert WHERE kind = 'REDIS_EVICTS' AND subject = 'volatile-lru'"); n != 1 {
		t.Errorf("%d alerts", n)
	}
}

func TestTwoRunnersShareTheActivitiesAndMendOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 100, buckets: 4})
	for _, o := range w.soldTo(20) {
		w.cancel(o)
		w.revive(o)
	}
	other := w.other(nil)
	errs := make([]error, 4)
	var all sync.WaitGroup
	for i, r := range []*reconcile.Reconciler{w.reconciler, other, w.reconciler, other} {
		all.Go(func() {
			_, errs[i] = r.Reconcile(t.Context(), reconcile.RunRequest{ActivityID: w.activity.ID, Mode: reconcile.Repairing, Cause: reconcile.ByOperator})
		})
	}
	all.Wait()
	w.must(errors.Join(errs...))
	if _, err := w.reconciler.RunQueued(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	w.agree()
	if n := w.count("SELECT COUNT(*) FROM repair WHERE kind = 'RELEASE' AND layer = 3"); n != 20 {
		t.Errorf("%d releases written down, want 20", n)
	}
	if got := w.differences(); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

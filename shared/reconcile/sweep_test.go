package reconcile_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/reconcile"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

// B08: the process died, or the queue refused, right after units were taken.
func TestReservationThatWasNeverSentBecomesAnOrderAfterTheGrace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	m := w.mustReserve("u1", "k", 2)
	if sum := w.compensate(); sum != (reconcile.CompensateSummary{}) {
		t.Fatalf("within the grace: %+v", sum)
	}
	w.advance(61 * time.Second)
	if sum := w.compensate(); sum.Pending != (reconcile.Swept{Created: 1}) {
		t.Fatalf("after the grace: %+v", sum)
	}
	if o := w.get(m.OrderID); o.Status != order.Unpaid || o.Source != order.FromSweep || o.MessageID != "" {
		t.Fatalf("got %+v", o)
	}
	if out := w.create(m); len(out.Live) != 1 { // the message arrives after all
		t.Fatalf("got %+v", out)
	}
	if n := w.count("SELECT COUNT(*) FROM trade_order"); n != 1 {
		t.Errorf("%d orders", n)
	}
	w.agree()
}

func TestSweepFinishesWhatEachRowSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 50, buckets: 4})
	live := w.mustReserve("live", "k", 1)
	w.commit(live)
	closed := w.mustReserve("cancelled", "k", 2)
	w.commit(closed)
	if _, err := w.db.ExecContext(t.Context(), "UPDATE trade_order SET pay_deadline = '2020-01-01 00:00:00' WHERE id = ?", closed.OrderID[:]); err != nil {
		t.Fatal(err)
	}
	offline := checkout.New(w.db, stock.New(testenv.RedisClient(t, "127.0.0.1:1"), nil), w.catalog, nil)
	if n, _, err := offline.Expire(t.Context(), 10); n != 1 || err != nil {
		t.Fatalf("%d expired, %v", n, err)
	}
	missing := w.mustReserve("missing", "k", 3)
	w.advance(2 * time.Minute)
	young := w.mustReserve("young", "k", 1)
	sum := w.compensate()
	if sum.Pending != (reconcile.Swept{Acknowledged: 1, Released: 1, Created: 1}) {
		t.Fatalf("got %+v", sum)
	}
	if o := w.get(closed.OrderID); o.ReleasedAt == nil {
		t.Error("the release is not recorded")
	}
	if o := w.get(missing.OrderID); o.Status != order.Unpaid {
		t.Errorf("the missing one is %s", o.Status)
	}
	if _, err := order.Get(t.Context(), w.db, young.OrderID); !errors.Is(err, order.ErrNotFound) {
		t.Errorf("the young one: %v", err)
	}
	w.create(young)
	w.agree()
}

func TestSweptReservationsMeetTheSameGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 3, buckets: 1})
	var batch []checkout.Message
	for i := range 3 {
		batch = append(batch, w.mustReserve(fmt.Sprintf("u%d", i), "k", 1))
	}
	// MySQL has only two units, Redis gave away three.
	if _, err := w.db.ExecContext(t.Context(), "UPDATE stock_bucket SET adjusted = -1 WHERE activity_id = ?", w.activity.ID); err != nil {
		t.Fatal(err)
	}
	w.advance(2 * time.Minute)
	if sum := w.compensate(); sum.Pending != (reconcile.Swept{Created: 2, Refused: 1}) {
		t.Fatalf("got %+v", sum)
	}
	if o := w.get(batch[2].OrderID); o.Reason != order.InsufficientStock {
		t.Errorf("the last one is %s %s", o.Status, o.Reason)
	}
}

// The consumer was paused for half an hour under many reservations: none of them is cancelled, whoever makes the orders.
func TestConsumerThatWasPausedCancelsNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 600, buckets: 8, limit: 2})
	var batch []checkout.Message
	for i := range 300 {
		batch = append(batch, w.mustReserve(fmt.Sprintf("u%d", i), "k", 2))
	}
	w.advance(30 * time.Minute)
	var group sync.WaitGroup
	group.Go(func() { // the minute pass meets the consumer that was resumed
		if _, err := reconcile.NewCompensate(w.reconciler, reconcile.CompensateConfig{PageSize: 40}).Run(t.Context()); err != nil {
			t.Error(err)
		}
	})
	group.Go(func() {
		for len(batch) > 0 {
			if out := w.create(batch[:50]...); len(out.Live) != 50 {
				t.Errorf("%d live, %d cancelled", len(out.Live), len(out.Cancelled))
			}
			batch = batch[50:]
		}
	})
	group.Wait()
	if n := w.count("SELECT COUNT(*) FROM trade_order WHERE status = 'UNPAID'"); n != 300 {
		t.Errorf("%d orders", n)
	}
	w.agree()
}

func TestPassesAtOnceShareTheWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 200, buckets: 4})
	for i := range 60 {
		w.mustReserve(fmt.Sprintf("u%d", i), "k", 1)
	}
	w.advance(2 * time.Minute)
	var group sync.WaitGroup
	var mu sync.Mutex
	created := 0
	for range 4 {
		group.Go(func() {
			pass := reconcile.NewCompensate(w.other(nil), reconcile.CompensateConfig{PageSize: 7})
			sum, err := pass.Run(t.Context())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			created += sum.Pending.Created
		})
	}
	group.Wait()
	if created != 60 {
		t.Errorf("%d made in all", created)
	}
	w.agree()
}

// MariaDB is away for ten minutes while the sale goes on: all orders appear when it is back.
func TestSaleGoesOnWithoutTheDatabaseAndEveryOrderAppears(t *testing.T) {
	t.Parallel()
	proxy, dsn := testenv.ProxyMySQL(t, testenv.MySQLDSN(t))
	w := newWorld(t, plan{dsn: dsn})
	proxy.Down()
	var ids []sale.OrderID
	for minute := range 10 {
		ids = append(ids, w.mustReserve(fmt.Sprintf("u%d", minute), "k", 2).OrderID)
		w.advance(time.Minute)
		if sum, err := reconcile.NewCompensate(w.reconciler, reconcile.CompensateConfig{}).Run(t.Context()); err == nil {
			t.Fatalf("a pass without a database did %+v", sum)
		}
	}
	proxy.Up()
	w.advance(time.Minute)
	if sum := w.compensate(); sum.Pending != (reconcile.Swept{Created: 10}) {
		t.Fatalf("got %+v", sum)
	}
	for _, id := range ids {
		if o := w.get(id); o.Status != order.Unpaid {
			t.Errorf("%s is %s", id, o.Status)
		}
	}
	w.agree()
}

func TestCancelledOrdersThatRedisDidNotHearOfAreReleasedByTheNextPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 50, buckets: 4})
	offline := checkout.New(w.db, stock.New(testenv.RedisClient(t, "127.0.0.1:1"), nil), w.catalog, nil)
	for i := range 5 {
		w.buy(fmt.Sprintf("u%d", i), "k", 2)
	}
	w.advance(w.activity.PayWindow + time.Second)
	if n, _, err := offline.Expire(t.Context(), 100); n != 5 || err != nil {
		t.Fatalf("%d expired, %v", n, err)
	}
	if left := w.snapshot().Types[ticket].Left; left != 40 {
		t.Fatalf("Redis has %d already", left)
	}
	if sum := w.compensate(); sum.Released != 0 {
		t.Fatalf("the pass did not wait for whoever cancelled: %+v", sum)
	}
	w.advance(10 * time.Second)
	if sum := w.compensate(); sum.Released+sum.Retried != 5 { // the failures were noted, and are due too
		t.Fatalf("got %+v", sum)
	}
	if n := w.count("SELECT COUNT(*) FROM stock_log WHERE direction = 1 AND after_quantity = before_quantity + 2"); n != 5 {
		t.Errorf("%d rows have the figures of their release", n)
	}
	w.agree()
}

func TestReleaseOfASaleThatIsClosedAndLostAsksForItsLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	o := w.buy("u1", "k", 2)
	if _, _, err := w.catalog.Transition(t.Context(), w.activity.ID, sale.Closed, operator("activity.close")); err != nil {
		t.Fatal(err)
	}
	w.forget()
	w.cancel(o)
	w.advance(10 * time.Second)
	if _, err := reconcile.NewCompensate(w.reconciler, reconcile.CompensateConfig{}).Run(t.Context()); !errors.Is(err, stock.ErrNotLoaded) {
		t.Fatalf("the first pass: %v", err)
	}
	if sum := w.compensate(); sum.Loaded != 1 || sum.Released != 1 {
		t.Fatalf("the second pass: %+v", sum)
	}
	if got := w.get(o.ID); got.ReleasedAt == nil {
		t.Error("the release is not recorded")
	}
	w.agree()
}

func TestExpireOrdersTakesAllPagesOfWhatIsOverdue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 100, buckets: 4})
	for i := range 25 {
		w.buy(fmt.Sprintf("u%d", i), "k", 1)
	}
	job := reconcile.NewExpireOrders(w.db, w.checkout, reconcile.ExpireConfig{PageSize: 10})
	if sum, err := job.Run(t.Context()); sum.Expired != 0 || err != nil {
		t.Fatalf("before the deadline: %+v, %v", sum, err)
	}
	w.advance(w.activity.PayWindow + time.Second)
	var group sync.WaitGroup
	var mu sync.Mutex
	expired := 0
	for range 2 {
		group.Go(func() {
			sum, err := job.Run(t.Context())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			expired += sum.Expired
		})
	}
	group.Wait()
	sum, err := job.Run(t.Context()) // what both had passed over
	if expired += sum.Expired; expired != 25 || err != nil {
		t.Errorf("%d expired, %v", expired, err)
	}
	w.agree()
}

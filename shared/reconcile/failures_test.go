package reconcile_test

import (
	"errors"
	"testing"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/reconcile"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

// failed is how a failure stands.
type failed struct {
	status   string
	attempts int
	due      time.Time
}

func (w *world) failed(kind string, o order.Order) failed {
	w.t.Helper()
	var f failed
	err := w.db.QueryRowContext(w.t.Context(), "SELECT status, attempts, due_at FROM compensation_fail WHERE kind = ? AND order_id = ?", kind, o.ID[:]).
		Scan(&f.status, &f.attempts, &f.due)
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

func (w *world) now() time.Time {
	w.t.Helper()
	now, err := w.db.Now(w.t.Context(), w.db)
	if err != nil {
		w.t.Fatal(err)
	}
	return now
}

func TestFailureIsTriedAtLongerIntervalsAndTheFifthTimeAPersonIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	offline := w.offline()
	away := reconcile.New(w.db, stock.New(testenv.RedisClient(t, "127.0.0.1:1"), nil), w.catalog, offline, nil, nil)
	o := w.buy("u1", "k", 2)
	if _, err := offline.Cancel(t.Context(), o.ID, checkout.Canceller{UserID: "u1"}); err != nil {
		t.Fatal(err)
	}
	if done, err := away.RetryFailures(t.Context(), 10); done != 0 || err != nil {
		t.Fatalf("before it is due: %d done, %v", done, err)
	}
	w.advance(checkout.FirstRetry)
	for tries, pause := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 32 * time.Minute, time.Hour, time.Hour} {
		before := w.now()
		if done, err := away.RetryFailures(t.Context(), 10); done != 0 || !errors.Is(err, stock.ErrUnavailable) {
			t.Fatalf("try %d: %d done, %v", tries+1, done, err)
		}
		f := w.failed("RELEASE", o)
		if wait := f.due.Sub(before); f.status != "OPEN" || f.attempts != tries+1 || wait < pause || wait > pause+10*time.Second {
			t.Fatalf("try %d: %+v, due in %v", tries+1, f, wait)
		}
		alerts := w.count("SELECT COUNT(*) FROM alert WHERE kind = 'COMPENSATION_STUCK' AND subject = ?", o.ID.String())
		if (alerts == 1) != (tries+1 >= 5) {
			t.Fatalf("try %d: %d alerts", tries+1, alerts)
		}
		w.advance(f.due.Sub(w.now()))
	}
	if done, err := w.reconciler.RetryFailures(t.Context(), 10); done != 1 || err != nil {
		t.Fatalf("when Redis is back: %d done, %v", done, err)
	}
	if f := w.failed("RELEASE", o); f.status != "DONE" || w.get(o.ID).ReleasedAt == nil || w.repaired(order.RepairRelease) != 1 {
		t.Errorf("got %+v, released at %v", f, w.get(o.ID).ReleasedAt)
	}
	w.agree()
}

// An acknowledgement that was written down does not wait for the grace of what is pending.
func TestAcknowledgementThatFailedIsMadeUpForByTheNextPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	out := w.commit(w.mustReserve("u1", "k", 2))
	if err := w.offline().Settle(t.Context(), out); err == nil {
		t.Fatal("Redis answered")
	}
	w.advance(checkout.FirstRetry)
	if sum := w.compensate(); sum.Retried != 1 || sum.Pending != (reconcile.Swept{}) {
		t.Fatalf("got %+v", sum)
	}
	if f := w.failed("ACK", out.Live[0]); f.status != "DONE" || w.repaired(order.RepairAck) != 1 {
		t.Errorf("got %+v", f)
	}
	w.agree()
}

func TestFailureThatHealedOtherwiseIsDoneWithoutARepair(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	out := w.commit(w.mustReserve("u1", "k", 2))
	released := w.buy("u2", "k", 1)
	if err := w.offline().Settle(t.Context(), out); err == nil {
		t.Fatal("Redis answered")
	}
	if _, err := w.offline().Cancel(t.Context(), released.ID, checkout.Canceller{UserID: "u2"}); err != nil {
		t.Fatal(err)
	}
	w.cancel(out.Live[0]) // there is nothing to acknowledge any more
	w.cancel(released)    // asked for again, and now released
	before := w.count("SELECT COUNT(*) FROM repair")
	w.advance(checkout.FirstRetry)
	if done, err := w.reconciler.RetryFailures(t.Context(), 10); done != 2 || err != nil {
		t.Fatalf("%d done, %v", done, err)
	}
	if n := w.count("SELECT COUNT(*) FROM compensation_fail WHERE status = 'OPEN'"); n != 0 || w.count("SELECT COUNT(*) FROM repair") != before {
		t.Errorf("%d are open", n)
	}
	w.agree()
}

// A row that asks to release an order which lives is a lie, whoever wrote it.
func TestFailureNeverReleasesALiveOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	o := w.buy("u1", "k", 2)
	if _, err := w.db.ExecContext(t.Context(), `INSERT INTO compensation_fail (order_id, kind, activity_id, status, attempts, due_at, last_error,
 created_at, updated_at) VALUES (?, 'RELEASE', ?, 'OPEN', 0, ?, 'planted', ?, ?)`, o.ID[:], w.activity.ID, w.now(), w.now(), w.now()); err != nil {
		t.Fatal(err)
	}
	w.advance(time.Second)
	if done, err := w.reconciler.RetryFailures(t.Context(), 10); done != 0 || err != nil {
		t.Fatalf("%d done, %v", done, err)
	}
	if got := w.get(o.ID); got.Status != order.Unpaid || w.failed("RELEASE", o).status != "OPEN" {
		t.Errorf("got %+v", got)
	}
	w.agree()
}

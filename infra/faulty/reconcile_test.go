package faulty

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"holdfast/shared/catalog"
	"holdfast/shared/checkout"
	"holdfast/shared/reconcile"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

// B04: one order is given back by everybody who may do so, at once and again: its buyer, an operator, the deadline, the minute pass, two
// full reconciles, and its own message that arrives once more.
func TestAnOrderGivenBackByEveryRouteGivesItsUnitsOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.sell(terms{capacity: 100, pay: 60})
	const rounds = 4
	for round := range rounds {
		user := named("buyer")(round)
		text := o.promised(user, "wish", 3)
		o.becomes(user, text, "UNPAID")
		id, err := sale.ParseOrderID(text)
		if err != nil {
			t.Fatal(err)
		}
		message := events.SQSEvent{Records: []events.SQSMessage{{MessageId: "again", Body: o.message(id), EventSource: "aws:sqs",
			Attributes: map[string]string{"ApproximateReceiveCount": "1"}}}}
		s.token(user)
		routes := []func() answer{
			func() answer { return o.cancel(user, text) },
			func() answer {
				return s.ask("POST", "/ops/v1/orders/"+text+"/cancellation", s.operator, "op-"+text,
					map[string]any{"reason": "by hand", "refund": "NONE"})
			},
			func() answer { return s.ask("POST", "/local/schedules/expire-orders", "", "", nil) },
			s.compensate, s.reconcile, s.reconcile,
			func() answer { return s.ask("POST", "/local/events/create-orders", "", "", message) },
		}
		s.advance(time.Minute) // the deadline
		for range 2 {
			inParallel(len(routes), func(i int) {
				if a := routes[(i+round)%len(routes)](); a.status != 200 {
					t.Errorf("round %d, route %d: %v", round, (i+round)%len(routes), a)
				}
			})
		}
		o.becomes(user, text, "CANCELLED")
		if a := o.holding(user); a.status != 200 || a.body.Held != 0 {
			t.Errorf("the buyer still holds: %v", a)
		}
	}
	o.healed()
	if n := o.left(); n != 100 {
		t.Errorf("%d units left, want 100", n)
	}
	if n := o.count("SELECT COUNT(*) FROM stock_log WHERE activity_id = ? AND direction = 1", o.id); n != rounds {
		t.Errorf("%d rows say that units were given back, want %d", n, rounds)
	}
	o.certified(0)
}

// B11, S9: what is only reserved is no error of a counter. A full reconcile that runs while nobody takes messages leaves it alone.
func TestAFullReconcileLeavesReservationsInFlightAlone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.sell(terms{kind: "VOUCHER", capacity: 10, buckets: 4, limit: 1})
	s.pauseConsumer(true)
	o.sellTo(4, named("buyer"))
	for range 2 {
		if a := s.reconcile(); a.status != 200 {
			t.Fatalf("the full reconcile: %v", a)
		}
		a := s.ask("POST", "/ops/v1/reconciliations", s.operator, "", map[string]any{"activityId": o.id, "mode": "REPAIR"})
		if a.status != 200 {
			t.Fatalf("a reconciliation of an operator: %v", a)
		}
	}
	if n := o.left(); n != 6 {
		t.Errorf("%d units left, want 6", n)
	}
	if n := o.orders("") + o.count("SELECT COUNT(*) FROM difference"); n != 0 {
		t.Errorf("the reconcile has made %d rows of what was on its way", n)
	}
	if n := o.soldTo(o.rush(7, named("later")), "INSUFFICIENT_STOCK"); n != 6 {
		t.Errorf("%d more were sold, want 6", n)
	}
	s.pauseConsumer(false)
	o.haveRows(10, "UNPAID")
	s.emptyQueue()
	o.certified(10)
}

// B45: four full reconciles and four minute passes run at once over orphans of every kind, after one reconciler has died in the middle of
// its work, with its lease and its run still its own.
func TestReconcilersAtOnceAndOneThatDiedReleaseEachOrphanOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.sell(terms{capacity: 200, limit: 10})
	o.sellTo(30, named("buyer"))
	o.haveRows(30, "UNPAID")
	o.nothingPending()
	s.fault("redis.release", "refuse", 1) // cancelled in MySQL alone
	inParallel(10, func(i int) {
		if a := o.cancel(o.promises[i].UserID, o.promises[i].OrderID.String()); a.state() != "CANCELLED" {
			t.Errorf("cancelling: %v", a)
		}
	})
	s.endFaults()
	s.fault("queue.send", "refuse", 1) // reserved in Redis alone
	for i := range 10 {
		s.unconfirmed(o.reserve(named("unsent")(i), "wish", 2))
	}
	s.endFaults()
	dies(o)
	o.advance(2*time.Minute + time.Second) // as long as a run without a sign of life is left alone
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if a := s.reconcile(); a.status != 200 {
				t.Errorf("a full reconcile: %v", a)
			}
		})
		all.Go(func() {
			if a := s.compensate(); a.status != 200 {
				t.Errorf("a minute pass: %v", a)
			}
		})
	}
	all.Wait()
	o.haveRows(30, "UNPAID") // twenty that are left, and ten that were never sent
	o.healed()
	if n := o.left(); n != 200-20-2*10 {
		t.Errorf("%d units left, want 160", n)
	}
	if n := o.count("SELECT COUNT(*) FROM reconcile_run WHERE active = 1"); n != 0 {
		t.Errorf("%d runs never ended", n)
	}
	o.certified(30)
}

// dies runs a full reconcile of a process of its own whose stores vanish while it reads the log: it can neither end its run nor give its
// lease back, as if it had been killed.
func dies(o *offer) {
	o.t.Helper()
	dsn := o.stack.Addresses.MySQL
	rows, through := testenv.ProxyMySQL(o.t, dsn)
	cache := testenv.Proxy(o.t, o.redis.Addr)
	pool, err := sqltx.Open(through)
	if err != nil {
		o.t.Fatal(err)
	}
	defer pool.Close()
	var once sync.Once
	cache.CutBefore(func(chunk []byte) bool {
		reads := bytes.Contains(bytes.ToLower(chunk), []byte("hscan"))
		if reads {
			once.Do(rows.Down)
		}
		return reads
	})
	offset := o.offset()
	clock := func() time.Duration { return offset }
	client := testenv.RedisClient(o.t, cache.Addr)
	db, st := sqltx.New(pool, clock), stock.New(client, clock)
	cat := catalog.New(db)
	r := reconcile.New(db, st, cat, checkout.New(db, st, cat, nil), nil, nil)
	_, err = r.Reconcile(o.t.Context(), reconcile.RunRequest{ActivityID: o.id, Mode: reconcile.Repairing, Cause: reconcile.ByOperator})
	if err == nil || cache.Cuts() == 0 {
		o.t.Fatalf("the reconcile did not die: %v, %d cuts", err, cache.Cuts())
	}
	if n := o.count("SELECT COUNT(*) FROM reconcile_run WHERE activity_id = ? AND status = 'RUNNING'", o.id); n != 1 {
		o.t.Errorf("%d runs were left behind, want 1", n)
	}
}

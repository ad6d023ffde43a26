package faulty

import (
	"fmt"
	"testing"
	"time"

	"holdfast/shared/stock"
)

// Redis has lost everything. What was sold is in the database, what was promised is in the queue, and the sale goes on from there.
func TestAnEmptiedRedisIsLoadedAgain(t *testing.T) {
	t.Parallel()
	for name, empty := range map[string]func(s *stage) error{
		"flushed": func(s *stage) error { return s.keys.FlushAll(s.t.Context()).Err() },
		"killed": func(s *stage) error {
			s.redis.Kill()
			return s.redis.Restart(s.t.Context())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			o := s.sell(terms{kind: "VOUCHER", capacity: 20, buckets: 4, limit: 1})
			early, queued := named("early"), named("queued")
			o.sellTo(8, early)
			o.haveRows(8, "UNPAID")
			owned := orderOf(o, early(0))
			if a := o.cancel(early(1), orderOf(o, early(1))); a.state() != "CANCELLED" {
				t.Errorf("cancelling: %v", a)
			}
			o.repaired()
			o.advance(time.Hour) // what is not of the last minutes has to be found again too
			s.pauseConsumer(true)
			o.sellTo(5, queued)
			if err := empty(s); err != nil {
				t.Fatal(err)
			}
			s.busy(o.insist("stranger", "wish", 1), "SALE_NOT_READY")
			s.busy(o.holding(early(0)), "SALE_NOT_READY")
			if n := o.count("SELECT COUNT(*) FROM job WHERE kind = 'LOAD' AND activity_id = ?", o.id); n == 0 {
				t.Error("nobody has asked for the sale to be loaded")
			}
			if a := o.read(queued(0), orderOf(o, queued(0))); a.status != 503 || a.header.Get("Retry-After") == "" {
				t.Errorf("an order that only the queue knows: %v; want 503, for it is not known to be missing", a)
			}
			s.pauseConsumer(false)
			loads(o)
			o.haveRows(12, "UNPAID") // eight less one, and the five from the queue
			if a := o.reserve(early(0), "another", 1); a.body.Code != "ALREADY_RESERVED" || a.body.OrderID != owned {
				t.Errorf("an earlier buyer: %v; want his order %s", a, owned)
			}
			if a := o.reserve(early(0), "wish", 1); a.status != 202 || a.body.OrderID != owned {
				t.Errorf("an earlier buyer's key: %v; want his order %s", a, owned)
			}
			if a := o.reserve(early(1), "wish", 1); a.status != 202 || a.state() != "CANCELLED" {
				t.Errorf("the key of a cancelled order: %v", a)
			}
			sellsOut(o, 8, 20)
		})
	}
}

// orderOf finds a user's promised order.
func orderOf(o *offer, user string) string {
	o.t.Helper()
	for _, p := range o.promises {
		if p.UserID == user {
			return p.OrderID.String()
		}
	}
	o.t.Fatalf("%s was promised nothing", user)
	return ""
}

// loads has the minute pass load the sale. The pass that the clock started may be at it already; then this one only says so, and the set is
// there before it is open.
func loads(o *offer) {
	o.t.Helper()
	o.eventually("the sale is loaded", func() (bool, string) {
		a := o.compensate()
		set, err := o.store().Snapshot(o.t.Context(), &o.facts)
		return err == nil && set.State == stock.Open && a.status == 200, fmt.Sprintf("%v, state %d, %v", a, set.State, err)
	})
}

// sellsOut sells the rest to strangers, which must be so many, and proves that no unit went twice.
func sellsOut(o *offer, rest, capacity int) {
	o.t.Helper()
	accepted := 0
	for _, a := range o.rush(rest+6, named("stranger")) {
		switch {
		case a.status == 202:
			accepted++
		case a.body.Code != "INSUFFICIENT_STOCK":
			o.t.Errorf("a stranger heard %v", a)
		}
	}
	if accepted != rest {
		o.t.Errorf("%d strangers got a unit, want %d", accepted, rest)
	}
	o.haveRows(capacity, "UNPAID")
	o.repaired()
	o.proves(capacity)
	o.noDeadLetters()
}

// The consumer stands still for longer than a load waits for the queue. Then units of those in the queue are sold to others, for
// Redis cannot know better: the database decides, some hear that there are not enough, and nothing is oversold.
func TestALoadThatCannotWaitForTheQueueOversellsNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.sell(terms{kind: "VOUCHER", capacity: 10, buckets: 4, limit: 1})
	s.pauseConsumer(true)
	queued := named("queued")
	o.sellTo(6, queued)
	if err := s.keys.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	s.busy(o.reserve("stranger-0", "wish", 1), "SALE_NOT_READY")
	loads(o)
	known := orderOf(o, queued(0))
	if again := o.promised(queued(0), "wish", 1); again != known { // he does not know of any of this, and taps again
		t.Errorf("the key of a lost reservation names order %s, and it was %s", again, known)
	}
	accepted := 0
	for _, a := range o.rush(12, named("stranger")) {
		if a.status == 202 {
			accepted++
		}
	}
	if accepted != 9 {
		t.Errorf("%d strangers were accepted, want the 9 units that Redis has left", accepted)
	}
	s.pauseConsumer(false)
	o.haveRows(10, "UNPAID")
	o.haveRows(5, "CANCELLED")
	if n := o.count("SELECT COUNT(*) FROM trade_order WHERE activity_id = ? AND reason = 'INSUFFICIENT_STOCK'", o.id); n != 5 {
		t.Errorf("%d orders say INSUFFICIENT_STOCK, want 5", n)
	}
	o.repaired()
	o.noDeadLetters()
	o.proves(10)
	if n := o.left(); n != 0 {
		t.Errorf("%d units left", n)
	}
}

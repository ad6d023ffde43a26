package faulty

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"holdfast/shared/testenv"
)

// Buyers come without pause while Redis loses everything, with messages in the queue. They hear that the sale is not ready, try again,
// and in the end as many orders live as there are units.
func TestASaleWhoseRedisIsLostInItsMiddleSellsEveryUnitOnce(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(s *stage) error{
		"flushed": func(s *stage) error { return s.keys.FlushAll(s.t.Context()).Err() },
		"killed, and empty": func(s *stage) error {
			s.redis.Kill()
			return s.redis.Restart(s.t.Context())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			const capacity, buyers = 120, 200
			o := s.sell(terms{kind: "VOUCHER", capacity: capacity, buckets: 4, limit: 1})
			answers, ended := make([]answer, buyers), make(chan struct{})
			go func() {
				defer close(ended)
				inParallel(buyers, func(i int) { answers[i] = o.persistently(named("buyer")(i), "wish", 1) })
			}()
			o.eventually("a third is sold", func() (bool, string) {
				n := o.orders("")
				return n >= capacity/3, fmt.Sprint(n)
			})
			s.pauseConsumer(true)
			o.eventually("some are in the queue", func() (bool, string) {
				n := s.queueDepth()
				return n >= 10, fmt.Sprint(n)
			})
			if err := lose(s); err != nil {
				t.Fatal(err)
			}
			o.eventually("buyers have asked for the load", func() (bool, string) {
				n := o.count("SELECT COUNT(*) FROM job WHERE kind = 'LOAD' AND activity_id = ?", o.id)
				return n > 0, fmt.Sprint(n)
			})
			s.pauseConsumer(false)
			loads(o)
			<-ended
			if n := o.soldTo(answers, "INSUFFICIENT_STOCK"); n < capacity {
				t.Errorf("%d buyers were accepted, and there are %d units", n, capacity)
			}
			o.haveRows(capacity, "UNPAID")
			o.keepsNoExpiry()
			o.certified(capacity)
			s.noDeadLetters()
		})
	}
}

// B21: ten units; five are sold when the copy is made and five later. Redis comes back from the copy and believes that five are left.
// MySQL refuses whoever it sells them to, and Redis learns of the lost ones without anybody's help.
func TestARedisThatRestartsFromAnOldCopyOversellsNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.sell(terms{kind: "VOUCHER", capacity: 10, buckets: 4, limit: 1})
	early, later := named("early"), named("later")
	o.sellTo(5, early)
	o.haveRows(5, "UNPAID")
	o.nothingPending()
	if err := s.keys.Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	o.sellTo(5, later)
	o.haveRows(10, "UNPAID")
	o.nothingPending()
	s.redis.Kill()
	if err := s.redis.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := o.left(); n != 5 {
		t.Fatalf("the copy has %d units left, want 5: this is not the old one", n)
	}
	believed := o.soldTo(o.rush(20, named("stranger")), "INSUFFICIENT_STOCK")
	o.haveRows(believed, "CANCELLED")
	o.haveRows(10, "UNPAID")
	if a := o.reserve(early(0), "another", 1); a.body.Code != "ALREADY_RESERVED" {
		t.Errorf("a buyer whom the copy knows: %v", a)
	}
	o.healed()
	for i := range 5 {
		if a := o.reserve(later(i), "another", 1); a.body.Code != "ALREADY_RESERVED" || a.body.OrderID != orderOf(o, later(i)) {
			t.Errorf("a buyer whom the copy did not know: %v", a)
		}
		if a := o.reserve(later(i), "wish", 1); a.status != 202 || a.state() != "UNPAID" {
			t.Errorf("his key: %v", a)
		}
	}
	if n := o.left(); n != 0 {
		t.Errorf("%d units left", n)
	}
	if n := o.count("SELECT COUNT(*) FROM repair WHERE activity_id = ? AND kind = 'ADOPT'", o.id); n != 5 {
		t.Errorf("%d orders were adopted, want 5", n)
	}
	o.certified(10)
	s.noDeadLetters()
}

// A replica lags when it takes over. What was sold, cancelled and decided since then it has never heard of: not even that the sale was
// suspended. One minute pass applies that again.
func TestAFailoverToALaggingReplicaIsMadeGoodWithinOnePass(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.sell(terms{kind: "VOUCHER", capacity: 20, buckets: 4, limit: 1})
	replica := testenv.OwnRedis(t)
	behind := testenv.RedisClient(t, replica.Addr)
	line := testenv.Proxy(t, s.redis.Addr)
	host, port, _ := strings.Cut(line.Addr, ":")
	if err := behind.Do(t.Context(), "REPLICAOF", host, port).Err(); err != nil {
		t.Fatal(err)
	}
	early, later, queued := named("early"), named("later"), named("queued")
	o.sellTo(6, early)
	o.haveRows(6, "UNPAID")
	o.nothingPending()
	o.eventually("the replica has followed", func() (bool, string) {
		there, err := behind.HLen(t.Context(), o.key("log")).Result()
		return there == 7 && err == nil, fmt.Sprint(there, err) // six entries and the epoch
	})
	line.Down()
	o.sellTo(6, later)
	o.haveRows(12, "UNPAID")
	if a := o.cancel(early(0), orderOf(o, early(0))); a.state() != "CANCELLED" {
		t.Errorf("cancelling: %v", a)
	}
	s.pauseConsumer(true)
	o.sellTo(3, queued)
	o.turn("suspension")
	if a := o.reserve("too-late", "wish", 1); a.body.Code != "SALE_SUSPENDED" {
		t.Errorf("after the suspension: %v", a)
	}
	s.redis.Kill()
	if err := behind.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	s.keys = behind
	s.cache.Point(replica.Addr)
	if n := o.left(); n != 14 {
		t.Fatalf("the replica has %d units left, want 14: it does not lag", n)
	}
	s.eventually("one minute pass runs through", func() (bool, string) {
		a := s.compensate() // the first may meet connections that the failover has cut
		return a.status == 200, a.String()
	})
	if a := o.insist("too-late", "wish", 1); a.body.Code != "SALE_SUSPENDED" {
		t.Errorf("after one minute pass: %v; want the sale suspended", a)
	}
	s.pauseConsumer(false)
	o.haveRows(14, "UNPAID")
	o.healed()
	o.turn("resumption")
	if a := o.reserve(later(0), "another", 1); a.body.Code != "ALREADY_RESERVED" || a.body.OrderID != orderOf(o, later(0)) {
		t.Errorf("a buyer whom the replica did not know: %v", a)
	}
	if a := o.reserve(early(0), "wish", 1); a.status != 202 || a.state() != "CANCELLED" {
		t.Errorf("the key of the order that was cancelled meanwhile: %v", a)
	}
	if n := o.left(); n != 6 {
		t.Errorf("%d units left, want 6", n)
	}
	sellsOut(o, 6, 20)
	o.certified(20)
}

// One key of a set is gone, whichever it is. Nothing is sold from what is left of it, and the next pass builds it anew. Nobody misses
// pending, and what only it knew is found in the log; the facts are missed by instances that have not read them yet.
func TestASetThatLacksOneKeyIsMadeWholeAgain(t *testing.T) {
	t.Parallel()
	whole := newStage(t)
	for _, name := range []string{"rules", "buyers", "log", "pending", "facts"} {
		t.Run(name, func(t *testing.T) { lacks(t, whole.on(t), name) })
	}
}

func lacks(t *testing.T, s *stage, name string) {
	defer s.cleanUp()
	o := s.sell(terms{kind: "VOUCHER", capacity: 12, buckets: 4, limit: 1})
	known, unsent := named("known"), named("unsent")
	o.sellTo(5, known)
	o.haveRows(5, "UNPAID")
	s.fault("queue.send", "refuse", 1)
	for i := range 2 {
		s.unconfirmed(o.reserve(unsent(i), "wish", 1))
	}
	s.endFaults()
	if n, err := s.keys.Del(t.Context(), o.key(name)).Result(); n != 1 || err != nil {
		t.Fatalf("%d keys deleted, %v", n, err)
	}
	live := 5
	switch name {
	case "rules", "buyers", "log": // what was only reserved is gone with the set, and nobody was promised it
		s.busy(o.insist("stranger", "wish", 1), "SALE_NOT_READY")
		loads(o)
	case "facts": // instances that have read them sell on; others ask for a load, of a set that is whole but for them
		o.eventually("a new instance misses them", func() (bool, string) {
			n := o.notReady()
			return n > 0, fmt.Sprint(n)
		})
		o.eventually("new instances are served", func() (bool, string) {
			a, n := o.compensate(), o.notReady()
			return a.status == 200 && n == 0, fmt.Sprint(a, n)
		})
	default:
		o.repaired()
		if a := s.reconcile(); a.status != 200 {
			t.Errorf("the full reconcile: %v", a)
		}
		live += 2
	}
	o.haveRows(live, "UNPAID")
	if a := o.reserve(known(0), "another", 1); a.body.Code != "ALREADY_RESERVED" || a.body.OrderID != orderOf(o, known(0)) {
		t.Errorf("an earlier buyer: %v", a)
	}
	o.sellsOutWhileRepairRuns(12-live, 12)
	o.keepsNoExpiry()
	o.certified(12)
}

// notReady has many callers at once ask for a ticket that there is not, and counts those who hear that the sale is not ready.
func (o *offer) notReady() int {
	var n atomic.Int64
	inParallel(64, func(i int) {
		user := named("curious")(i)
		a := o.ask("POST", "/v1/activities/"+o.id+"/reservations", o.token(user), "wish", map[string]any{"ticketType": "NONE", "quantity": 1})
		if a.body.Code == "SALE_NOT_READY" {
			n.Add(1)
		}
	})
	return int(n.Load())
}

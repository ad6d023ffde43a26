package faulty

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Redis does what it was asked and the answer is lost, or it refuses, or it says nothing: three different things to tell a buyer.
func TestABuyerHearsWhatTheStockStoreReallyDid(t *testing.T) {
	t.Parallel()
	whole := newStage(t)
	for name, run := range map[string]func(t *testing.T, o *offer){
		"every third answer of reserve lost": reserveAnswersLost,
		"reserve refused":                    reserveRefused,
		"reserve without answer":             reserveHangs,
		"nobody listens":                     nobodyListens,
		"five seconds late":                  fiveSecondsLate,
		"every third answer swallowed":       repliesSwallowed,
	} {
		t.Run(name, func(t *testing.T) {
			s := whole.on(t)
			defer s.cleanUp()
			run(t, s.sell(terms{}))
		})
	}
}

func reserveAnswersLost(t *testing.T, o *offer) {
	o.fault("redis.reserve", "lose-answer", 3)
	var unsure []string // users
	name := named("buyer")
	for i := range 12 {
		if a := o.reserve(name(i), "wish", 1); a.status != 202 {
			o.unconfirmed(a)
			unsure = append(unsure, name(i))
		}
	}
	o.endFaults()
	if len(unsure) < 4 {
		t.Errorf("%d buyers of 12 are unsure, want at least 4", len(unsure))
	}
	if n := o.left(); n != 1000-12 {
		t.Errorf("%d units left: the script ran once for each, so 988 must be", n)
	}
	for _, user := range unsure[1:] {
		if a := o.reserve(user, "wish", 1); a.status != 202 || a.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s asks again and hears %v", user, a)
		}
	}
	o.repaired() // the first of them never asks again
	o.haveRows(12, "UNPAID")
	o.proves(12)
}

func reserveRefused(t *testing.T, o *offer) {
	before := o.dump()
	o.fault("redis.reserve", "refuse", 1)
	o.busy(o.reserve("buyer", "wish", 1), "STOCK_STORE_UNAVAILABLE")
	o.endFaults()
	o.unchanged(before)
	o.promised("buyer", "wish", 1)
	o.haveRows(1, "UNPAID")
	o.proves(1)
}

// unchanged demands that the sale in Redis is what it was, byte for byte.
func (o *offer) unchanged(before map[string]string) {
	o.t.Helper()
	after := o.dump()
	for key, text := range before {
		if after[key] != text {
			o.t.Errorf("%s has changed", strings.TrimPrefix(key, "hf:{"+o.id+"}:"))
		}
	}
	if len(after) != len(before) {
		o.t.Errorf("%d keys, there were %d", len(after), len(before))
	}
}

func reserveHangs(t *testing.T, o *offer) {
	o.fault("redis.reserve", "hang", 1)
	a := o.reserve("buyer", "wish", 1)
	o.unconfirmed(a)
	if a.took > slowest {
		t.Errorf("the answer took %v", a.took)
	}
	o.endFaults()
	if id := o.promised("buyer", "wish", 1); id != a.body.OrderID {
		t.Errorf("order %s was named, and now %s", a.body.OrderID, id)
	}
	o.haveRows(1, "UNPAID")
	o.proves(1)
}

func nobodyListens(t *testing.T, o *offer) {
	held := o.promised("early", "wish", 1)
	o.becomes("early", held, "UNPAID")
	o.cache.Down()
	defer o.cache.Up()
	o.insist("buyer", "wish", 1)
	for range 5 {
		o.busy(o.reserve("buyer", "wish", 1), "STOCK_STORE_UNAVAILABLE")
	}
	o.busy(o.holding("early"), "STOCK_STORE_UNAVAILABLE")
	if a := o.read("early", held); a.state() != "UNPAID" {
		t.Errorf("an order whose row is there: %v", a)
	}
	if a := o.ask("GET", "/v1/health", "", "", nil); a.status != 503 || a.header.Get("Retry-After") == "" {
		t.Errorf("health: %v", a)
	}
	if a := o.cancel("early", held); a.state() != "CANCELLED" {
		t.Errorf("an order is cancelled in the database first, and yet: %v", a)
	}
	o.cache.Up()
	o.promised("buyer", "wish", 1)
	o.haveRows(1, "UNPAID")
	o.repaired()
	o.proves(1)
	if n := o.left(); n != 999 {
		t.Errorf("%d units left, want 999", n)
	}
}

func fiveSecondsLate(t *testing.T, o *offer) {
	held := o.promised("early", "wish", 1)
	o.haveRows(1, "UNPAID")
	o.nothingPending()
	o.cache.Delay(5 * time.Second)
	o.busy(o.holding("early"), "STOCK_STORE_UNAVAILABLE")
	if a := o.read("early", held); a.state() != "UNPAID" || a.took > 2*slowest {
		t.Errorf("an order whose row is there: %v after %v", a, a.took)
	}
	name := named("buyer")
	unsure := make([]answer, 5)
	for i := range unsure {
		unsure[i] = o.reserve(name(i), "wish", 1)
		if unsure[i].took > slowest {
			t.Errorf("the answer took %v", unsure[i].took)
		}
		if unsure[i].body.Code != "STOCK_STORE_UNAVAILABLE" { // a new instance that could not even read the sale
			o.unconfirmed(unsure[i])
		}
	}
	o.cache.Delay(0)
	for i, a := range unsure {
		if id := o.promised(name(i), "wish", 1); a.body.OrderID != "" && id != a.body.OrderID {
			t.Errorf("%s was told order %s, and then %s", name(i), a.body.OrderID, id)
		}
	}
	o.haveRows(6, "UNPAID")
	o.repaired()
	o.proves(6)
}

// repliesSwallowed loses answers of everything that is asked of Redis, whoever asks.
func repliesSwallowed(t *testing.T, o *offer) {
	o.promised("early", "wish", 1)
	cuts := o.cache.Cuts()
	o.cache.DropReplies(3)
	name := named("buyer")
	ids := make([]string, 15)
	for i := range ids {
		for try := 0; ids[i] == "" && try < 20; try++ {
			a := o.reserve(name(i), "wish", 1)
			if a.status == 202 {
				ids[i] = a.body.OrderID
			} else if a.status != 503 || !a.body.Retryable {
				t.Fatalf("%s heard %v", name(i), a)
			}
		}
	}
	for i, id := range ids[:5] {
		if a := o.cancel(name(i), id); a.state() != "CANCELLED" && a.status != 503 {
			t.Errorf("%s cancels and hears %v", name(i), a)
		}
	}
	o.cache.DropReplies(0)
	if o.cache.Cuts() == cuts {
		t.Error("no answer was swallowed")
	}
	for i, id := range ids[:5] {
		if a := o.cancel(name(i), id); a.state() != "CANCELLED" {
			t.Errorf("%s cancels again and hears %v", name(i), a)
		}
	}
	o.repaired()
	o.haveRows(11, "UNPAID")
	if n := o.left(); n != 1000-11 {
		t.Errorf("%d units left, want %d", n, 1000-11)
	}
	o.proves(11)
}

// What MySQL has decided reaches Redis though Redis loses, refuses or ignores the calls that say so.
func TestAcknowledgementsAndReleasesArriveInTheEnd(t *testing.T) {
	t.Parallel()
	whole := newStage(t)
	for _, f := range []struct {
		point, mode string
		every       int
	}{
		{"redis.ack", "lose-answer", 1},
		{"redis.ack", "refuse", 1},
		{"redis.ack", "hang", 1},
		{"redis.release", "lose-answer", 3},
		{"redis.release", "lose-answer", 1},
		{"redis.release", "refuse", 1},
		{"redis.release", "hang", 1},
	} {
		t.Run(fmt.Sprintf("%s %s, every %d", f.point, f.mode, f.every), func(t *testing.T) {
			s := whole.on(t)
			defer s.cleanUp()
			o := s.sell(terms{})
			s.fault(f.point, f.mode, f.every)
			o.sellTo(6, named("buyer"))
			o.haveRows(6, "UNPAID")
			inParallel(3, func(i int) {
				p := o.promises[i]
				if a := o.cancel(p.UserID, p.OrderID.String()); a.state() != "CANCELLED" {
					t.Errorf("cancelling: %v", a)
				}
			})
			s.eventually("the fault has struck", func() (bool, string) { return s.hits(f.point) > 0, "" })
			s.endFaults()
			o.repaired()
			if n := o.left(); n != 1000-3 {
				t.Errorf("%d units left, want 997", n)
			}
			o.proves(3)
		})
	}
}

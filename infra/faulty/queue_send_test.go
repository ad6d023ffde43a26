package faulty

import (
	"fmt"
	"testing"
	"time"
)

// What goes wrong between a reservation and its queue: the unit is taken already, so nobody may be told yes before the queue has
// said so, and nobody may be told no.
func TestAReservationSurvivesEveryFaultOfItsQueue(t *testing.T) {
	t.Parallel()
	whole := newStage(t)
	for name, run := range map[string]func(t *testing.T, o *offer){
		"refused now and then, it is tried once more":      func(t *testing.T, o *offer) { failsNowAndThen(t, o, "refuse", 20) },
		"no answer now and then, it is tried once more":    func(t *testing.T, o *offer) { failsNowAndThen(t, o, "hang", 6) },
		"refused for good, the key continues":              func(t *testing.T, o *offer) { neverAccepted(t, o, "refuse", 0) },
		"never answered, the key continues":                func(t *testing.T, o *offer) { neverAccepted(t, o, "hang", 0) },
		"accepted without an answer, the order comes":      func(t *testing.T, o *offer) { neverAccepted(t, o, "lose-answer", 1) },
		"now and then without an answer, one order per id": answerLostNowAndThen,
		"dropped after yes, the minute pass makes orders":  droppedAfterYes,
		"every message twice, one order per id":            duplicated,
	} {
		t.Run(name, func(t *testing.T) {
			s := whole.on(t)
			defer s.ask("DELETE", "/local/faults", "", "", nil)
			run(t, s.sell(terms{}))
		})
	}
}

func failsNowAndThen(t *testing.T, o *offer, mode string, buyers int) {
	o.fault("queue.send", mode, 3)
	unsure := 0
	for i := range buyers { // one after the other, so that the second attempt is never the third call
		a := o.reserve(named("buyer")(i), "wish", 1)
		if a.status != 202 {
			unsure++
			o.promised(named("buyer")(i), "wish", 1)
		}
	}
	if unsure > buyers/6 { // a machine that is very busy, not the queue, which failed half of them
		t.Errorf("%d buyers of %d heard of the queue's trouble", unsure, buyers)
	}
	o.endFaults()
	o.haveRows(buyers, "UNPAID")
	o.proves(buyers)
}

// neverAccepted has every send fail in a mode in which the queue stores so many copies all the same.
func neverAccepted(t *testing.T, o *offer, mode string, copies int) {
	o.pauseConsumer(true)
	o.fault("queue.send", mode, 1)
	first := o.reserve("buyer", "wish", 2)
	o.unconfirmed(first)
	if first.took > 8*time.Second { // 2.5 s that the code sets itself, with slack
		t.Errorf("the answer took %v", first.took)
	}
	id := first.body.OrderID
	if a := o.read("buyer", id); a.state() != "RESERVED" {
		t.Errorf("the order that was named reads as %v", a)
	}
	if a := o.reserve("buyer", "wish", 2); a.status != 503 || a.body.OrderID != id {
		t.Errorf("the key, while the queue is still broken: %v; want order %s unconfirmed", a, id)
	}
	left := o.reserve("who-left", "wish", 1)
	o.unconfirmed(left)
	if n, stored := o.queueDepth(), copies*o.hits("queue.send"); n != stored {
		t.Errorf("%d messages in the queue, want %d", n, stored)
	}
	if held := o.snapshot(); held.Types[seat].Left != 997 || held.Pending != 2 {
		t.Errorf("left %d, pending %d; want 997 and 2", held.Types[seat].Left, held.Pending)
	}
	o.endFaults()
	if a := o.reserve("buyer", "wish", 2); a.status != 202 || a.body.OrderID != id || a.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the key, when the queue works again: %v; want order %s", a, id)
	}
	o.pauseConsumer(false)
	o.becomes("buyer", id, "UNPAID")
	o.repaired() // who left without asking again has an order too, since a unit was held for him
	o.becomes("who-left", left.body.OrderID, "UNPAID")
	if a := o.reserve("buyer", "wish", 2); a.status != 202 || a.body.OrderID != id || a.state() != "UNPAID" {
		t.Errorf("the key, when there is an order: %v", a)
	}
	o.emptyQueue()
	o.proves(2)
}

func answerLostNowAndThen(t *testing.T, o *offer) {
	o.fault("queue.send", "lose-answer", 3)
	o.sellTo(20, named("buyer"))
	o.endFaults()
	o.haveRows(20, "UNPAID")
	o.emptyQueue()
	o.proves(20)
}

func droppedAfterYes(t *testing.T, o *offer) {
	o.fault("queue.send", "drop", 2)
	o.sellTo(20, named("buyer"))
	o.eventually("the queue is empty, within the grace", func() (bool, string) { return o.queueDepth() == 0, "" })
	made := o.orders("UNPAID")
	if made < 10 || made == 20 {
		t.Errorf("%d orders came by the queue, which drops every second message", made)
	}
	if a := o.compensate(); a.status != 200 || o.orders("") != made {
		t.Errorf("within the grace the minute pass has made orders: %d, %v", o.orders("")-made, a)
	}
	o.endFaults()
	o.repaired()
	o.haveRows(20, "UNPAID")
	if n := o.count("SELECT COUNT(*) FROM trade_order WHERE activity_id = ? AND source = 'SWEEP'", o.id); n != 20-made {
		t.Errorf("the minute pass made %d orders, want %d", n, 20-made)
	}
	o.proves(20)
}

func duplicated(t *testing.T, o *offer) {
	o.pauseConsumer(true)
	o.fault("queue.send", "duplicate", 1)
	o.sellTo(20, named("buyer"))
	if n := o.queueDepth(); n < 40 {
		t.Errorf("%d messages in the queue, want each of 20 twice", n)
	}
	o.endFaults()
	o.pauseConsumer(false)
	o.haveRows(20, "UNPAID")
	o.emptyQueue()
	o.proves(20)
}

// A standard queue may deliver a message again, before or after it was handled, or forget that it was deleted.
func TestADeliveryThatIsRepeatedChangesNothing(t *testing.T) {
	t.Parallel()
	whole := newStage(t)
	for _, f := range []struct {
		point, mode string
		every       int
	}{
		{"queue.receive", "duplicate", 2},
		{"queue.receive", "lose-answer", 2},
		{"queue.receive", "refuse", 2},
		{"queue.delete", "drop", 1},
		{"queue.delete", "refuse", 2},
		{"queue.delete", "lose-answer", 1},
		{"queue.delete", "fail-entry", 1},
	} {
		t.Run(f.point+" "+f.mode, func(t *testing.T) {
			s := whole.on(t)
			defer s.ask("DELETE", "/local/faults", "", "", nil)
			o := s.sell(terms{})
			s.pauseConsumer(true)
			o.sellTo(25, named("buyer"))
			cancelled := o.promises[0]
			if a := o.cancel(cancelled.UserID, cancelled.OrderID.String()); a.state() != "CANCELLED" {
				t.Errorf("cancelling before the message came: %v", a)
			}
			s.fault(f.point, f.mode, f.every)
			s.pauseConsumer(false)
			s.eventually("the fault has struck", func() (bool, string) {
				n := s.hits(f.point)
				return n > 0, fmt.Sprint(n)
			})
			s.endFaults()
			o.emptyQueue() // past the visibility of what has to come again
			o.haveRows(24, "UNPAID")
			o.repaired()
			o.noDeadLetters()
			o.proves(24)
			if n := o.left(); n != 1000-24 {
				t.Errorf("%d units left, want %d", n, 1000-24)
			}
		})
	}
}

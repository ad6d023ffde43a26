package faulty

import (
	"fmt"
	"testing"

	"holdfast/shared/stock"
)

// What the process had taken when it died stands in the log of Redis, and nowhere else.
func TestAProcessThatDiedAfterTakingLosesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.sell(terms{})
	s.pauseConsumer(true) // there is nothing for it to do, as nothing was sent
	takes := func(user, key string) string {
		t.Helper()
		r, err := o.store().Reserve(t.Context(), &o.facts, stock.ReserveRequest{OrderID: o.facts.OrderID(user, key), UserID: user,
			TicketType: seat, Quantity: 2})
		if err != nil || r.Standing != stock.Taken {
			t.Fatalf("taking: %+v, %v", r, err)
		}
		return r.Reservation.OrderID.String()
	}
	gone, back := takes("who-never-asks", "wish"), takes("who-asks-again", "wish")
	for user, id := range map[string]string{"who-never-asks": gone, "who-asks-again": back} {
		if a := o.read(user, id); a.state() != "RESERVED" {
			t.Errorf("%s reads %v", user, a)
		}
	}
	if a := o.read("somebody-else", gone); a.status != 404 {
		t.Errorf("somebody else reads %v", a)
	}
	if a := s.compensate(); a.status != 200 || o.orders("") != 0 {
		t.Errorf("within the grace repair has made %d orders; %v", o.orders(""), a)
	}
	if id := o.promised("who-asks-again", "wish", 2); id != back {
		t.Errorf("the same key names order %s, and the one that died %s", id, back)
	}
	if n := s.queueDepth(); n != 1 {
		t.Errorf("%d messages were sent, want the one of the key that came again", n)
	}
	o.repaired()
	o.becomes("who-never-asks", gone, "UNPAID")
	o.becomes("who-asks-again", back, "UNPAID")
	s.pauseConsumer(false)
	s.emptyQueue()
	if n := o.left(); n != 996 {
		t.Errorf("%d units left, want 996", n)
	}
	o.proves(2)
}

// No instance may remember that a sale was sold out.
func TestWhatComesFreeIsSoldByEveryInstance(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.sell(terms{capacity: 5, buckets: 2})
	for i := range 5 {
		o.promised(fmt.Sprintf("owner-%d", i), "wish", 1)
	}
	o.haveRows(5, "UNPAID")
	crowd := func(round int) (accepted int) {
		for _, a := range o.rush(8, func(i int) string { return fmt.Sprintf("round-%d-%d", round, i) }) {
			switch {
			case a.status == 202:
				accepted++
			case a.status != 409 || a.body.Code != "INSUFFICIENT_STOCK":
				t.Errorf("round %d: %v", round, a)
			}
		}
		return accepted
	}
	if n := crowd(0); n != 0 { // and as many instances as there are callers at once now know
		t.Fatalf("%d units were sold that are not there", n)
	}
	for round := 1; round <= 4; round++ {
		p := o.promises[len(o.promises)-1]
		if a := o.cancel(p.UserID, p.OrderID.String()); a.state() != "CANCELLED" {
			t.Fatalf("round %d, cancelling: %v", round, a)
		}
		if n := crowd(round); n != 1 {
			t.Errorf("round %d: one unit came free, and %d buyers got one", round, n)
		}
	}
	o.haveRows(5, "UNPAID")
	o.repaired()
	o.proves(5)
}

// A cancelled order does not stand in the way of another one, and its key answers it for ever.
func TestWhoHasCancelledMayBuyAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, early := range []bool{true, false} {
		o := s.sell(terms{kind: "VOUCHER", capacity: 10, limit: 1})
		s.pauseConsumer(early) // the first order is cancelled while it is a reservation, or when it has a row
		first := o.promised("buyer", "first", 1)
		if !early {
			o.becomes("buyer", first, "UNPAID")
		}
		if a := o.reserve("buyer", "second", 1); a.body.Code != "ALREADY_RESERVED" || a.body.OrderID != first {
			t.Errorf("a second voucher: %v", a)
		}
		if a := o.cancel("buyer", first); a.state() != "CANCELLED" || a.body.Reason != "USER" {
			t.Errorf("cancelling: %v", a)
		}
		answers := make([]answer, 2)
		inParallel(2, func(i int) { answers[i] = o.reserve("buyer", fmt.Sprintf("again-%d", i), 1) })
		accepted := 0
		for _, a := range answers {
			if a.status == 202 {
				accepted++
			} else if a.body.Code != "ALREADY_RESERVED" {
				t.Errorf("buying again: %v", a)
			}
		}
		if accepted != 1 {
			t.Errorf("%d of two wishes at once were accepted, want 1", accepted)
		}
		s.pauseConsumer(false)
		o.haveRows(1, "UNPAID")
		if a := o.reserve("buyer", "first", 1); a.status != 202 || a.body.OrderID != first || a.state() != "CANCELLED" {
			t.Errorf("the key of the cancelled order: %v", a)
		}
		o.becomes("buyer", first, "CANCELLED")
		o.repaired()
		s.emptyQueue()
		o.proves(1)
	}
}

// A refusal is not remembered, a failure even less; an acceptance is, whatever becomes of the order.
func TestAKeyGoesOnAfterAFailureAndARefusal(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.sell(terms{capacity: 1, buckets: 1, limit: 1})
	s.fault("redis.reserve", "refuse", 1)
	s.busy(o.reserve("owner", "wish", 1), "STOCK_STORE_UNAVAILABLE")
	s.endFaults()
	first := o.promised("owner", "wish", 1)
	for range 2 {
		if a := o.reserve("next", "wish", 1); a.status != 409 || a.body.Code != "INSUFFICIENT_STOCK" {
			t.Errorf("sold out: %v", a)
		}
	}
	if a := o.cancel("owner", first); a.state() != "CANCELLED" {
		t.Errorf("cancelling: %v", a)
	}
	second := o.promised("next", "wish", 1)
	for range 2 {
		if a := o.reserve("next", "wish", 1); a.status != 202 || a.body.OrderID != second || a.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("the same key: %v; want order %s", a, second)
		}
	}
	o.becomes("next", second, "UNPAID")
	if a := o.cancel("next", second); a.state() != "CANCELLED" {
		t.Errorf("cancelling: %v", a)
	}
	for range 2 { // also after a unit has come free
		if a := o.reserve("next", "wish", 1); a.status != 202 || a.body.OrderID != second || a.state() != "CANCELLED" {
			t.Errorf("the same key: %v; want order %s", a, second)
		}
	}
	o.repaired()
	o.proves(0)
}

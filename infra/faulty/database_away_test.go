package faulty

import (
	"fmt"
	"testing"
	"time"

	"holdfast/shared/testenv"
)

// The sale goes on for ten minutes of the clock while its database is dead. create-orders is woken again and again meanwhile; none of
// that may use up a message or cancel anybody.
func TestOrdersAppearWhenADatabaseThatDiedForTenMinutesIsBack(t *testing.T) {
	t.Parallel()
	mariadb := testenv.OwnMariaDB(t)
	s := newStageOn(t, mariadb.DSN)
	o := s.sell(terms{capacity: 1000})
	early := o.promised("early", "wish", 2)
	o.becomes("early", early, "UNPAID")
	mariadb.Kill()
	const minutes, buyers = 10, 15
	for minute := range minutes {
		name := named(fmt.Sprintf("minute-%d", minute))
		o.sellTo(buyers, name)
		if again := o.reserve(name(0), "wish", 1); again.status != 202 || again.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("a repeated tap heard %v", again)
		}
		if a := o.read(name(0), o.promises[len(o.promises)-1].OrderID.String()); a.state() != "RESERVED" && a.status != 503 {
			t.Errorf("a buyer who asked for the order heard %v", a)
		}
		if a := o.compensate(); a.status == 200 {
			t.Errorf("repair claims to have done its work without a database: %v", a)
		}
		o.advance(time.Minute)
	}
	if o.queueDepth() == 0 {
		t.Error("no message waits for the database")
	}
	if err := mariadb.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.eventually("all orders are there", func() (bool, string) {
		o.advance(time.Minute) // messages that were sent again wait up to so long
		n := o.orders("UNPAID")
		return n == minutes*buyers+1, fmt.Sprint(n)
	})
	o.repaired()
	o.emptyQueue()
	if n := o.orders("CANCELLED"); n != 0 {
		t.Errorf("%d orders were cancelled", n)
	}
	o.noDeadLetters()
	o.proves(minutes*buyers + 1)
}

// emptyQueue waits until every message has been handled, moving the clock past delays and visibility.
func (s *stage) emptyQueue() {
	s.t.Helper()
	s.eventually("the queue is empty", func() (bool, string) {
		n := s.queueDepth()
		if n > 0 {
			s.advance(time.Minute)
			time.Sleep(200 * time.Millisecond)
		}
		return n == 0, fmt.Sprintf("%d messages", n)
	})
}

// A batch that a dead database left over is sent again, and of that batch the queue takes a part only.
func TestMessagesThatTheQueueTakesBackInPartAllBecomeOrders(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.sell(terms{})
	s.pauseConsumer(true)
	o.sellTo(40, named("buyer"))
	s.database.Down()
	s.fault("queue.send", "fail-entry", 1)
	s.pauseConsumer(false)
	s.eventually("messages are sent again and some are refused", func() (bool, string) {
		d, hits := s.depth(), s.hits("queue.send")
		return hits >= 4 && d.Delayed > 0 && d.InFlight > 0, fmt.Sprintf("%d times, %+v", hits, d)
	})
	s.endFaults()
	s.database.Up()
	o.eventually("all orders are there", func() (bool, string) {
		o.advance(time.Minute)
		n := o.orders("UNPAID")
		return n == 40, fmt.Sprint(n)
	})
	o.repaired()
	o.emptyQueue()
	o.noDeadLetters()
	o.proves(40)
}

// A database that takes forty seconds for each answer costs its callers a 503 long before the gateway gives up at 29 s; who only
// reserves does not notice. Every key continues afterwards.
func TestASlowDatabaseIsAnsweredForInTimeAndEveryKeyContinues(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.sell(terms{})
	bought := o.promised("buyer", "wish", 1)
	regretted := o.promised("regretful", "wish", 1)
	o.becomes("buyer", bought, "UNPAID")
	o.becomes("regretful", regretted, "UNPAID")
	o.nothingPending()
	// Without the cached orders even a replay has to ask the database.
	for _, id := range []string{bought, regretted} {
		if err := s.keys.Del(t.Context(), "hf:{"+o.id+"}:order:"+id).Err(); err != nil {
			t.Fatal(err)
		}
	}
	s.database.Delay(40 * time.Second)
	calls := []func() answer{
		func() answer { return o.reserve("buyer", "wish", 1) },
		func() answer { return o.cancel("regretful", regretted) },
		func() answer { return o.read("buyer", bought) },
		func() answer { return s.ask("GET", "/v1/orders", s.token("buyer"), "", nil) },
		func() answer { return s.ask("GET", "/v1/health", "", "", nil) },
		func() answer { // a sale that Redis does not know may be one that got lost
			return s.ask("POST", "/v1/activities/unknown/reservations", s.token("buyer"), "other", map[string]any{"ticketType": seat, "quantity": 1})
		},
		func() answer { return s.ask("GET", "/ops/v1/activities/"+o.id, s.operator, "", nil) },
	}
	answers := make([]answer, len(calls))
	inParallel(len(calls), func(i int) { answers[i] = calls[i]() })
	for i, a := range answers {
		if a.status != 503 || a.header.Get("Retry-After") == "" || a.took >= 29*time.Second {
			t.Errorf("call %d: %v after %v; want a 503 of the function's own", i, a, a.took)
		}
	}
	late := o.promised("late", "wish", 1)
	s.database.Delay(0)
	if a := o.reserve("buyer", "wish", 1); a.status != 202 || a.body.OrderID != bought || a.state() != "UNPAID" {
		t.Errorf("the buyer's key answers %v; want order %s", a, bought)
	}
	if a := o.cancel("regretful", regretted); a.status != 200 || a.state() != "CANCELLED" {
		t.Errorf("the cancellation's key answers %v", a)
	}
	o.advance(time.Minute)
	o.becomes("late", late, "UNPAID")
	o.repaired()
	o.proves(2)
}

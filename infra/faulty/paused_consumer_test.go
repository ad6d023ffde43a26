package faulty

import (
	"fmt"
	"testing"
	"time"
)

// For half an hour of the clock nobody takes the messages of ten thousand reservations. The minute pass makes the orders instead, by
// the same transaction, so that the consumer finds most of its work done when it is back, and cancels nobody.
func TestAPausedConsumerCancelsNobody(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const rounds, users, wishes = 10, 100, 10
	const total = rounds * users * wishes
	o := s.sell(terms{capacity: total, buckets: 8, limit: rounds * wishes})
	s.pauseConsumer(true)
	for round := range rounds {
		refused := make([]answer, users*wishes)
		inParallel(users*wishes, func(i int) {
			user, key := fmt.Sprintf("user-%d", i%users), fmt.Sprintf("wish-%d-%d", round, i/users)
			if a := o.insist(user, key, 1); a.status != 202 {
				refused[i] = a
			}
		})
		for i, a := range refused {
			if a.text != "" {
				t.Fatalf("round %d, wish %d: %v", round, i, a)
			}
		}
		if round < rounds-1 {
			o.advance(30 * time.Minute / (rounds - 1)) // the minute pass is due, and runs
		}
	}
	swept := total - users*wishes // the last round is younger than the grace, unless the machine is very slow
	s.eventually("the minute pass has made the orders of all but the last round", func() (bool, string) {
		a := s.compensate()
		n := o.orders("")
		return n >= swept, fmt.Sprintf("%d of %d, %v", n, swept, a)
	})
	if n := s.queueDepth(); n < total {
		t.Errorf("%d messages wait for the consumer, want at least %d", n, total)
	}
	s.pauseConsumer(false)
	o.haveRows(total, "UNPAID")
	o.nothingPending()
	o.emptyQueue()
	if n := o.orders("CANCELLED"); n != 0 {
		t.Errorf("%d orders are CANCELLED", n)
	}
	if n := o.count("SELECT COUNT(*) FROM trade_order WHERE activity_id = ? AND source = 'SWEEP'", o.id); n < swept {
		t.Errorf("the minute pass made %d orders, want at least %d", n, swept)
	}
	o.noDeadLetters()
	o.proves(total)
	if a := o.reserve("one-more", "wish", 1); a.status != 409 || a.body.Code != "INSUFFICIENT_STOCK" {
		t.Errorf("one more than there are: %v", a)
	}
}

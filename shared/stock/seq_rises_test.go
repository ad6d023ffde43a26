package stock

import (
	"testing"
	"time"

	"holdfast/shared/testenv"
)

// After a failover, or when somebody sets the clock, TIME may lie behind the last movement. Every script that moves stock must count on
// from there.
func TestSeqRisesWhileTheClockGoesBack(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 10, 10)
	ahead := time.Hour
	s.store = New(s.rdb, func() time.Duration { return ahead })
	s.rules.ClosesAt, s.rules.Version = s.rules.ClosesAt.Add(48*time.Hour), 2
	if _, err := s.store.ChangeRules(s.ctx(), s.id(), s.rules); err != nil {
		t.Fatal(err)
	}
	first := s.take("u1", "k", 1)
	ahead = 0
	last := s.snapshot().Seq
	rises := func(what string) {
		t.Helper()
		if now := s.snapshot().Seq; now <= last {
			t.Errorf("%s: seq %d after %d", what, now, last)
		} else {
			last = now
		}
	}
	second := s.take("u2", "k", 1)
	if second.Seq <= first.Seq {
		t.Errorf("taken at %d after %d", second.Seq, first.Seq)
	}
	rises("reserve")
	s.release(second)
	rises("release")
	lost := s.take("u3", "k", 1)
	rises("reserve")
	lost.OrderID = s.facts.OrderID("u3", "another")
	s.ack(lost)
	rises("adopting")
	if _, err := s.store.AdjustStock(s.ctx(), s.facts, Adjustment{ID: "more", TicketType: standard, Delta: 3}); err != nil {
		t.Fatal(err)
	}
	rises("adjusting")
	s.must(s.store.UndoAdjustment(s.ctx(), s.id(), "more"))
	rises("undoing")
	s.begin()
	rises("a load")
}

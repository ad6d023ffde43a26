package stock

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast/shared/sale"
	"holdfast/shared/testenv"
)

// past lists in pages what a pass with this grace takes up.
func (s *testSale) past(grace time.Duration, limit int) []sale.OrderID {
	s.t.Helper()
	var all []sale.OrderID
	for cursor := (PendingCursor{}); ; {
		page, next, err := s.store.PendingBefore(s.ctx(), s.id(), grace, cursor, limit)
		s.must(err)
		if len(page) > limit {
			s.t.Fatalf("a page of %d, want at most %d", len(page), limit)
		}
		if len(page) == 0 {
			return all
		}
		all, cursor = append(all, page...), next
	}
}

// Somebody sets the clock forward for a moment, or a primary whose clock was ahead is replaced. The log goes on counting from there, but
// how long a reservation waits is told by the clock as it is now: no longer than the grace for those taken since, and not until the old
// time comes round again for those taken then.
func TestPendingEntriesAgeThoughTheClockWasAhead(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 1, 50)
	var ahead time.Duration
	s.store = New(s.rdb, func() time.Duration { return ahead })
	s.rules.ClosesAt, s.rules.Version = s.rules.ClosesAt.Add(48*time.Hour), 2
	if _, err := s.store.ChangeRules(s.ctx(), s.id(), s.rules); err != nil {
		t.Fatal(err)
	}
	take := func(name string, n int) (ids []sale.OrderID) {
		for i := range n {
			ids = append(ids, s.take(fmt.Sprint(name, i), "k", 1).OrderID)
		}
		return ids
	}
	ahead = time.Hour
	then := take("then", 5)
	ahead = 0
	since := take("since", 5)
	want := func(when string, want []sale.OrderID) {
		t.Helper()
		for _, limit := range []int{1, 3, 100} {
			if got := s.past(time.Minute, limit); !slices.Equal(got, want) {
				t.Errorf("%s, in pages of %d: %v, want %v", when, limit, got, want)
			}
		}
	}
	want("at once", then)
	ahead = 59 * time.Second
	want("a second before the grace has passed", then)
	ahead = 61 * time.Second
	want("past the grace", slices.Concat(since, then))
	if got := s.past(0, 4); !slices.Equal(got, slices.Concat(since, then)) {
		t.Errorf("without a grace: %v", got)
	}
	ahead = time.Hour + 61*time.Second
	want("when the old time has come round", slices.Concat(since, then))
	s.holds()
}

// A clock that is put right by less than the grace makes nothing look left behind that is on its way.
func TestSmallStepOfTheClockLeavesPendingEntriesTheirGrace(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 1, 50)
	var ahead time.Duration
	s.store = New(s.rdb, func() time.Duration { return ahead })
	ahead = 50 * time.Second
	id := s.take("u", "k", 1).OrderID
	ahead = 0
	if got := s.past(time.Minute, 9); len(got) != 0 {
		t.Errorf("listed at once: %v", got)
	}
	ahead = 111 * time.Second
	if got := s.past(time.Minute, 9); !slices.Equal(got, []sale.OrderID{id}) {
		t.Errorf("past the grace by its own stamp: %v", got)
	}
}

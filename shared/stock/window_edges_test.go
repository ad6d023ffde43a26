package stock

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast/shared/testenv"
)

// Buyers call without pause while the clock crosses an edge of the window, again and again. Whoever calls at the edge or later is behind
// it, and whoever was answered before it is not; no millisecond belongs to both sides.
func TestWindowIsKeptToTheMillisecond(t *testing.T) {
	t.Parallel()
	const crossings, around = 30, 3 * time.Millisecond
	s := draftSale(t, testenv.Redis(t), testenv.ActivityID(t), 1, 100_000)
	s.rules.OpensAt = time.Now().Add(48 * time.Hour).Truncate(time.Second)
	s.rules.ClosesAt = s.rules.OpensAt.Add(time.Hour)
	s.open()
	var offset time.Duration
	s.store = New(s.rdb, func() time.Duration { return offset })
	for _, edge := range []struct {
		at            time.Time
		before, after error
	}{{s.rules.OpensAt, ErrNotStarted, nil}, {s.rules.ClosesAt, nil, ErrEnded}} {
		sides := [2]int{}
		for crossing := range crossings {
			offset = (time.Until(edge.at) - around).Truncate(time.Millisecond)
			for call, begun := 0, time.Now(); time.Since(begun) < 2*around; call++ {
				asked := time.Now().Add(offset)
				_, err := s.reserve(s.wish(fmt.Sprintf("%v-%d-%d", edge.at, crossing, call), "k", 1))
				answered := time.Now().Add(offset)
				switch {
				case answered.Before(edge.at):
					sides[0]++
					if !errors.Is(err, edge.before) {
						t.Errorf("answered %v before the edge: %v, want %v", edge.at.Sub(answered), err, edge.before)
					}
				case !asked.Before(edge.at):
					sides[1]++
					if !errors.Is(err, edge.after) {
						t.Errorf("asked %v after the edge: %v, want %v", asked.Sub(edge.at), err, edge.after)
					}
				}
			}
		}
		if sides[0] == 0 || sides[1] == 0 {
			t.Errorf("%d calls before the edge and %d after it: one side was never seen", sides[0], sides[1])
		}
	}
}

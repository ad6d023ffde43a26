package timeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// stockHistory is how many units were left over time, by the log in Redis.
type stockHistory struct {
	activity *sale.Activity
	movement []stock.Movement // by seq
	rebuilt  bool             // the log was built from MySQL, and begins at since
	since    time.Time
	types    []*typeHistory // as the activity lists them
}

// typeHistory is one ticket type's.
type typeHistory struct {
	ticketType string
	left       int
	gone       []span // times at which nothing was left
	freed      int    // units that came free after the first time that nothing was left
}

// span is from when to when; an end that is zero has not come.
type span struct{ from, to time.Time }

// logPage is how much of the log one call reads.
const logPage = 1000

// read reads the log up to the seq of a snapshot and plays it. It returns stock.ErrNotLoaded for a set that is not open.
func (s *stockHistory) read(ctx context.Context, st *stock.Store) error {
	facts := s.activity.Facts()
	snapshot, err := st.Snapshot(ctx, &facts)
	if err != nil {
		return err
	}
	if snapshot.State != stock.Open {
		return stock.ErrNotLoaded
	}
	seen := make(map[int64]bool) // every movement has a seq of its own
	for cursor := uint64(0); ; {
		page, err := st.Log(ctx, s.activity.ID, cursor, logPage)
		if err != nil {
			return err
		}
		for _, m := range page.Movements {
			if m.Seq <= snapshot.Seq && !seen[m.Seq] {
				seen[m.Seq] = true
				s.movement = append(s.movement, m)
			}
		}
		if cursor = page.Next; cursor == 0 {
			break
		}
	}
	slices.SortFunc(s.movement, func(a, b stock.Movement) int { return cmp.Compare(a.Seq, b.Seq) })
	s.play(snapshot.Epoch)
	return nil
}

// play goes through the movements. A set of a later epoch than the first was built at its first movements, from what MySQL had: while they
// were written nobody could buy, and what was left after each of them was never true.
func (s *stockHistory) play(epoch int64) {
	byID := make(map[string]*typeHistory)
	for _, t := range s.activity.TicketTypes {
		h := &typeHistory{ticketType: t.ID, left: t.Capacity}
		s.types, byID[t.ID] = append(s.types, h), h
	}
	taken := make(map[sale.OrderID]string)
	rest := s.movement
	for s.rebuilt = epoch > 1; s.rebuilt && len(rest) > 0 && isAdopted(rest[0]); rest = rest[1:] {
		h, units := change(rest[0], byID, taken)
		if h != nil {
			h.left += units
		}
		s.since = rest[0].At()
	}
	for _, h := range s.types {
		if h.left <= 0 {
			h.gone = append(h.gone, span{from: s.since})
		}
	}
	for _, m := range rest {
		if h, units := change(m, byID, taken); h != nil {
			h.move(units, m.At())
		}
	}
}

// isAdopted says whether a movement may be one that a load writes.
func isAdopted(m stock.Movement) bool {
	return m.Kind == stock.KindTaken && m.Before < 0 || m.Kind == stock.KindMarked || m.Kind == stock.KindAdjusted
}

// change says by how many units which type changes; nil for a movement that changes none.
func change(m stock.Movement, byID map[string]*typeHistory, taken map[sale.OrderID]string) (*typeHistory, int) {
	switch m.Kind {
	case stock.KindTaken:
		taken[m.OrderID] = m.Type
		return byID[m.Type], -m.Quantity
	case stock.KindDead:
		return byID[taken[m.OrderID]], m.Quantity
	case stock.KindAdjusted:
		return byID[m.Type], m.Split.Delta()
	case stock.KindUndone:
		return byID[m.Type], -m.Split.Delta()
	}
	return nil, 0
}

// move applies a movement.
func (h *typeHistory) move(units int, at time.Time) {
	h.left += units
	open := len(h.gone) > 0 && h.gone[len(h.gone)-1].to.IsZero()
	switch {
	case h.left <= 0 && !open:
		h.gone = append(h.gone, span{from: at})
	case h.left > 0 && open:
		h.gone[len(h.gone)-1].to = at
	}
	if units > 0 && len(h.gone) > 0 {
		h.freed += units
	}
}

// maxSpans bounds how many changes of one type are told one by one.
const maxSpans = 10

// events tells when a sale ran out and when units came free.
func (s *stockHistory) events() []Event {
	var events []Event
	if !s.since.IsZero() {
		events = append(events, Event{s.since, Redis, "Redis was loaded anew from MySQL; its log begins here."})
	}
	for _, h := range s.types {
		for i, gone := range h.gone {
			if i == maxSpans {
				events = append(events, Event{gone.from, Redis,
					fmt.Sprintf("From here on %s ran out and came free %d more times.", h.ticketType, len(h.gone)-maxSpans)})
				break
			}
			events = append(events, Event{gone.from, Redis, fmt.Sprintf("The last units of %s were taken: from now on everybody was refused as sold out.", h.ticketType)})
			if !gone.to.IsZero() {
				events = append(events, Event{gone.to, Redis, fmt.Sprintf("Units of %s came free and could be had by whoever asked first.", h.ticketType)})
			}
		}
	}
	return events
}

// summary says in sentences what events lists.
func (s *stockHistory) summary() string {
	var said []string
	for _, h := range s.types {
		switch {
		case len(h.gone) == 0:
			said = append(said, fmt.Sprintf("%s was never sold out; %d are left.", h.ticketType, h.left))
		case h.freed == 0:
			said = append(said, fmt.Sprintf("%s was sold out at %s, and no unit came free since.", h.ticketType, when(h.gone[0].from)))
		default:
			said = append(said, fmt.Sprintf("%s was first sold out at %s; %s came free since, and %d are left now.", h.ticketType, when(h.gone[0].from), units(h.freed), max(h.left, 0)))
		}
	}
	return strings.Join(said, " ")
}

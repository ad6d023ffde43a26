package invariant

import (
	"fmt"
	"sync"

	"holdfast/shared/order"
	"holdfast/shared/sale"
)

// States records the states in which orders were seen and finds the steps that the diagram of package order does not have. Between two
// sightings an order may have gone several steps. The zero value is ready for use, by many goroutines; whoever reads a store and
// calls Observe for what it read must not let an older reading come after a newer one of the same order.
type States struct {
	mu     sync.Mutex
	last   map[sale.OrderID]order.Status
	broken []string
}

// Observe notes a state; "" is that no row was found. RESERVED and "" mean the same here: Redis may forget a reservation that MySQL
// has never heard of, while a row stays for ever.
func (s *States) Observe(id sale.OrderID, status order.Status) {
	if status == "" {
		status = order.Reserved
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = make(map[sale.OrderID]order.Status)
	}
	before, seen := s.last[id]
	if !seen {
		before = order.Reserved
	}
	if status != before && !reaches(before, status) {
		s.broken = append(s.broken, fmt.Sprintf("order %s was %s and then %s", id, before, status))
		return // one step is reported once, and what follows is judged by the last lawful state
	}
	s.last[id] = status
}

// reaches says whether some steps of the diagram lead from one state to the other.
func reaches(from, to order.Status) bool {
	for _, next := range []order.Status{order.Unpaid, order.Paid, order.Cancelled} {
		if from.CanBecome(next) && (next == to || reaches(next, to)) {
			return true
		}
	}
	return false
}

// Broken lists the steps that should not be, a sentence each, in the order in which they were seen.
func (s *States) Broken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.broken...)
}

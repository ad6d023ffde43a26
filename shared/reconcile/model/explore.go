package model

import "fmt"

// Result is what a walk through all states found.
type Result struct {
	States    int
	Settled   int // distinct states of the stores from which settling was tried
	Violation string
	Trace     []string // the steps that lead to the violation, none longer than needed
}

// origin is how a state was first reached.
type origin struct {
	from    int32
	who, id uint8
	what    string
}

// Explore walks breadth-first through every state that the scenario can reach under the rules and stops at the first violation,
// which no shorter way leads to.
func Explore(sc Scenario, r Rules) Result {
	first := initial(&sc)
	seen := map[state]struct{}{first: {}}
	states, origins := []state{first}, []origin{{from: -1}}
	settled := make(map[stores]struct{})
	for i := 0; i < len(states); i++ {
		s := states[i]
		wrong := settles(&r, s.stores, settled)
		last := i
		if wrong == "" {
			walk(&sc, &r, s, func(who, id uint8, what string, next state) {
				if _, known := seen[next]; known || wrong != "" {
					return
				}
				seen[next] = struct{}{}
				states, origins = append(states, next), append(origins, origin{int32(i), who, id, what})
				if wrong = breaks(&s, &next); wrong != "" {
					last = len(states) - 1
				}
			})
		}
		if wrong != "" {
			return Result{States: len(states), Settled: len(settled), Violation: wrong, Trace: trace(origins, last)}
		}
	}
	return Result{States: len(states), Settled: len(settled)}
}

func trace(origins []origin, last int) []string {
	var steps []string
	for i := int32(last); i > 0; i = origins[i].from {
		o := origins[i]
		steps = append([]string{fmt.Sprintf("%s %s (order %d)", actorNames[o.who], o.what, o.id+1)}, steps...)
	}
	return steps
}

// breaks says which rule a step breaks; "" for none.
func breaks(from, to *state) string {
	if to.sql.sold() > 1 {
		return "MySQL has sold one unit twice"
	}
	sameLife := from.redis.epoch == to.redis.epoch && from.faulted == to.faulted
	left := int8(1)
	for id := range ids {
		e := to.redis.entries[id]
		if e == taken {
			left--
		}
		switch {
		case from.sql.rows[id] == cancelled && to.sql.rows[id] != cancelled:
			return "a CANCELLED row lives again"
		case sameLife && from.redis.entries[id] > taken && e <= taken:
			return "an id that is dead in the log lives again"
		case e > taken && to.sql.rows[id] != cancelled:
			return "the log has an id as dead without a committed CANCELLED row"
		case e == taken && !to.redis.pending[id] && to.sql.rows[id] == noRow:
			return "the log has an id as acknowledged without a row"
		case !from.redis.isOpen && to.redis.isOpen && from.redis.epoch == to.redis.epoch && to.redis.atBegin[id] == live && e == unknown:
			return "a set opens without an order that was live when its load began"
		}
	}
	if to.redis.epoch != 0 && to.redis.left != left {
		return "the units left are not what the log adds up to"
	}
	return ""
}

// settleRounds is more than any repair takes.
const settleRounds = 6

// settles lets all actors die and the schedules run, and says what is not mended then; "" when all is.
func settles(r *Rules, s stores, seen map[stores]struct{}) string {
	for range settleRounds {
		if _, known := seen[s]; known {
			return ""
		}
		before := s
		seen[before] = struct{}{}
		settle(r, &s)
		if s == before {
			return s.unmended()
		}
	}
	return "repair never comes to rest"
}

// settle is one round of what runs by itself: loading, the queue, layer 2 and layer 3.
func settle(r *Rules, s *stores) {
	if !s.redis.isOpen || s.redis.epoch != s.sql.epoch {
		s.sql.epoch++
		s.redis.begin(s.sql.epoch, s.sql.rows)
		s.redis.adopt(r, s.sql.epoch, s.sql.rows)
		s.redis.open(r, s.sql.epoch)
	}
	for id := range uint8(ids) {
		if s.queue[id] {
			s.tell(r, id, s.sql.claim(r, id))
			s.queue[id] = false
		}
		if s.redis.pending[id] {
			s.tell(r, id, s.sql.claim(r, id))
		}
		if s.sql.rows[id] == cancelled && !s.sql.released[id] {
			s.tell(r, id, cancelled)
		}
		s.tell(r, id, pair(r, s.redis.entries[id], s.sql.rows[id]))
	}
}

func (s *stores) tell(r *Rules, id uint8, w row) {
	switch w {
	case live:
		s.redis.ack(r, id)
	case cancelled:
		s.sql.released[id] = s.redis.release(r, id) && s.sql.rows[id] == cancelled
	}
}

// unmended says what is wrong in stores that nothing works on any more; "" for nothing.
func (s *stores) unmended() string {
	for id := range ids {
		e, w := s.redis.entries[id], s.sql.rows[id]
		switch {
		case s.promised[id] && w == noRow:
			return "a 202 is lost: both stores have forgotten the order"
		case (e == taken) != (w == live):
			return fmt.Sprintf("at rest the stores disagree about an order: log %d, row %d", e, w)
		case s.redis.pending[id]:
			return "at rest a reservation is still pending"
		case w == cancelled && !s.sql.released[id]:
			return "at rest a release is not recorded"
		}
	}
	if s.redis.left != int8(1-s.sql.sold()) {
		return "at rest Redis does not offer what MySQL has left"
	}
	return ""
}

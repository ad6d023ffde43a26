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
		wrong, last := settles(&sc, &r, s.stores, settled), i
		if wrong == "" {
			walk(&sc, &r, s, func(who, id uint8, what string, next state) {
				if _, known := seen[next]; known || wrong != "" {
					return
				}
				seen[next] = struct{}{}
				states, origins = append(states, next), append(origins, origin{int32(i), who, id, what})
				if wrong = breaks(&sc, &s, &next); wrong != "" {
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
		steps = append([]string{fmt.Sprintf("%s %s (entry %d)", actorNames[o.who], o.what, o.id+1)}, steps...)
	}
	return steps
}

// breaks says which rule a step breaks; "" for none.
func breaks(sc *Scenario, from, to *state) string {
	if to.wrong != "" {
		return to.wrong
	}
	for t := range uint8(types) {
		if to.sql.sold(sc, t, to.redis.publicFor) > sc.capacity(t) {
			return "MySQL has sold a unit twice"
		}
		units := sc.capacity(t) - to.redis.units(sc, t)
		if to.redis.left[t] != units {
			return "the units left are not what the log adds up to"
		}
	}
	for e := range uint8(entries) {
		was, is := from.sql.entries[e].status, to.sql.entries[e].status
		switch {
		case was >= accepted && is != was:
			return "a final entry changes"
		case was == offered && is != was && is != accepted && is != lapsed:
			return "an offer ends otherwise than accepted or lapsed"
		}
		for n := range attempts {
			row := to.sql.orders[e][n]
			if from.sql.orders[e][n] == cancelled && row != cancelled {
				return "a CANCELLED row lives again"
			}
			if to.redis.log[e][n] == dead && row != cancelled {
				return "the log has an order id as dead without a committed CANCELLED row"
			}
			if row == live && (is != offered && is != accepted || to.sql.entries[e].order != uint8(n)+1) {
				return "a live order was offered to nobody"
			}
		}
		if is == offered && to.sql.orders[e][to.sql.entries[e].order-1] != live {
			return "an entry is OFFERED an order that is dead"
		}
	}
	return ""
}

// settleRounds is more than any repair takes.
const settleRounds = 16

// settles lets all actors die and the schedules run, and says what is not mended then; "" when all is.
func settles(sc *Scenario, r *Rules, s stores, seen map[stores]struct{}) string {
	for range settleRounds {
		if _, known := seen[s]; known {
			return ""
		}
		before := s
		seen[before] = struct{}{}
		settle(sc, r, &s)
		if s == before {
			return s.unmended(sc)
		}
	}
	return "repair never comes to rest"
}

// settle is one round of what runs by itself, long enough for every time to pass: repair, the minute pass, a filler for each type.
func settle(sc *Scenario, r *Rules, s *stores) {
	w := state{stores: *s}
	for h := range uint8(holders) {
		mendHeld(sc, &w.stores, h)
	}
	for e := range uint8(entries) {
		if w.sql.entries[e].saving == now {
			w.sql.entries[e].saving = over
		}
		for n := range uint8(attempts) {
			mend(sc, r, &w, e, n)
			mend(sc, r, &w, e, n)
		}
	}
	for step := 0; step < 5; step++ {
		stepPasser(r, w, func(_, _ uint8, _ string, next state) { w = next })
	}
	for t := range uint8(types) {
		f := actor{at: walking, kind: t, free: w.redis.left[t]}
		for w.actors[firstFiller] = f; w.actors[firstFiller].at != idle; {
			moved := false
			stepFiller(sc, r, w, firstFiller, func(_, _ uint8, what string, next state) {
				if what != "crashes" {
					w, moved = next, true
				}
			})
			if !moved {
				break
			}
		}
		w.actors[firstFiller] = actor{}
	}
	*s = w.stores
}

// unmended says what is wrong in stores that nothing works on any more; "" for nothing.
func (s *stores) unmended(sc *Scenario) string {
	for e := range uint8(entries) {
		w := &s.sql.entries[e]
		if s.redis.waiters[e] != (w.status == waiting) {
			return "at rest the set is not those who wait"
		}
		if w.status == waiting && sc.wants(e) <= s.redis.left[sc.typeOf(e)] {
			return "somebody waits for ever though the units are there"
		}
		for n := range attempts {
			switch k := s.redis.log[e][n]; {
			case s.sql.orphans[e][n]:
				return "an offer's units became an order that nobody asked for"
			case k == pending:
				return "at rest a reservation is still pending"
			case (k == taken) != (s.sql.orders[e][n] == live):
				return "at rest the stores disagree about an order"
			}
		}
	}
	return ""
}

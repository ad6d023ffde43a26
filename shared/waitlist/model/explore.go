package model

import "holdfast/shared/modelcheck"

// Explore walks through every state that the scenario can reach under the rules and stops at the first violation.
func Explore(sc Scenario, r Rules) modelcheck.Result {
	return modelcheck.Explore(&modelcheck.Model[state, stores]{
		First:    initial(&sc),
		Walk:     func(s state, emit func(who, id uint8, what string, next state)) { walk(&sc, &r, s, emit) },
		Breaks:   func(from, to *state) string { return breaks(&sc, from, to) },
		Rest:     func(s *state) stores { return s.stores },
		Settle:   func(s *stores) { settle(&sc, &r, s) },
		Unmended: func(s *stores) string { return s.unmended(&sc) },
		Rounds:   settleRounds, Actors: actorNames[:], Subject: "entry",
	})
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
		if (is == left || is == closed) && to.redis.waiters[e] && !to.lost && !to.underWay() {
			return "the set has an entry that has ended, and nobody but the next pass will take it out"
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
	for begun := false; !begun || w.actors[passer].at != 0; begun = true {
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

package model

import (
	"fmt"

	"holdfast/shared/modelcheck"
)

// Explore walks through every state that the scenario can reach under the rules and stops at the first violation.
func Explore(sc Scenario, r Rules) modelcheck.Result {
	return modelcheck.Explore(&modelcheck.Model[state, stores]{
		First:    initial(&sc),
		Walk:     func(s state, emit func(who, id uint8, what string, next state)) { walk(&sc, &r, s, emit) },
		Breaks:   breaks,
		Rest:     func(s *state) stores { return s.stores },
		Settle:   func(s *stores) { settle(&r, s) },
		Unmended: (*stores).unmended,
		Rounds:   settleRounds, Actors: actorNames[:], Subject: "order",
	})
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

package model

// shut says whether anybody waits, in the eyes of Redis, so that the public of a type is shut out.
func (s *set) shut(sc *Scenario, r *Rules, t uint8) bool {
	for e := range uint8(entries) {
		if s.waiters[e] && (sc.typeOf(e) == t || !r.SetPerType) {
			return true
		}
	}
	return false
}

// gate answers whether the joiner of an entry can buy; if not, the entry is in the set.
func (s *set) gate(sc *Scenario, r *Rules, e uint8) (free bool) {
	t := sc.typeOf(e)
	if (!s.shut(sc, r, t) || !r.GateAsksWhoWaits && !s.waiters[e]) && s.left[t] >= sc.wants(e) {
		return true
	}
	s.waiters[e] = true
	return false
}

// reserve takes the units of an entry's attempt; it answers what the log has of it afterwards, unknown when too few are left.
func (s *set) reserve(sc *Scenario, r *Rules, e, n uint8) known {
	t := sc.typeOf(e)
	if k := s.log[e][n]; k != unknown {
		return k
	}
	if s.left[t] < sc.wants(e) || !r.FillerPassesGate && s.shut(sc, r, t) {
		return unknown
	}
	s.log[e][n] = pending
	s.left[t] -= sc.wants(e)
	return pending
}

// release gives back what an attempt took; an id that is unknown is marked dead.
func (s *set) release(sc *Scenario, e, n uint8) {
	if k := s.log[e][n]; k == pending || k == taken {
		s.left[sc.typeOf(e)] += sc.wants(e)
	}
	s.log[e][n] = dead
}

// insert writes the row of an entry that joins.
func (q *tables) insert(e uint8) { q.entries[e] = entry{status: waiting} }

// tryAgain raises the attempt of an entry that is (WAITING, n).
func (q *tables) tryAgain(r *Rules, e, n uint8) {
	if w := &q.entries[e]; r.AttemptRises && w.status == waiting && w.attempt == n && n+1 < attempts {
		w.attempt++
	}
}

// offer is the transaction that finishes an offer; it answers the row of the order that stands afterwards, and whether it is a new one.
// possible is false beyond the bound of attempts.
func (q *tables) offer(sc *Scenario, r *Rules, e, n, publicFor uint8) (stands row, fresh, possible bool) {
	if q.orders[e][n] != noRow && r.ClaimOnce {
		return q.orders[e][n], false, true
	}
	w := &q.entries[e]
	if (w.status != waiting || w.attempt != n) && r.OfferByCAS {
		return q.bury(r, e, n), true, true
	}
	if q.short(sc, e, publicFor) && r.MySQLGate {
		if n+1 == attempts {
			return noRow, false, false
		}
		stands = q.bury(r, e, n)
		q.tryAgain(r, e, n)
		return stands, true, true
	}
	w.status, w.order = offered, n+1
	q.orders[e][n] = live
	return live, true, true
}

// short says whether MySQL has too few units for an entry.
func (q *tables) short(sc *Scenario, e, publicFor uint8) bool {
	t := sc.typeOf(e)
	return q.sold(sc, t, publicFor)+sc.wants(e) > sc.capacity(t)
}

// bury writes a tombstone.
func (q *tables) bury(r *Rules, e, n uint8) row {
	if r.Tombstone {
		q.orders[e][n] = cancelled
	}
	return cancelled
}

// lapse cancels the order of an offer and ends the entry.
func (q *tables) lapse(e uint8) {
	w := &q.entries[e]
	q.orders[e][w.order-1], w.status = cancelled, lapsed
}

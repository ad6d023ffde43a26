package model

// stepRepair is what the layers of repair do, each whenever it can be done.
func stepRepair(sc *Scenario, r *Rules, s state, emit emitter) {
	for e := range uint8(entries) {
		for n := range uint8(attempts) {
			if next := s; mend(sc, r, &next, e, n) && next != s {
				emit(repair, e, "settles an order", next)
			}
		}
	}
	for h := range uint8(holders) {
		if next := s; mendHeld(sc, &next.stores, h) {
			emit(repair, 0, "settles an order of somebody else", next)
		}
	}
}

// mend does for one order id what its row and its entry in the log call for; it answers false beyond the bound of attempts.
func mend(sc *Scenario, r *Rules, s *state, e, n uint8) bool {
	k := s.redis.log[e][n]
	switch s.sql.orders[e][n] {
	case live:
		if k == pending {
			s.redis.log[e][n] = taken
		}
	case cancelled:
		if k != dead {
			s.redis.release(sc, e, n)
		}
	default:
		switch {
		case k == pending && s.sql.orphans[e][n]:
			s.redis.log[e][n] = taken
		case k == pending && !r.SweepKnowsOffers:
			s.sql.orphans[e][n] = true // an order like any other
		case k == pending:
			stands, fresh, possible := s.sql.offer(sc, r, e, n, s.redis.publicFor)
			if possible && fresh && stands == live {
				countOffer(s, e)
			}
			return possible
		}
	}
	return true
}

// mendHeld releases what was cancelled and adopts what Redis has forgotten.
func mendHeld(sc *Scenario, s *stores, h uint8) bool {
	switch k := s.redis.held[h]; {
	case s.sql.held[h] == cancelled && k == taken:
		s.redis.held[h] = dead
		s.redis.left[sc.holderType(h)]++
	case s.sql.held[h] == cancelled && k == unknown:
		s.redis.held[h] = dead
	case s.sql.held[h] == live && k == unknown:
		s.redis.held[h] = taken
		s.redis.left[sc.holderType(h)]--
	default:
		return false
	}
	return true
}

// stepWorld is what people, time and faults do.
func stepWorld(sc *Scenario, r *Rules, s state, emit emitter) {
	for h := range uint8(holders) {
		if next := s; s.sql.held[h] == live {
			next.sql.held[h] = cancelled
			emit(public, 0, "cancels an order", next)
		}
	}
	for t := range uint8(types) {
		if s.redis.public == unknown && sc.capacity(t) > 0 && s.redis.left[t] > 0 {
			buy(sc, r, s, t, emit)
		}
	}
	for e := range uint8(entries) {
		w := s.sql.entries[e]
		if sc.Lapses && w.status == offered {
			next := s
			next.sql.lapse(e)
			emit(public, e, "lets the offer lapse", next)
			next = s
			next.sql.entries[e].status = accepted
			emit(public, e, "accepts the offer", next)
		}
		if next := s; w.saving == now {
			next.sql.entries[e].saving = over
			emit(repair, e, "has been saved up for long enough", next)
		}
	}
	if !sc.Failover || s.faulted {
		return
	}
	next := s
	if next.replica, next.copied = s.redis.waiters, true; !s.copied {
		emit(fault, 0, "the replica copies", next)
	} else {
		next = s
		next.redis.waiters, next.replica, next.faulted, next.lost = s.replica, [entries]bool{}, true, true
		emit(fault, 0, "the replica takes over", next)
	}
}

// buy is a public buyer, all the way to the row; who is refused comes again.
func buy(sc *Scenario, r *Rules, s state, t uint8, emit emitter) {
	if s.redis.shut(sc, r, t) && r.PublicIsShutOut {
		others := true
		for e := range uint8(entries) {
			others = others && (sc.typeOf(e) != t || !s.redis.waiters[e])
		}
		if others {
			s.wrong = "the public is shut out of a type that nobody waits for"
			emit(public, 0, "is refused", s)
		}
		return
	}
	for e := range uint8(entries) {
		if sc.typeOf(e) == t && s.told[e] && s.sql.entries[e].status == waiting && !s.lost {
			s.wrong = "the public is served while somebody waits"
		}
	}
	s.redis.public, s.redis.publicFor, s.sql.public = taken, t, live
	s.redis.left[t]--
	if s.sql.sold(sc, t, t) > sc.capacity(t) && r.MySQLGate {
		s.sql.public, s.redis.public = cancelled, dead
		s.redis.left[t]++
	}
	emit(public, 0, "buys", s)
}

package model

type emitter = func(who, id uint8, what string, next state)

// walk makes one step of the state in every way that there is and hands each to emit, with who made it, what it was, and for which entry.
func walk(sc *Scenario, r *Rules, s state, emit emitter) {
	stepJoiner(sc, r, s, 0, emit)
	if sc.Second {
		stepJoiner(sc, r, s, 1, emit)
	}
	if sc.Taps {
		stepTapper(r, s, emit)
	}
	if sc.Leaver {
		stepLeaver(r, s, emit)
	}
	for f := range uint8(sc.Fillers) {
		stepFiller(sc, r, s, firstFiller+f, emit)
	}
	if sc.Pass {
		stepPasser(r, s, emit)
	}
	stepRepair(sc, r, s, emit)
	stepWorld(sc, r, s, emit)
}

const done = 99

// The places of a joiner behind its gate, and of a second tap.
const (
	toClose  = 2 // was told to buy
	toLook   = 3 // may have added the entry
	toTakeIn = 1 // found the row, WAITING
)

// lookAgain takes an entry out of the set that does not wait any more. Final is final, so that the look and what follows are one step.
func (s *state) lookAgain(e uint8) {
	if s.sql.entries[e].status != waiting {
		s.redis.waiters[e] = false
	}
}

// stepJoiner is JoinWaitlist: row, gate, for whoever can buy the row again, and in the end another look.
func stepJoiner(sc *Scenario, r *Rules, s state, e uint8, emit emitter) {
	a := &s.actors[firstJoiner+e]
	gate := func() {
		was := s.redis
		if s.redis.gate(sc, r, e) {
			a.at = toClose
			if was.shut(sc, r, sc.typeOf(e)) {
				s.wrong = "somebody is told to buy who is shut out"
			}
			emit(firstJoiner+e, e, "is told by the gate to buy", s)
			return
		}
		switch a.at = done; {
		case !r.RowBeforeSet:
			a.at = 1
		case r.GateLooksAgain:
			a.at = toLook
		}
		s.told[e] = r.RowBeforeSet
		emit(firstJoiner+e, e, "waits", s)
	}
	switch {
	case a.at == 0 && r.RowBeforeSet:
		s.sql.insert(e)
		a.at = 1
		emit(firstJoiner+e, e, "inserts the row", s)
	case a.at == 1 && !r.RowBeforeSet:
		s.sql.insert(e)
		a.at, s.told[e] = done, true
		emit(firstJoiner+e, e, "inserts the row and is told to wait", s)
	case a.at < toClose:
		gate()
	case a.at == toClose:
		if w := &s.sql.entries[e]; w.status == waiting || !r.GateClosesByCAS && w.status != absent {
			w.status = closed
		}
		if a.at = done; r.SetAfterClosing {
			a.at = toLook
		}
		emit(firstJoiner+e, e, "is closed, if it still waits", s)
	case a.at == toLook:
		a.at = done
		s.lookAgain(e)
		emit(firstJoiner+e, e, "is looked at again, and taken out if it does not wait", s)
	}
}

// stepTapper is JoinWaitlist once more, of a user whose row is there already: it is added to the set, and looked at again.
func stepTapper(r *Rules, s state, emit emitter) {
	a := &s.actors[tapper]
	switch {
	case a.at == 0 && s.sql.entries[0].status == waiting:
		a.at = toTakeIn
		emit(tapper, 0, "finds the row", s)
	case a.at == toTakeIn:
		if a.at = done; r.TapLooksAgain {
			a.at = toLook
		}
		s.redis.waiters[0] = true
		emit(tapper, 0, "adds it to the set", s)
	case a.at == toLook:
		a.at = done
		s.lookAgain(0)
		emit(tapper, 0, "looks again, and takes it out if it does not wait", s)
	}
}

func stepLeaver(r *Rules, s state, emit emitter) {
	a := &s.actors[leaver]
	row := func() {
		if w := &s.sql.entries[0]; w.status == waiting {
			w.status = left
		}
		emit(leaver, 0, "leaves, if it still waits", s)
	}
	forget := func() {
		s.redis.waiters[0] = s.redis.waiters[0] && s.sql.entries[0].status == offered
		emit(leaver, 0, "is taken out of the set", s)
	}
	switch {
	case a.at == 0 && s.sql.entries[0].status == waiting:
		a.at = 1
		if r.LeaveRowFirst {
			row()
		} else {
			s.redis.waiters[0] = false
			emit(leaver, 0, "is taken out of the set", s)
		}
	case a.at == 1:
		if a.at = done; r.LeaveRowFirst {
			forget()
		} else {
			row()
		}
	}
}

// The places of a filler.
const (
	idle uint8 = iota
	walking
	toReserve
	toOffer
	toRaise
	toForget
)

// stepFiller walks as checkout's filler does: units left, then the rows in turn; per entry units past the gate, the transaction, the set.
func stepFiller(sc *Scenario, r *Rules, s state, who uint8, emit emitter) {
	a := &s.actors[who]
	if a.at != idle {
		crashed := s
		crashed.actors[who] = actor{}
		emit(who, a.entry, "crashes", crashed)
	}
	switch a.at {
	case idle:
		for t := range uint8(types) {
			if next := s; s.redis.left[t] > 0 {
				next.actors[who] = actor{at: walking, kind: t, free: s.redis.left[t]}
				emit(who, 0, "reads what is left", next)
			}
		}
	case walking:
		what := look(sc, r, &s, a)
		emit(who, a.entry, what, s)
	case toReserve:
		if a.attempt+1 == attempts && s.sql.short(sc, a.entry, s.redis.publicFor) {
			return // beyond the bound of attempts
		}
		switch s.redis.reserve(sc, r, a.entry, a.attempt) {
		case unknown:
			a.at, a.free = walking, min(a.free, sc.wants(a.entry)-1)
			emit(who, a.entry, "finds too few", s)
		case dead:
			a.at = toRaise
			emit(who, a.entry, "finds its order id dead", s)
		default:
			// A second filler may have come to the entry before units were saved up for the one before it.
			if first := &s.sql.entries[0]; a.entry == 1 && first.status == waiting && first.saving == now && sc.Fillers == 1 {
				s.wrong = "units are taken for somebody behind an entry that is saved up for"
			}
			if a.at = toOffer; !r.SetAfterOffer {
				s.redis.waiters[a.entry] = false
			}
			emit(who, a.entry, "takes the units", s)
		}
	case toOffer:
		e, n := a.entry, a.attempt
		stands, fresh, possible := s.sql.offer(sc, r, e, n, s.redis.publicFor)
		if !possible {
			return
		}
		if fresh && stands == live {
			countOffer(&s, e)
		}
		if a.at = toForget; stands == cancelled {
			if a.at = toRaise; !r.Tombstone {
				s.redis.release(sc, e, n)
			}
		}
		emit(who, e, "commits", s)
	case toRaise:
		s.sql.tryAgain(r, a.entry, a.attempt)
		*a = actor{}
		emit(who, 0, "raises the attempt, if it still waits", s)
	case toForget:
		s.redis.waiters[a.entry] = false
		a.at, a.free = walking, a.free-sc.wants(a.entry)
		a.entry++
		emit(who, a.entry-1, "is taken out of the set", s)
	}
}

// countOffer notes that an entry was offered to, and what is wrong with it.
func countOffer(s *state, e uint8) {
	if s.offers[e]++; s.offers[e] > 1 {
		s.wrong = "an entry is offered to twice"
	}
}

// look reads the rows behind the entry at hand and decides about the next in turn.
func look(sc *Scenario, r *Rules, s *state, a *actor) string {
	for ; a.entry < entries; a.entry++ {
		w := &s.sql.entries[a.entry]
		if w.status != waiting || sc.typeOf(a.entry) != a.kind || a.free <= 0 {
			continue
		}
		if sc.wants(a.entry) <= a.free {
			a.at, a.attempt = toReserve, w.attempt
			return "comes to it"
		}
		if w.saving == now && r.SavingStopsTheWalk {
			break
		}
		if w.passed && (w.saving == never || !r.SavesOnce) {
			if w.saving = now; r.SavingStopsTheWalk {
				*a = actor{}
				return "saves up, and stops"
			}
		}
		if !r.PassedOverIsServed {
			break
		}
		w.passed = true // perhaps for long enough
	}
	*a = actor{}
	return "stops"
}

// stepPasser is the minute pass over the sets: members, rows, and what follows from them.
func stepPasser(r *Rules, s state, emit emitter) {
	a := &s.actors[passer]
	readSet := func(next uint8) {
		a.members, a.at = s.redis.waiters, next
		emit(passer, 0, "reads the set", s)
	}
	readRows := func(next uint8) {
		for e := range a.rows {
			a.rows[e] = s.sql.entries[e].status
		}
		a.at = next
		emit(passer, 0, "reads the rows", s)
	}
	switch a.at {
	case 0:
		if a.free = 0; s.lost {
			a.free = 1 // it began after the failover
		}
		if r.PassReadsSetFirst {
			readSet(1)
		} else {
			readRows(1)
		}
	case 1:
		if r.PassReadsSetFirst {
			readRows(2)
		} else {
			readSet(2)
		}
	case 2:
		for e := range a.members {
			if a.members[e] && a.rows[e] != waiting && r.PassRemoves {
				s.redis.waiters[e] = false
			}
		}
		a.at, a.members = 3, [entries]bool{}
		emit(passer, 0, "removes", s)
	case 3:
		readRows(4)
	case 4:
		for e := range a.rows {
			if a.rows[e] == waiting && r.PassAdds {
				s.redis.waiters[e], a.members[e] = true, true
			}
		}
		s.lost = s.lost && a.free == 0
		a.rows, a.free = [entries]status{}, 0
		if a.at = 5; a.members == [entries]bool{} || !r.PassLooksAgain {
			*a = actor{}
		}
		emit(passer, 0, "adds", s)
	case 5:
		for e := range uint8(entries) {
			if a.members[e] {
				s.lookAgain(e)
			}
		}
		*a = actor{}
		emit(passer, 0, "looks again at those it has added, and removes who does not wait", s)
	}
}

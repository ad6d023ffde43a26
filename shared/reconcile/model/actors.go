package model

// walk makes one step of the state in every way that there is and hands each to emit, with who made it, what it was, and for which id.
func walk(sc *Scenario, r *Rules, s state, emit func(who, id uint8, what string, next state)) {
	handlers := uint8(2)
	if sc.Rival {
		handlers = 3
	}
	for h := range handlers {
		stepHandler(r, s, h, emit)
	}
	stepConsumer(r, s, emit)
	if sc.Canceller {
		stepCanceller(r, s, emit)
	}
	if sc.Compensator {
		stepCompensator(r, s, emit)
	}
	if sc.Reconciler {
		stepReconciler(r, s, emit)
	}
	for l := range uint8(sc.Loaders) {
		stepLoader(r, s, firstLoader+l, emit)
	}
	stepFaults(sc, s, emit)
}

type emitter = func(who, id uint8, what string, next state)

func stepHandler(r *Rules, s state, h uint8, emit emitter) {
	id := uint8(0)
	if h == rivalHandler {
		id = 1
	}
	a := &s.actors[h]
	switch a.at {
	case start:
		switch s.redis.reserve(r, id) {
		case took:
			a.at = toSend
			s.promised[id] = s.promised[id] || !r.PromiseAfterQueue
			emit(h, id, "takes the unit", s)
		case replayPending:
			if a.at = toSend; !r.ReplaySendsAgain {
				a.end()
				s.promised[id] = true
			}
			emit(h, id, "replays a pending reservation", s)
		case replayKnown:
			a.end()
			s.promised[id] = true
			emit(h, id, "replays an acknowledged reservation and answers 202", s)
		default:
			a.end()
			emit(h, id, "is refused", s)
		}
	case toSend:
		a.end()
		s.queue[id], s.promised[id] = true, true
		emit(h, id, "sends its message and answers 202", s)
	}
}

// stepConsumer is create-orders with a batch of one message. It may crash anywhere, and the message is delivered again.
func stepConsumer(r *Rules, s state, emit emitter) {
	a := &s.actors[consumer]
	if a.at != start {
		crashed := s
		crashed.actors[consumer].idle()
		emit(consumer, a.id, "crashes", crashed)
	}
	switch a.at {
	case start:
		for id := range uint8(ids) {
			if next := s; s.queue[id] {
				next.actors[consumer] = actor{at: received, id: id}
				next.queue[id] = r.DeleteAfterSettling
				emit(consumer, id, "receives a message", next)
			}
		}
	case received:
		if !r.AckAfterCommit {
			s.redis.ack(r, a.id)
			a.at, a.row = toCreate, live
			emit(consumer, a.id, "acknowledges", s)
			return
		}
		a.row = s.sql.claim(r, a.id)
		a.at = toTell
		emit(consumer, a.id, "commits", s)
	case toCreate: // with the acknowledgement before the COMMIT only
		a.row = s.sql.claim(r, a.id)
		a.at = toTell
		emit(consumer, a.id, "commits", s)
	default:
		tell(r, s, consumer, emit)
	}
}

func stepCanceller(r *Rules, s state, emit emitter) {
	a := &s.actors[canceller]
	switch a.at {
	case start:
		if a.row = s.sql.cancel(0); a.row == noRow {
			a.at = toLook
			emit(canceller, 0, "finds no row", s)
			return
		}
		a.at = toTell
		emit(canceller, 0, "commits CANCELLED", s)
	case toLook:
		if e := s.redis.entries[0]; s.redis.epoch == 0 || e == unknown || e == marked {
			a.end()
			emit(canceller, 0, "is told that there is no such order", s)
			return
		}
		if a.at = toBury; !r.ReleaseAfterCommit {
			s.redis.release(r, 0)
		}
		emit(canceller, 0, "finds the reservation in the log", s)
	case toBury:
		if a.row = s.sql.bury(r, 0); a.row == live {
			a.idle()
			emit(canceller, 0, "finds that the message was faster", s)
			return
		}
		a.at = toTell
		emit(canceller, 0, "commits a tombstone", s)
	default:
		tell(r, s, canceller, emit)
	}
}

func stepCompensator(r *Rules, s state, emit emitter) {
	a := &s.actors[compensator]
	switch a.at {
	case start:
		for id := range uint8(ids) {
			next := s
			if s.redis.epoch != 0 && s.redis.pending[id] {
				next.actors[compensator] = actor{at: toReadRow, id: id}
				emit(compensator, id, "finds it pending", next)
			}
			if s.sql.rows[id] == cancelled && !s.sql.released[id] {
				next.actors[compensator] = actor{at: toTell, id: id, row: cancelled}
				emit(compensator, id, "finds it unreleased", next)
			}
		}
	case toReadRow:
		if a.row, a.at = s.sql.rows[a.id], toTell; a.row == noRow {
			a.at = toReadEntry
		}
		emit(compensator, a.id, "reads the row", s)
	case toReadEntry:
		if a.at = toCreate; s.redis.epoch == 0 || s.redis.entries[a.id] != taken {
			a.idle()
		}
		emit(compensator, a.id, "reads the log", s)
	case toCreate:
		a.row = s.sql.claim(r, a.id)
		a.at = toTell
		emit(compensator, a.id, "commits", s)
	default:
		tell(r, s, compensator, emit)
	}
}

func stepReconciler(r *Rules, s state, emit emitter) {
	a := &s.actors[reconciler]
	switch a.at {
	case start:
		for id := range uint8(ids) {
			if next := s; s.redis.isOpen {
				next.actors[reconciler] = actor{at: toReadRow, id: id, entry: s.redis.entries[id]}
				emit(reconciler, id, "reads the log", next)
			}
		}
	case toReadRow:
		if a.row = pair(r, a.entry, s.sql.rows[a.id]); a.row == noRow {
			a.idle()
		} else {
			a.at = toTell
		}
		emit(reconciler, a.id, "reads the row", s)
	default:
		tell(r, s, reconciler, emit)
	}
}

// pair is the pair table: the state of the row that Redis is to be told; noRow: nothing is to be done.
func pair(r *Rules, e entry, w row) row {
	switch {
	case e == taken && w == cancelled && r.TakenCancelled:
		return cancelled
	case e == unknown && w == live && r.NoneLive:
		return live
	case e == taken && w == noRow && !r.TakenNone:
		return cancelled
	}
	return noRow
}

// tell is the end of every actor that knows a row: Redis hears of it, and MySQL that Redis released. Of the consumer's messages those
// are deleted whose orders are settled, or left to repair when Redis could not be told.
func tell(r *Rules, s state, who uint8, emit emitter) {
	a := &s.actors[who]
	id := a.id
	finish := func(n *state) {
		if who == consumer {
			n.queue[id] = false
		}
		if n.actors[who].idle(); who == canceller {
			n.actors[who].end()
		}
	}
	switch {
	case a.at == toTell && a.row == live:
		s.redis.ack(r, id)
		finish(&s)
		emit(who, id, "acknowledges", s)
	case a.at == toTell:
		untold := s
		finish(&untold)
		emit(who, id, "cannot reach Redis", untold)
		if !s.redis.release(r, id) {
			return
		}
		s.actors[who].at = toRecord
		emit(who, id, "releases", s)
	case a.at == toRecord:
		s.sql.released[id] = s.sql.rows[id] == cancelled
		finish(&s)
		emit(who, id, "records the release", s)
	}
}

func stepLoader(r *Rules, s state, who uint8, emit emitter) {
	a := &s.actors[who]
	kept := func(ok bool, next at) {
		if a.at = next; !ok {
			a.idle()
		}
	}
	switch a.at {
	case start:
		if loaded := s.redis.isOpen && s.redis.epoch == s.sql.epoch; loaded || s.sql.epoch == maxEpoch {
			return
		}
		s.sql.epoch++
		*a = actor{at: toBegin, epoch: s.sql.epoch}
		emit(who, 0, "raises the epoch", s)
	case toBegin:
		kept(s.redis.begin(a.epoch, s.sql.rows), toReadPage)
		emit(who, 0, "begins", s)
	case toReadPage, toReadChanged:
		a.page = s.sql.rows
		a.at++
		emit(who, 0, "reads rows", s)
	case toAdoptPage:
		kept(s.redis.adopt(r, a.epoch, a.page), toReadChanged)
		a.page = [ids]row{}
		emit(who, 0, "adopts", s)
	case toAdoptChanged:
		kept(s.redis.adopt(r, a.epoch, a.page), toOpen)
		a.page = [ids]row{}
		emit(who, 0, "adopts what changed", s)
	case toOpen:
		s.redis.open(r, a.epoch)
		a.idle()
		emit(who, 0, "opens the sale", s)
	}
}

func stepFaults(sc *Scenario, s state, emit emitter) {
	if s.faulted {
		return
	}
	if sc.Wipe {
		next := s
		next.redis, next.faulted = set{}, true
		emit(nobody, 0, "Redis is wiped", next)
	}
	if sc.Failover && !s.copied {
		next := s
		next.replica, next.copied = s.redis, true
		emit(nobody, 0, "the replica copies", next)
	}
	if sc.Failover && s.copied {
		next := s
		next.redis, next.replica, next.faulted = s.replica, set{}, true
		emit(nobody, 0, "the replica takes over", next)
	}
}

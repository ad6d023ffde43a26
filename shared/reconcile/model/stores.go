package model

// Two order ids: the first buyer's and the rival's.
const ids = 2

// row is what MySQL has of an id.
type row uint8

const (
	noRow row = iota
	live
	cancelled
)

// entry is what the log of Redis has of an id.
type entry uint8

const (
	unknown entry = iota
	taken
	dead   // taken, and given back
	marked // a dead marker: never taken in this life of the set
)

// tables is MySQL.
type tables struct {
	rows     [ids]row
	released [ids]bool // a release is recorded
	epoch    uint8
}

// claim is the create-orders transaction for one id; it answers the row that stands afterwards.
func (t *tables) claim(r *Rules, id uint8) row {
	if t.rows[id] == noRow || t.rows[id] == cancelled && !r.OneLifePerID {
		t.rows[id] = live
		if t.sold() > 1 && r.Gate {
			t.rows[id] = cancelled
		}
	}
	return t.rows[id]
}

func (t *tables) sold() (n int) {
	for _, r := range t.rows {
		if r == live {
			n++
		}
	}
	return n
}

// cancel makes a live order CANCELLED; it answers the row that stands afterwards.
func (t *tables) cancel(id uint8) row {
	if t.rows[id] == live {
		t.rows[id] = cancelled
	}
	return t.rows[id]
}

// bury writes a tombstone unless there is a row; it answers the row that stands afterwards.
func (t *tables) bury(r *Rules, id uint8) row {
	if t.rows[id] == noRow {
		if !r.Tombstone {
			return cancelled // believed, not written
		}
		t.rows[id] = cancelled
	}
	return t.rows[id]
}

// set is an activity's set in Redis; epoch 0: there is none.
type set struct {
	epoch   uint8
	isOpen  bool
	entries [ids]entry
	pending [ids]bool
	left    int8
	atBegin [ids]row // for the checks only: the rows when this life of the set began
}

// answers of reserve
type answer uint8

const (
	refused answer = iota
	took
	replayPending
	replayKnown
	replayDead
)

func (s *set) reserve(r *Rules, id uint8) answer {
	if s.epoch == 0 || !s.isOpen {
		return refused
	}
	switch e := s.entries[id]; {
	case e == taken && s.pending[id]:
		return replayPending
	case e == taken:
		return replayKnown
	case e != unknown && r.ReplayFindsTheDead:
		return replayDead
	}
	if s.left < 1 {
		return refused
	}
	s.entries[id], s.pending[id] = taken, true
	s.left--
	return took
}

func (s *set) ack(r *Rules, id uint8) {
	switch e := s.entries[id]; {
	case s.epoch == 0:
	case e == unknown || e != taken && !r.AckStopsAtTheDead:
		s.entries[id] = taken
		s.left--
	case e == taken:
		s.pending[id] = false
	}
}

// release answers whether Redis could do it.
func (s *set) release(r *Rules, id uint8) bool {
	switch e := s.entries[id]; {
	case s.epoch == 0:
		return false
	case e == unknown:
		s.entries[id] = marked
	case e == taken || e == dead && !r.ReleaseOnce:
		s.entries[id], s.pending[id] = dead, false
		s.left++
	}
	return true
}

// begin starts a new life under an epoch that must be higher than the one that stands.
func (s *set) begin(epoch uint8, rows [ids]row) bool {
	if s.epoch >= epoch {
		return false
	}
	*s = set{epoch: epoch, left: 1, atBegin: rows}
	return true
}

// adopt puts a page of rows into a set that is being loaded; what the log knows is left alone.
func (s *set) adopt(r *Rules, epoch uint8, page [ids]row) bool {
	if s.epoch == 0 || s.epoch != epoch && r.EpochGuardsLoads {
		return false
	}
	for id, row := range page {
		switch {
		case s.entries[id] != unknown:
		case row == live:
			s.entries[id] = taken
			s.left--
		case row == cancelled:
			s.entries[id] = marked
		}
	}
	return true
}

func (s *set) open(r *Rules, epoch uint8) bool {
	if s.epoch == 0 || s.epoch != epoch && r.EpochGuardsLoads {
		return false
	}
	s.isOpen = true
	return true
}

package model

const (
	entries  = 2
	attempts = 3 // bounds how often an order id may turn out dead
	types    = 2
	holders  = 2 // orders of others that hold a unit each at first
)

// status of an entry
type status uint8

const (
	absent status = iota
	waiting
	offered
	accepted
	lapsed
	left
	closed
)

// row of an order
type row uint8

const (
	noRow row = iota
	live
	cancelled
)

// known is what the log of Redis has of an order id.
type known uint8

const (
	unknown known = iota
	pending       // taken, and not known to be committed
	taken
	dead
)

// saving says whether units were saved up for an entry.
type saving uint8

const (
	never saving = iota
	now
	over
)

// entry is one row of waitlist_entry.
type entry struct {
	status  status
	attempt uint8
	order   uint8 // attempt whose order was offered, and 1
	passed  bool
	saving  saving
}

// tables is MySQL.
type tables struct {
	entries [entries]entry
	orders  [entries][attempts]row
	held    [holders]row // orders of others
	public  row
	orphans [entries][attempts]bool // the sweep made a sale of an offer's units
}

// set is the log, the counters and the waiters in Redis.
type set struct {
	log       [entries][attempts]known
	held      [holders]known
	public    known
	left      [types]int8
	waiters   [entries]bool
	publicFor uint8 // type that the public buyer took
}

// stores is all that outlives every actor.
type stores struct {
	sql   tables
	redis set
}

// actor is one process: where it stands, and what it has read and will act upon.
type actor struct {
	at      uint8
	kind    uint8 // filler: the type that it walks for
	entry   uint8 // filler: the entry at hand; all before it are done with
	attempt uint8
	free    int8
	members [entries]bool
	rows    [entries]status
}

// The actors, by their place in the state.
const (
	firstJoiner = 0
	leaver      = 2
	firstFiller = 3
	passer      = 5
	tapper      = 6
	actors      = 7
	repair      = 7 // and what happens by itself
	public      = 8
	fault       = 9
)

var actorNames = [...]string{"joiner 1", "joiner 2", "leaver", "filler 1", "filler 2", "minute pass", "second tap", "repair", "the public", "fault"}

// state is one moment of the world.
type state struct {
	stores
	actors  [actors]actor
	told    [entries]bool // was told that it waits
	offers  [entries]uint8
	replica [entries]bool
	copied  bool
	faulted bool
	lost    bool // members may be missing until a pass has ended that began after the failover
	wrong   string
}

// underWay says whether somebody who adds to the set, or takes out of it what has ended, has not come to an end yet. Fillers only take out
// what they have offered.
func (s *state) underWay() bool {
	for _, who := range [...]int{firstJoiner, firstJoiner + 1, leaver, tapper, passer} {
		if at := s.actors[who].at; at != 0 && at != done {
			return true
		}
	}
	return false
}

func initial(sc *Scenario) state {
	s := state{}
	for h := range uint8(holders) {
		if h == 0 && sc.Free || h == 1 && !sc.hasSecondHolder() {
			continue
		}
		s.sql.held[h], s.redis.held[h] = live, taken
	}
	for t := range uint8(types) {
		s.redis.left[t] = sc.capacity(t) - s.redis.units(sc, t)
	}
	if sc.Forgotten {
		s.redis.held[0] = unknown
		s.redis.left[0]++
	}
	return s
}

func (sc *Scenario) hasSecondHolder() bool { return sc.Pair || sc.TwoTypes }

// typeOf is the ticket type of an entry; holderType that of another's order.
func (sc *Scenario) typeOf(e uint8) uint8 {
	if sc.TwoTypes && e == 1 {
		return 1
	}
	return 0
}

func (sc *Scenario) holderType(h uint8) uint8 {
	if sc.TwoTypes && h == 1 {
		return 1
	}
	return 0
}

func (sc *Scenario) wants(e uint8) int8 {
	if sc.Pair && e == 0 {
		return 2
	}
	return 1
}

func (sc *Scenario) capacity(t uint8) int8 {
	switch {
	case t == 1 && !sc.TwoTypes:
		return 0
	case t == 0 && sc.Pair:
		return 2
	}
	return 1
}

// units is what of a type the log has as taken.
func (s *set) units(sc *Scenario, t uint8) (n int8) {
	is := func(k known) bool { return k == pending || k == taken }
	for e := range uint8(entries) {
		for a := range attempts {
			if sc.typeOf(e) == t && is(s.log[e][a]) {
				n += sc.wants(e)
			}
		}
	}
	for h := range uint8(holders) {
		if sc.holderType(h) == t && is(s.held[h]) {
			n++
		}
	}
	if s.publicFor == t && is(s.public) {
		n++
	}
	return n
}

// sold is what of a type live orders have.
func (q *tables) sold(sc *Scenario, t uint8, publicFor uint8) (n int8) {
	for e := range uint8(entries) {
		for a := range attempts {
			if sc.typeOf(e) == t && (q.orders[e][a] == live || q.orphans[e][a]) {
				n += sc.wants(e)
			}
		}
	}
	for h := range uint8(holders) {
		if sc.holderType(h) == t && q.held[h] == live {
			n++
		}
	}
	if publicFor == t && q.public == live {
		n++
	}
	return n
}

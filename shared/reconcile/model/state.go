package model

// The actors, by their place in the state.
const (
	firstHandler = 0 // two of the first buyer, then the rival's
	rivalHandler = 2
	consumer     = 3
	canceller    = 4
	compensator  = 5
	reconciler   = 6
	firstLoader  = 7
	actors       = 9
	maxEpoch     = 4 // bounds how often a run loads
	nobody       = actors
)

var actorNames = [actors + 1]string{"handler 1", "handler 2", "rival", "consumer", "canceller", "layer 2", "layer 3", "loader 1", "loader 2",
	"fault"}

// at is where an actor stands.
type at uint8

const (
	start at = iota
	toSend
	received    // consumer: to commit
	toLook      // canceller: the row is absent, the log is asked next
	toBury      // canceller: to write a tombstone
	toReadRow   // layers: to read the row
	toReadEntry // layer 2: no row, the log is asked next
	toCreate    // layer 2: to run the create-orders transaction
	toTell      // Redis is told what the row says
	toRecord    // Redis has released; MySQL is told
	toBegin     // loaders, in their order
	toReadPage
	toAdoptPage
	toReadChanged
	toAdoptChanged
	toOpen
	done
)

// actor is one process: where it stands, and what it has read and will act upon.
type actor struct {
	at    at
	id    uint8
	row   row
	entry entry
	epoch uint8
	page  [ids]row
}

// idle is where actors stand that work again and again.
func (a *actor) idle() { *a = actor{} }

func (a *actor) end() { *a = actor{at: done} }

// stores is all that outlives every actor.
type stores struct {
	sql      tables
	redis    set
	queue    [ids]bool // a message is there, waiting or in flight
	promised [ids]bool // a 202 went out
}

// state is one moment of the world.
type state struct {
	stores
	actors  [actors]actor
	replica set  // its copy of the set
	copied  bool // it has one
	faulted bool
}

func initial(sc *Scenario) state {
	s := state{}
	if !sc.Unloaded {
		s.sql.epoch = 1
		s.redis = set{epoch: 1, isOpen: true, left: 1}
	}
	return s
}

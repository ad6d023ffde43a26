package model

// Rules are what the protocol insists on, one by one; true is as the code does it.
type Rules struct {
	OneLifePerID        bool // create-orders never changes a row that is there
	Gate                bool // MySQL refuses units that it does not have
	PromiseAfterQueue   bool // the 202 goes out when the queue has accepted, not before
	ReplaySendsAgain    bool // a replay of a pending reservation is sent again before it is promised
	ReplayFindsTheDead  bool // the same key after its order died does not reserve again
	AckAfterCommit      bool // Redis is told after the COMMIT
	DeleteAfterSettling bool // a message leaves the queue when its order is committed, not when it is received
	ReleaseAfterCommit  bool // units go back in Redis only after a committed CANCELLED row
	ReleaseOnce         bool // a second release of an id changes nothing
	Tombstone           bool // cancelling a reservation without a row writes a CANCELLED row
	AckStopsAtTheDead   bool // an acknowledgement does not revive what is dead in the log
	EpochGuardsLoads    bool // calls of a loader are refused by a set of another epoch
	TakenCancelled      bool // pair table: taken in the log, CANCELLED row: release, recorded or not
	NoneLive            bool // pair table: unknown to the log, live row: adopt
	TakenNone           bool // pair table: taken in the log, no row: in flight, left alone
}

// Protocol is the set of rules that the code follows.
func Protocol() Rules {
	return Rules{OneLifePerID: true, Gate: true, PromiseAfterQueue: true, ReplaySendsAgain: true, ReplayFindsTheDead: true,
		AckAfterCommit: true, DeleteAfterSettling: true, ReleaseAfterCommit: true, ReleaseOnce: true, Tombstone: true,
		AckStopsAtTheDead: true, EpochGuardsLoads: true, TakenCancelled: true, NoneLive: true, TakenNone: true}
}

// Scenario says who acts and what fails. Two handlers of the first buyer and the consumer of the queue are always there.
type Scenario struct {
	Name        string
	Rival       bool // a second buyer wants the same unit
	Canceller   bool // the first buyer cancels, once
	Compensator bool // layer 2, beside the others
	Reconciler  bool // layer 3, beside the others
	Loaders     int  // 0..2
	Unloaded    bool // the set has never been loaded
	Wipe        bool // the set is removed, once
	Failover    bool // the set goes back to a copy of any earlier moment, once
}

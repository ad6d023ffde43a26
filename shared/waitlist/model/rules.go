package model

// Rules are what the protocol insists on, one by one; true is as the code does it.
type Rules struct {
	RowBeforeSet       bool // joining: the row is committed before the set has the entry
	GateAsksWhoWaits   bool // joining: the gate sends nobody to buy while somebody waits
	GateClosesByCAS    bool // joining: who is sent to buy is closed only while WAITING
	SetAfterClosing    bool // joining: who was closed is taken out of the set, for somebody else may have added it
	GateLooksAgain     bool // joining: after the gate the row is looked at, and who does not wait any more is taken out
	TapLooksAgain      bool // so it is by who finds the row there and adds the entry
	LeaveRowFirst      bool // leaving: the row changes before the set forgets the entry
	PublicIsShutOut    bool // reserve.lua gives the public nothing while somebody waits
	FillerPassesGate   bool // reserve.lua lets fillers pass
	SetPerType         bool // who waits for one type shuts nobody out of another
	OfferByCAS         bool // an offer needs the entry (WAITING, n)
	ClaimOnce          bool // an order id that has a row keeps it
	Tombstone          bool // an offer that fails writes a CANCELLED row before the units go back
	AttemptRises       bool // an order id that is dead is followed by another
	SetAfterOffer      bool // an entry leaves the set after its offer is committed
	MySQLGate          bool // MySQL refuses units that it does not have
	SweepKnowsOffers   bool // the pending sweep tells offers from sales
	PassReadsSetFirst  bool // the minute pass reads the set before the rows
	PassAdds           bool // the minute pass adds rows that are WAITING
	PassRemoves        bool // the minute pass removes read members that are not
	PassLooksAgain     bool // the minute pass looks at the rows of those it has added, and removes who does not wait any more
	PassedOverIsServed bool // who wants more than is free keeps nobody behind from being served
	SavesOnce          bool // an entry is saved up for once
	SavingStopsTheWalk bool // nobody behind an entry that is saved up for is served
}

// Protocol is the set of rules that the code follows.
func Protocol() Rules {
	return Rules{RowBeforeSet: true, GateAsksWhoWaits: true, GateClosesByCAS: true, SetAfterClosing: true, GateLooksAgain: true,
		TapLooksAgain: true, LeaveRowFirst: true, PublicIsShutOut: true, FillerPassesGate: true, SetPerType: true, OfferByCAS: true,
		ClaimOnce: true, Tombstone: true, AttemptRises: true, SetAfterOffer: true, MySQLGate: true, SweepKnowsOffers: true,
		PassReadsSetFirst: true, PassAdds: true, PassRemoves: true, PassLooksAgain: true, PassedOverIsServed: true, SavesOnce: true,
		SavingStopsTheWalk: true}
}

// Scenario says who acts and what fails. The first entry's joiner, one filler, the public, returns of units and repair are always there.
type Scenario struct {
	Name      string
	Second    bool // a second entry joins
	TwoTypes  bool // it waits for another ticket type
	Pair      bool // the first entry wants two units, of two that there are
	Free      bool // a unit is free at first
	Fillers   int  // 1 or 2
	Leaver    bool // the first entry leaves, once
	Taps      bool // the user of the first entry taps twice
	Lapses    bool // offers lapse, and are accepted
	Pass      bool // the minute pass, beside the others
	Failover  bool // the sets go back to a copy of any earlier moment, once
	Forgotten bool // Redis does not know one live order, and offers its unit
}

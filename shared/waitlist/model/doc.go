// Package model is the waitlist's protocol as a small machine whose every interleaving is walked through: an explicit-state model, checked
// breadth-first, of what joining, leaving, two fillers, the minute pass, lapses and repair do to two entries and at most two units.
//
// # The abstraction
//
// Two entries wait, for one ticket type or for one each; the first may want two units. The units are held by others whose orders are
// cancelled at any moment, or by an order that Redis has forgotten. A public buyer takes what it can. A transaction of MySQL and a script of
// Redis are one step each; between two steps anything may happen, and an actor that is never scheduled again is one that crashed. What the
// code reads and acts upon later is kept in the actor, so that it may be stale.
//
//	model              code
//	tables.insert      checkout.writeEntry; shut: waitlist.Close after the gate
//	tables.offer       checkout.writeOffer: order.Claim, (WAITING, n) -> OFFERED or a tombstone, the gates of limit and buckets
//	tables.tryAgain    waitlist.TryAgain
//	set.gate           gate_waitlist.lua; add: add_waiters.lua; leave: leave_waitlist.lua
//	set.reserve        reserve.lua, past the gate for fillers
//	stepJoiner         checkout.JoinWaitlist; stepTapper: the same of a user whose row is there already
//	state.lookAgain    checkout.lookAgain; in the minute pass the second half of reconcile.addWaiters
//	stepLeaver         checkout.LeaveWaitlist
//	stepFiller         checkout.filler: walk, serve, offerTo
//	stepPasser         reconcile.syncWaiters
//	stepRepair         pending sweep, releases, acknowledgements, adoption: each whenever it can be done
//
// Time is left out: an offer may lapse, and an entry be passed over or saved up for long enough, at any moment. So is the lease, which only
// spares work, and so are more users, limits and money. Loss of the log is the other model's matter; here a failover puts the sets back to
// a copy that was taken at any moment before, once.
//
// # What is checked
//
// In every state: no unit is sold twice; nobody is offered to twice; final entries stay as they are, and an OFFERED one ends ACCEPTED or
// LAPSED; no public buyer is served while somebody waits who was told so, except after a failover until the next pass has ended; whoever is
// told to buy can; nobody who has left or was sent to buy is in the set once whoever adds to it and takes out of it has come to an end,
// except after a failover; no units are taken for anybody behind an entry that is saved up for; what is dead in the log has a CANCELLED
// row. From every state: when all actors stop where they are and the schedules run, nobody waits whom the free units would suffice for,
// the sets are exactly those who wait, and every live order of an offer is its entry's.
//
// Rules names what the protocol insists on. With one of them switched off the model must find a violation, and prints the shortest way to
// it; the tests do so for each.
package model

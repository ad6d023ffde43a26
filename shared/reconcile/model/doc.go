// Package model is the protocol of one order as a small machine whose every interleaving is walked through: an explicit-state
// model, checked breadth-first, of what handlers, create-orders, cancellations, the repair layers and loading do to one unit of stock.
//
// # The abstraction
//
// There is one unit, one bucket, and two order ids that want it: the first buyer's, whose two handlers use one Idempotency-Key, and a
// rival's. A transaction of MySQL and a script of Redis are one step each; between two steps anything may happen, and an actor that is
// never scheduled again is one that crashed. What the code reads and acts upon later is kept in the actor, so that it may be stale.
//
//	model            code
//	tables.claim     checkout.CreateOrders: order.Claim, then the gate of the buckets
//	tables.cancel    checkout.cancelRow; tables.bury: checkout.Tombstone
//	set.reserve      reserve.lua; ack: ack.lua; release: release.lua
//	set.begin        begin_load.lua; adopt: adopt.lua; open: open_load.lua
//	stepHandler      api.reserve: reserve, send, and only then the 202
//	stepConsumer     queue.createOrders: a message is deleted when its order is settled, and delivered again otherwise
//	stepCanceller    checkout.Cancel
//	stepCompensator  reconcile.Compensate: pending entries, unreleased orders
//	stepReconciler   the full reconcile: log first, row later, then the pair table
//	stepLoader       reconcile.Load: epoch, begin, pages, changed rows, open
//
// Time is left out: every grace may have passed at any moment, which allows more than the code does. So are quantities, limits,
// allocations, adjustments and money. A failover puts the set back to a copy that was taken at any moment before, once; a wipe removes
// it, once.
//
// # What is checked
//
// In every state: a CANCELLED row never lives again; the log of one life of the set never revives an id; units left are what the log
// adds up to; MySQL never sells the unit twice; what is dead in the log has a committed CANCELLED row, and what is acknowledged there
// has a row; a set that opens knows every order that was live when its load began. From every state: when all actors stop where they
// are and the schedules run, both stores end up saying the same of each id, and every 202 has its row.
//
// Rules names what the protocol insists on. With one of them switched off the model must find a violation, and prints the shortest
// way to it; the tests do so for each.
package model

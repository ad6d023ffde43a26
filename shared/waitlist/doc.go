// Package waitlist holds who waits for units of a sale that is sold out: the entries, their states, the order of serving, and all SQL that
// writes waitlist_entry. The units that come free, and the orders that are offered, belong to checkout.
//
// # Words
//
// An entry is one user's wish for some units of one ticket type. Its turn is its place by (joined_at, entry_id) among those that are
// WAITING for the same type. An offer is an UNPAID order that was made for an entry; it is accepted by paying it, or by freezing its
// deposit, before acceptBy. The waiters of a type are a set of entry ids in Redis: while it is there the public hears that too few units
// are left, whatever the counters say. Attempt n is the number in the id of an entry's next order; it rises when an order id turned out
// to be dead.
//
//	(none) --join--> WAITING --offer--> OFFERED --accept--> ACCEPTED
//	                   | |                 |
//	                   | +--leave--> LEFT  +--lapse---> LAPSED
//	                   |
//	                   +--close, not sold out--> CLOSED(reason)
//
// All but WAITING and OFFERED are final, and final is final.
//
// # The protocol
//
// Rows decide, the set follows, and every step may be the last one of whoever does it:
//
//	join    insert the row, WAITING; then ask the gate: if the set is empty and the units are there, the row is closed again by
//	        compare-and-set and the user is told to buy; else the gate has put the entry into the set. A second join finds the row and
//	        puts the entry into the set. All of them then look at the row, and remove an entry that does not wait any more.
//	leave   change the row by compare-and-set; then remove the entry from the set.
//	offer   for rows WAITING, in turn: take units in Redis past the gate, under an order id that follows from entry and attempt; then, in
//	        one transaction, compare-and-set (WAITING, n) -> OFFERED and write the UNPAID order; if the row is not (WAITING, n) any more,
//	        write a CANCELLED row for the order id and give the units back. Then remove the entry from the set.
//	pass    every minute: read the set, then the rows; remove those read members that are not WAITING, add the rows that are; then look
//	        at the rows of those once more, and remove those that are not any more.
//
// Whoever ends an entry changes the row first and the set after it, whoever adds one looks at the row after it: one of the two sees what
// the other did, so that nobody stays in the set who does not wait.
//
// Units come back as they always do; releases and adjustments know nothing of the set. What keeps the public out is the set alone, so it
// is emptied only by those who have seen the rows: after a failover that lost members the public may overtake until the next pass. The
// package model walks through every interleaving of this.
//
// # Who is served
//
// In turn, with few exceptions. An entry that wants more units than are free is passed over and keeps its place. So does one whose user
// Redis lets have nothing though the database would, and one whose rows do not let it be offered anything. One that has been passed
// over for SaveAfter, the first in turn, has units saved up for it once, for SaveFor: nobody behind it is served meanwhile, provided that
// its type has as many units that are not sold. An entry is offered to once. When no offer could be accepted in time any more the
// entries are closed, so that the public gets what is left.
//
// # What always holds
//
// A user has one active entry in an activity. An order belongs to one entry at most. OFFERED, ACCEPTED and LAPSED entries have an order;
// the order of an OFFERED entry is live or about to be lapsed by the transaction that cancels it. A state changes only by an UPDATE that
// names the state it leaves. Accept and Lapse are also called for orders that no entry was offered, and change nothing then.
package waitlist

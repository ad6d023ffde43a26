// Package notice keeps what people are to be told: an outbox whose rows are written in the transaction that causes them, so that
// nobody is told of what was rolled back, and nobody is not told of what was committed.
//
//	subject   what a notice is about: an order's id; order id + "@" + deadline; a refund's id; entry id + "#" + n for an offer
//	kind      what it says; of one kind there is one notice about a subject, however often the cause is repeated
//	claim     a sender has taken a notice and is publishing it; it runs out, so that one that died keeps nothing back
//
// # States
//
//	WAITING ──> CLAIMED ──> SENT
//	   ^           │
//	   ├───────────┤ not accepted: later again
//	   └── SKIPPED <┘ too late to tell, or no longer true
//
// A claim that ran out is claimed again, from CLAIMED to CLAIMED with one attempt more.
//
// # Kinds
//
//	kind                type in the envelope
//	ORDER_CREATED       order.created
//	ORDER_PAID          order.paid
//	ORDER_CANCELLED     order.cancelled
//	DEPOSIT_REMINDER    deposit.reminder
//	DEPOSIT_CONFIRMED   deposit.confirmed
//	DEPOSIT_PENALTY     deposit.penalty
//	DEADLINE_EXTENDED   deadline.extended
//	WAITLIST_OFFER      waitlist.offer
//	REFUND_SUCCEEDED    refund.succeeded
//	REFUND_FAILED       refund.failed
//
// # What always holds
//
// A notice is published at least once and under one id, which is its number: whoever reads twice drops the second by it. Notices of
// one order may arrive in any order; data of order.* kinds carries the order's revision to sort them by. Data holds amounts, instants
// and states, and nothing that says who somebody is. What cannot be published waits longer each time and keeps no other back.
package notice

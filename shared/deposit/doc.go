// Package deposit holds the record of deposits that hold seats: what a deposit is, how its state moves, and all SQL that
// writes deposit_record.
//
// # Words
//
// A deposit is money of the buyer's wallet that is frozen together with the units of an order of kind DEPOSIT. The buyer confirms before
// the deadline and pays for the order with it, or loses a part of it, the penalty, to the club. What is consumed, kept as penalty and
// given back is always the whole deposit. Its terms are those of the policy that held when it was frozen; only the deadline can move.
//
// # States
//
//	(none) --freeze--> FROZEN --confirm--> CONFIRMED --consume--> DEDUCTED
//	                     |
//	                     +---penalise--> PENALTY --give the rest back--> REFUNDED
//	                     |
//	                     +---give all back-----------------------------> REFUNDED
//
// The steps of one line are one transaction, so that a row rests in FROZEN or in the state of its last step:
//
//	how it leaves FROZEN                          rests in   consumed               penalty      refunded  order
//	confirmed in time                             DEDUCTED   min(deposit, amount)   0            the rest  PAID
//	deadline reached, or a user cancels at a      REFUNDED   0                      penalty due  the rest  CANCELLED
//	  price, and something goes back
//	the same, and the club keeps everything       PENALTY    0                      all of it    0         CANCELLED
//	the same, and no penalty is due               REFUNDED   0                      0            all       CANCELLED
//	free cancellation, waiver, operator, a sale   REFUNDED   0                      0            all       CANCELLED
//	  that was called off
//
// So PENALTY at rest says that the buyer got nothing back, REFUNDED that something went back, and what the club kept is said by the
// amount and not by the state. A deposit of an order that costs nothing is DEDUCTED too: nothing of it was consumed. CONFIRMED is never
// at rest.
//
// # What always holds
//
// A deposit leaves FROZEN once: by an UPDATE that names FROZEN and whose count of rows is checked, in the transaction that moves its
// order and its money. consumed + penalty + refunded is 0 while it is FROZEN and the deposit afterwards. A deadline that is reached is
// passed. A deposit of a TEST sale has the same record and moves no money.
package deposit

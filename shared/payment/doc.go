// Package payment holds attempts to pay orders and refunds: their states, how these move, and all SQL that writes the
// tables payment and refund.
// It knows no orders beyond their ids; package checkout composes both with orders, wallets and stock.
//
// # Words
//
// A payment is one attempt to pay one order, by the buyer's wallet or by a provider. Its id is ours and is made from the order and the
// buyer's Idempotency-Key, so that the same wish is the same payment on any machine. Its disposition says what became of its money and
// is decided once. A surplus is a success that did not pay its order: it came too late, or another one was faster. A refund is money
// on its way back; it is sent to the provider under its own id until that has answered for good.
//
// # States of a payment
//
//	(none) --begin--> PENDING --success--> SUCCEEDED (final)
//	   |                 |                    ^  ^
//	   |                 +--refused--> FAILED-+  |   a success that comes late counts all the same:
//	   |                 +--given up-> EXPIRED---+   the buyer's money has moved
//	   +--wallet, at once--> SUCCEEDED, disposition ORDER
//
//	disposition of a SUCCEEDED one:  NULL --> ORDER      it paid its order
//	                                   |----> NEW_ORDER  its order had run out, a new one was made and paid
//	                                   +----> REFUND     it is a surplus and goes back
//
// # States of a refund
//
//	REQUESTED --taken up--> SENT --answered--> SUCCEEDED (final)
//	    |                   ^  |
//	    |                   +--+ no answer: sent again under the same id
//	    |                      +--refused for good--> FAILED (final; a person decides)
//	    +--to a wallet or by hand: made as SUCCEEDED in the transaction that asks for it
//
// # What always holds
//
// An order has one PENDING payment at most (payment_open), one payment of disposition ORDER at most (payment_decides), and a payment
// makes one new order at most, as an order stands in for one payment at most (payment_new). A disposition is set by an UPDATE that
// names NULL, in the transaction that does what it says. A surplus goes back once (refund_surplus). A state changes only by an UPDATE
// that names the states it leaves.
package payment

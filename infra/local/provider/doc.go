// Package provider is a payment provider for the local stack and for tests. It speaks the protocol of shared/edge/provider: it opens
// charges, takes refunds, and tells the webhook what became of them, signed, until it is answered 204. What becomes of a charge is steered
// by a plan: events that happen one after the other, each after a time by the movable clock and as often as wished, so that it can succeed,
// fail, stay pending for ever, come late, twice, or in the wrong order. It keeps what it holds of whom, to the cent.
//
//	POST /charges, POST /refunds, POST /list    the protocol
//	GET  /                                      {"charges":[…],"refunds":[…],"held":{"CNY":"25.00"}}
//	POST /plan                                  what becomes of charges and refunds that are begun from now on; see Plan
//	POST /charges/{paymentId}                   {"events":[…]}: what else happens to this charge
//	POST /refunds/{refundId}                    {"status":"SUCCEEDED"|"FAILED"}: how a refund that is pending ends
package provider

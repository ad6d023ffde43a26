// Package certificate makes the proof that an operator can ask for: that the stores agree about one activity, equation by equation.
//
// # What it says
//
// Redis is read at one sequence number of its log, MySQL in one snapshot; package invariant explains how, and what each equation
// compares. Within a store equations are exact. Between the stores inFlight orders and adjustments are on their way; Exact is claimed
// only when the sale is suspended or closed and nothing is on its way. L, that no promise is lost, cannot be seen from the stores: its
// equation says what can be, that no known reservation is past its grace without a final state.
//
// Money is counted in hundredths of the activity's currency: what this sale moved, order by order, and the wallets of its buyers, entry by
// entry. HOUSE and the other accounts belong to all sales, so that no certificate of one says whether they are right: the daily
// reconciliation of money does.
//
// # The hash
//
// Hash is the SHA-256, in hexadecimal digits, of the certificate without its hash: as JSON whose members are sorted by name, without
// white space, numbers as whole digits (RFC 8785 makes the same bytes). A reader recomputes it from what was answered:
//
//	jq -cSj 'del(.hash)' certificate.json | sha256sum
//
// # When it takes long
//
// A request has some twenty seconds. A certificate that needs more becomes a job: a row that Run finishes in a function that has minutes.
// Asking again while one is waiting or running answers that one.
package certificate

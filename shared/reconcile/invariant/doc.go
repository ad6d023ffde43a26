// Package invariant checks, for one activity, what must always hold between MySQL, Redis and the promises that were given:
//
//	O  units sold and frozen never exceed capacity, per bucket; no user holds more than the limit
//	L  an answered 202 is never lost: its order exists, and reaches a final state
//	D  every effect happened once: one taking and at most one giving back per order, and every sum over orders agrees
//	C  Redis agrees with MySQL: counters are the fold of the log, and the log and the rows pair up
//	S  nothing stays unfinished past its deadline plus grace
//
// Each equation says what was compared, both sides, and the first order that breaks it. L cannot be seen from the stores, for a
// 202 that both lost leaves no trace: whoever checks it brings a journal of promises.
//
// Check reads a moving sale without stopping it, so an equation may fail for a moment while an order is on its way. Exact
// equality is to be expected once nothing is in flight; whoever checks earlier asks again.
package invariant

// Package faulty holds no code, only tests of the whole system while a part of it is broken: a store that is away, slow, full,
// read-only or empty, a queue that refuses, loses or repeats, answers that never arrive, messages that nobody should have sent.
//
// Each test runs a local stack on a Redis of its own and a database of its own, with a proxy before each, and uses it as
// buyers and operators do, over HTTP. It keeps a journal of every 202 and ends by proving, from both stores and that journal,
// that nothing was oversold, lost or done twice. A test also asserts that its fault did strike, for a fault that misses
// proves nothing.
//
//	stage_test.go      the stack, its proxies and controls
//	sale_test.go       one sale on it: what buyers do, the journal, the proof
//	*_test.go          one file per part that breaks
package faulty

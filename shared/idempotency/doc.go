// Package idempotency keeps the answers of repeatable requests by their key.
//
// A key belongs to one user and one route. Its row is written in the same transaction as the effect that it stands for:
//
//	Begin    claims the key, or waits for whoever works on it, and hands out the answer that is kept
//	...      the effect
//	Finish   keeps the answer
//
// A transaction that is rolled back leaves no row, so refusals and failures are not remembered: the same key may succeed later.
// Keys are kept for Life at least. Of all rows that a transaction locks, the key's comes first.
package idempotency

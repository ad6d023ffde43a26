// Package checkout is the one place that composes the transactions of an order over all that it touches: its row, its router and
// stock log, the buyer's limit, the buckets. What follows in Redis comes after the commit and is never allowed to undo it.
//
// # Use cases
//
//	CreateOrders  a batch of reservations becomes orders, in one transaction; Settle then tells Redis
//	Cancel        a user or an operator takes an order back, also one that is still only a reservation
//	Expire        unpaid orders past their deadline are cancelled
//	MarkPaid      an operator says that an order was paid
//	Tombstone     an id that shall never become an order gets a CANCELLED row
//
// # What always holds
//
// MySQL decides first and Redis follows: units go back in Redis only when a CANCELLED row is committed. Every id is claimed by
// an insert that cannot overwrite, so of all who want to decide about an id one wins and the others find what it decided. Rows are
// locked in one order everywhere: activity (shared), orders by id, limits by user, buckets by number; each in key order.
//
// # Batches
//
// A batch runs on trust first: orders, limits and stock log are written as they were asked for, and the buckets last, in one
// conditional statement per type. Only when a gate of the database refuses does the batch run again with care: limits and buckets
// are locked and read, every reservation is judged in memory in the order in which Redis took them, and what cannot be is
// written as CANCELLED. A refusal is rare, and costs one transaction more when it happens.
package checkout

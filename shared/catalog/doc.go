// Package catalog keeps the activities: their rows, their ticket types, and the buckets that stock is spread over.
//
// # Words
//
// An activity is created as DRAFT and may then be changed as a whole. Published, it keeps what reservations rely on; what may still
// change is listed at Change. Its number is the opening time in milliseconds that it was created with, plus one until free: the first
// 48 bits of its order ids. It never changes, even when the opening does.
//
// The deposit policy of a draft is kept in versions: an edit adds one, and the highest holds. Published, no more are added, so that the
// hash of a policy that a buyer agreed to can always be looked up.
//
//	revision       rises with every change by an operator: the ETag
//	rules_version  rises with every change of window, limit or status: Redis applies only a higher one
//	epoch          rises with every loading of Redis
//
// An adjustment changes capacity while units are sold. Redis picks the buckets; the database then applies exactly that split:
//
//	PENDING -> APPLIED   the split stands in stock_bucket.adjusted
//	        -> REFUSED   nothing was changed
//
// # Transactions
//
// Every write owns its transaction, with the audit row in it. Get, ByNumber, List and the lists of adjustments only read. LockShared
// belongs into the transaction of its caller: while it lasts, no status or limit of these activities changes.
//
// A limit per user that rises is not written into the rows of purchase_limit here: create-orders brings the activity's present limit
// with every upsert.
package catalog

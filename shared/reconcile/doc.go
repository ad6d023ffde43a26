// Package reconcile makes Redis and MySQL agree: it loads Redis from MySQL, and every minute finishes what was left between the two.
//
// # Words
//
// Loading builds an activity's whole set in Redis from the rows of MySQL, under a new epoch; buyers wait meanwhile. The minute pass
// (Compensate) is the second layer of repair; the first is whoever releases right after a commit.
//
//	asked for, not loaded, epochs differ    -> Load
//	rules of MySQL are newer                -> change rules in Redis
//	adjustments still PENDING               -> finish them
//	reservations pending beyond the grace   -> live row: acknowledge; CANCELLED row: release; no row: the create-orders transaction
//	CANCELLED and not known to be released  -> release
//
// # What always holds
//
// MySQL is the truth. Only CANCELLED orders are released, and only by MySQL's word; a slow or dead queue cancels nobody. Every pass is
// bounded, goes through pages by key, and may be repeated or run beside itself: leases only spare double work, apart from the one of
// a set, whose holder alone loads it or splits an adjustment, and which the epoch guards in turn.
package reconcile

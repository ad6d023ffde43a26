// Package stock keeps the units of sales: in Redis by scripts that run alone and either do all or nothing, and (buckets.go) as
// the bucket rows of MySQL.
//
// # Words
//
// The set of an activity is its rules and counters, its buyers, its log and its pending entries: four keys of one hash slot that
// live and go together. A movement is one entry of the log; it is never overwritten and never removed, so that the log folds to
// the counters at any moment. A mark is a buyer's field: how many units the user holds and the last order id. The epoch counts
// how often the set was loaded from MySQL; it stands in all parts of the set, so that a part that got lost shows.
//
//	none -> taken -> dead          one life per order id, never backwards, never twice;
//	none -> dead                   a dead marker: whoever comes late with this id finds it and stops.
//
// # What holds
//
// Every script checks everything before its first write, and its writes cannot fail. For each bucket of the fold of the log:
// units = capacity + adjustments - units of live reservations; the counters are that fold, exactly; they may go below zero and
// are never clamped. Every user with an entry in the log has a mark. A pending entry has a taken entry and no dead one.
//
// # Errors
//
// Every method of Store tells three failures apart, because they mean different things to whoever asked for units:
// ErrUnavailable (nothing happened), ErrNoAnswer (it may have happened, or may still), ErrNotLoaded (the set is not in Redis).
package stock

// Package reconcile makes Redis and MySQL agree: it loads Redis from MySQL, and every minute finishes what was left between the two.
//
// # Words
//
// Loading builds an activity's whole set in Redis from the rows of MySQL, under a new epoch; buyers wait meanwhile. The minute pass
// (Compensate) is the second layer of repair; the first is whoever releases right after a commit.
//
//	asked for, not loaded, epochs differ    -> Load
//	rules differ from MySQL's               -> change rules in Redis, under a version above its own
//	the server is another run than proven   -> ask for a full reconcile
//	adjustments still PENDING               -> finish them
//	reservations pending beyond the grace   -> live row: acknowledge; CANCELLED row: release; no row: the create-orders transaction
//	failures written down by the first      -> try again; after five times a person is told, and it goes on at longer intervals
//	CANCELLED and not known to be released  -> release
//	recent live rows that the log lacks     -> adopt, which asks for a full reconcile
//	waitlists' sets other than their rows   -> add and remove; then offer what is free
//	runs of the full reconcile asked for    -> do them in the time that is left
//
// A reservation that only Redis knows is always pending there, so the sweep finds all of them. An order that only MySQL knows is found by
// the minute pass if its row changed within the last two minutes, and among the first 20 000 that did so; an older one, which needs a
// memory that was lost without the server's having been restarted or replaced, is left to the full reconcile.
//
// # The full reconcile
//
// Every five minutes, at once on evidence of a loss, and when an operator asks, the whole log of an activity is held against all its rows
// while the sale runs on. The counters and a seq are read at one moment, the log is folded up to that seq, and what was read counts only
// if the set has the same life on the same run of the server afterwards. Then log and rows are paired by id, from one snapshot of MySQL;
// whatever does not plainly fit is read again id by id, rows first, then the log, then rows, before it is judged:
//
//	log \ row          live                     CANCELLED                none
//	taken              fine; else acknowledge   release                  young: on its way; old: the create-orders transaction
//	dead               difference               fine                     difference
//	none               adopt                    fine                     -
//
// Counters against the fold, buyers' marks against the log, adjustments, and MySQL's tables against each other are compared as well.
// What no reservation explains is a difference: it is written down with what each store says and what a person may have done about it, and
// is never mended by itself. A sale is suspended only when MySQL contradicts itself. After a run that mended all that it could, the set
// counts as proven whole under this run of the server.
//
// # What always holds
//
// MySQL is the truth. Only CANCELLED orders are released, and only by MySQL's word; a slow or dead queue cancels nobody. Every pass is
// bounded, goes through pages by key, and may be repeated or run beside itself: leases only spare double work, apart from the one of
// a set, whose holder alone loads it or splits an adjustment, and which the epoch guards in turn.
package reconcile

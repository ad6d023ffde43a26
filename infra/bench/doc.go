// Package bench measures what Holdfast promises about its speed and size, and says of each figure whether it keeps to its target.
//
// # Method
//
// Figures of one machine say nothing about another, so nearly every figure is a ratio to a baseline that is measured in the same
// run on the same servers, turn by turn: ours, theirs, theirs, ours, and so on. A ratio is the median of all turns of ours over
// the median of all turns of theirs. Whatever else the machine does then hits both, and what hits only a few turns is left out.
// A benchmark reports: a missed target is said in words, and only a measurement that failed is an error.
//
// # Scripts
//
// reserve_ratio, sold_out_ratio and fragmented_ratio compare the time that the server itself spends in EVALSHA, from INFO
// commandstats, so neither the client nor the network counts. Each turn is a few hundred calls by a few callers, each call by a user
// who was never seen before. The baseline, plain.lua, is what a commonly published flash-sale script does and no more: one
// voucher per user, one counter, a log of JSON. It is called as such scripts are: ids as long as a 64-bit number in decimal, and
// a log that expires. The same without an expiry, which spares it one command, is reported beside it.
// Ours sells from eight buckets under a limit of one, with everything that the stock package promises, called by
// stock.Store.Reserve. A refused stranger asks a sale that has as many buyers as it had units. A fragmented sale has eight
// buckets with one unit each when a buyer wants three.
//
// # Memory
//
// bytes_per_reservation and bytes_per_pending are used_memory of Redis after many reservations, less that before, divided by their
// number: after all were acknowledged, and before. Hash tables double in steps, so this is done with two numbers, one of them just
// after a step, when old and new table both exist; the worse one counts.
//
// # Orders
//
// create_speedup compares orders per second of checkout.CreateOrders in batches of a hundred with those of the straightforward
// way (perorder.go): one transaction per order that writes the same rows with the same statements, a row at a time, and no more.
// Both have the same number of writers on the same MariaDB, which flushes every COMMIT to disk, and eight buckets.
//
// end_to_end_speedup compares whole systems: from the first HTTP request to the last committed row. Ours is the local stack with
// everything in it. The baseline (synchronous.go) stands behind the same gateway, on the same MariaDB: a function that looks
// whether the sale is on, makes the order by the transaction above, and answers then. It needs no Redis and no queue, so it pays
// for neither. Where the comparison leaves a choice, such as the size of its pool, it has what suits the baseline best.
// The same callers send one request each after the other's answer, to both in turn. p99_ratio compares the p99 of the answers.
// All of it but the stores runs in this process, with the garbage collector at GOGC=400 for both.
// Callers, gateway, queue and both stores share the machine's processors: the figures say how much work an order costs in all, not
// how fast a larger installation would be.
//
// # Repair
//
// All of it runs on a whole local stack, with a reconciler beside its functions as another instance would be one. load_s is one call of
// Reconciler.Load, of a sale whose orders stand in MySQL only. back_after_wipe_s is the time from FLUSHALL, while callers buy without
// pause, until a buyer has a 202 again; the minute pass is run as soon as one of them has asked for the load, where the schedule may take
// up to a minute more. full_reconcile_s is one run over a ledger in which every order is consistent and has its status;
// full_reconcile_ratio divides it by a bare HSCAN of the same log, page by page, in the same turns.
// The open load beside it has half the orders per second that the same callers reach in a closed one just before. Its buyers come at
// instants that were set beforehand, and what they wait counts from then. A 202 within ten seconds is a completion. The reconciler is a
// process of its own at the lowest priority, for in Lambda it has a processor of its own; both stores work for it as for the buyers.
//
// # Deposits
//
// deposit_create_ratio compares orders per second of batches that freeze money, each order that of another wallet, with batches of plain
// orders, turn by turn in the same database. deposit_settlements_per_second is what the sweeper of the minute pass does with 10 000
// deposits of one club whose deadline is the same: from its first page until the last unit is back in Redis and recorded to be. Beside it
// stands the way of the workflows, a transaction per deposit.
//
// # Start
//
// init_ms is how long the binary of reserve-ticket takes from its start until it asks for work, as the runtime emulator of
// Lambda reports it, on this machine's architecture. Sizes are those of the binaries that the template deploys (arm64).
package bench

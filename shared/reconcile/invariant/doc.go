// Package invariant holds the checkers of what must always be true: between MySQL, Redis and the promises that were given to buyers.
//
//	O  units sold and frozen never exceed capacity, per bucket; no user holds more than the limit
//	L  an answered 202 is never lost: its order exists, and reaches a final state
//	D  every effect happened once: one taking and at most one giving back per order, and every sum over orders agrees
//	M  money is conserved to the cent: the buyers' wallets are the sums of their entries, and entries say what orders, deposits,
//	   payments and refunds say
//	G  the same of all sales together, of every wallet and account; all of them are 0 in sum
//	C  Redis agrees with MySQL: counters are the fold of the log, and the log and the rows pair up
//	S  nothing stays unfinished past its deadline plus grace, what was called off comes back, and a deposit stands as its order does
//	W  an offer of the waitlist and its order change together, Redis shuts the public out for whoever waits, and nobody waits for a sale
//	   that is over
//	N  nobody is told twice, nor of an order that does not exist
//
// Each equation says what was compared, both sides, and the first order, bucket or buyer that breaks it.
//
// # Two stores, one moment
//
// Read takes Redis at one sequence number S of its log, then MySQL in one snapshot. Within each store equations are exact, whatever
// moves meanwhile. Between them an order may be on its way: taken up to S and without a row, given up by MySQL and not yet released,
// committed after S. Such orders are counted in flight, with the units by which the stores differ for each of them, so that C4 holds
// on a moving sale too. What seems to contradict is read again by its id before it is called broken. Epoch and run of Redis are
// compared before and after; when they changed, or its seq went back, everything is read again.
//
// Money is in one store and read in the same snapshot, so its equations are exact on a moving sale too. They count hundredths of the
// currency. A TEST sale moves no money and has none of them; its deposits, payments and refunds must end all the same.
//
// # How to call it
//
//	report, err := invariant.Check(ctx, db, st, activityID, promises)    // all equations; promises may be nil
//	report.Pass(), report.InFlight, report.Write(w)
//
//	reading, err := invariant.Read(ctx, db, st, activityID)              // the same in two steps, for who wants more of one reading
//	report := reading.Report(promises)
//	fates := reading.Fates(journal)                                      // lost, phantom and recovered orders, by a journal of wishes
//
//	report, err := invariant.CheckLedger(ctx, db)                        // the money of all sales together
//
//	bounds := invariant.NewBounds(left)                                  // what a counter may be while answers are missing
//	bounds.MayTake(2); bounds.Settle(-2, happened); bounds.Contains(n)
//
//	var states invariant.States                                          // every state of an order, deposit, payment or entry
//	states.Look(ctx, db, activityID)                                     // of the waitlist that anybody saw
//	states.Observe(id, order.Unpaid); states.Broken()
//
//	branches := invariant.NewBranches(invariant.RepairBranches()...)     // was every repair branch reached?
//	branches.Reach("2/RELEASE"); branches.ReadRepairs(ctx, db, activityID); branches.Missing()
//
// L cannot be seen from the stores alone, for a 202 that both lost leaves no trace: whoever checks it brings a journal.
package invariant

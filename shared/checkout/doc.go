// Package checkout is the one place that composes the transactions of an order over all that it touches: its row, its router and
// stock log, the buyer's limit, the buckets. What follows in Redis comes after the commit and is never allowed to undo it.
//
// # Use cases
//
//	CreateOrders  a batch of reservations becomes orders, in one transaction; Settle then tells Redis
//	Cancel        a user or an operator takes an order back, also one that is still only a reservation
//	Expire        unpaid orders past their deadline are cancelled
//	PayByWallet   a buyer pays from the wallet, or accepts an offered deposit seat
//	PayByProvider a buyer begins to pay by the provider, or goes on with it
//	LearnPayment  the provider says what became of a payment; LearnRefund of a refund
//	DecideLate    a success whose order ran out becomes a new order, or goes back
//	MarkPaid      an operator says that an order was paid
//	Refund        an operator gives back what was paid, or a penalty; SendRefunds sends what goes to the provider
//	CallOff       a whole sale is given back; ExtendDeadlines moves its deadlines; RunBulkJobs goes through its orders
//	Tombstone     an id that shall never become an order gets a CANCELLED row
//	ConfirmDeposit, SettleDeposit, WaiveDeposit, ExtendDeposit    what can become of a deposit; its states stand in package deposit
//	RemindDeposit, SweepDeposits   buyers are reminded, and what is overdue is reminded and settled in pages
//	JoinWaitlist, LeaveWaitlist    a user waits for units, or does not any more; an offer that is left is declined
//	FillWaitlist  units that are free are offered to those who wait, in turn, before the public can have them
//	CreateMissing a repair's CreateOrders: what was taken for an entry of the waitlist becomes its offer, or dies
//
// # What always holds
//
// MySQL decides first and Redis follows: units go back in Redis only when a CANCELLED row is committed. Every id is claimed by
// an insert that cannot overwrite, so of all who want to decide about an id one wins and the others find what it decided. Rows are
// locked in one order everywhere, each in key order: Idempotency-Key, or the row of a job; activity (shared); orders by id; deposits;
// payments; entries of the waitlist; limits by user; wallets; buckets by number.
//
// States move first, each as the one that it leaves, and money with them in the same transaction: an order's payment is in the ledger
// once, whoever brings it, and what goes back is never more. A TEST sale has all the rows and moves no money.
//
// # Batches
//
// A batch runs on trust first: orders, limits, deposits and stock log are written as they were asked for, and the buckets last, in one
// conditional statement per type. Only when a gate of the database refuses, or a wallet is short, does the batch run again with care:
// limits, wallets and buckets are locked and read, every reservation is judged in memory in the order in which Redis took them, and what cannot be is
// written as CANCELLED. A refusal is rare, and costs one transaction more when it happens.
package checkout

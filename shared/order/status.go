package order

// Status is where an order stands. The diagram is in the package comment.
type Status string

// The states of an order. Reserved is never stored: it is the answer for a reservation that has no row yet.
const (
	Reserved  Status = "RESERVED"
	Unpaid    Status = "UNPAID"
	Paid      Status = "PAID"
	Cancelled Status = "CANCELLED"
)

// edges of the state diagram, from -> to.
var edges = map[Status][]Status{
	Reserved: {Unpaid, Paid, Cancelled},
	Unpaid:   {Paid, Cancelled},
	Paid:     {Cancelled},
}

// CanBecome says whether an order may go from this state to the next one.
func (s Status) CanBecome(next Status) bool {
	for _, to := range edges[s] {
		if to == next {
			return true
		}
	}
	return false
}

// Valid says whether the state is one of those that a row can have.
func (s Status) Valid() bool { return s == Unpaid || s == Paid || s == Cancelled }

// Rank orders the states as an order passes through them: 0 RESERVED, 1 UNPAID, 2 PAID, 3 CANCELLED. A cache that is written
// only upward by rank never goes back in an order's life.
func (s Status) Rank() int {
	switch s {
	case Unpaid:
		return 1
	case Paid:
		return 2
	case Cancelled:
		return 3
	}
	return 0
}

// Live says whether the order holds units of stock.
func (s Status) Live() bool { return s == Unpaid || s == Paid }

// Reason says why an order is CANCELLED; it is empty in every other state.
type Reason string

// The reasons there are.
const (
	InsufficientStock Reason = "INSUFFICIENT_STOCK" // MySQL had fewer units left than Redis gave away
	PurchaseLimit     Reason = "PURCHASE_LIMIT"     // MySQL knows more live orders of the user than Redis did
	ByUser            Reason = "USER"
	PayTimeout        Reason = "PAY_TIMEOUT"
	SaleClosed        Reason = "SALE_CLOSED" // the sale was closed before the reservation became an order
	ByOperator        Reason = "OPERATOR"

	InsufficientBalance Reason = "INSUFFICIENT_BALANCE" // the wallet held less than the deposit
	Undeliverable       Reason = "UNDELIVERABLE"        // its message never came, and nobody had been promised an order
	DepositForfeited    Reason = "DEPOSIT_FORFEITED"    // the buyer did not confirm in time
	SaleCancelled       Reason = "SALE_CANCELLED"       // the sale was called off
)

// Source says which way an order came into the database.
type Source string

// The ways there are.
const (
	FromSale   Source = "SALE"   // a message of the queue
	FromSweep  Source = "SWEEP"  // the pending sweep, from the log in Redis
	FromCancel Source = "CANCEL" // a tombstone that stops what was only a reservation
	FromOffer  Source = "OFFER"  // an offer of the waitlist
	FromLate   Source = "LATE"   // a payment that came after its order was cancelled, or the tombstone of such an order
)

// PaidByDeposit is the paid_by of an order that was confirmed: its deposit paid for it, and a supplement perhaps.
const PaidByDeposit = "DEPOSIT"

// manualPrefix stands before the reference of an operator in paid_by.
const manualPrefix = "MANUAL:"

// PaidByManual is the paid_by of an order that an operator marked as paid under a reference of theirs.
func PaidByManual(reference string) string { return manualPrefix + reference }

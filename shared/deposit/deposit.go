package deposit

import (
	"errors"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/sale"
)

// ErrNotFound is returned for an order that has no deposit.
var ErrNotFound = errors.New("deposit: not found")

// ErrChanged is returned when a deposit is not in the state that a change leaves. The caller has locked the row, so it is a mistake of
// the caller or of the data, never a race.
var ErrChanged = errors.New("deposit: not in the state that the change leaves")

// Status is where a deposit stands. The diagram is in the package comment.
type Status string

// The states of a deposit.
const (
	Frozen    Status = "FROZEN"
	Confirmed Status = "CONFIRMED"
	Deducted  Status = "DEDUCTED"
	Penalty   Status = "PENALTY"
	Refunded  Status = "REFUNDED"
)

// edges of the state diagram, from -> to.
var edges = map[Status][]Status{
	Frozen:    {Confirmed, Penalty, Refunded},
	Confirmed: {Deducted},
	Penalty:   {Refunded},
}

// CanBecome says whether a deposit may go from this state to the next one.
func (s Status) CanBecome(next Status) bool {
	for _, to := range edges[s] {
		if to == next {
			return true
		}
	}
	return false
}

// Valid says whether the state is one of those there are.
func (s Status) Valid() bool {
	switch s {
	case Frozen, Confirmed, Deducted, Penalty, Refunded:
		return true
	}
	return false
}

// Record is one row of deposit_record. All amounts are of one currency and none is negative.
type Record struct {
	OrderID    sale.OrderID
	ActivityID string
	UserID     string
	Mode       sale.Mode // a TEST deposit moves no money
	Status     Status

	Deposit         money.Amount // what was frozen, above 0
	PenaltyDue      money.Amount // what of it the club keeps if the buyer does not confirm
	Consumed        money.Amount // what of it paid for the order
	Supplement      money.Amount // what the buyer paid on top of it when confirming
	Penalty         money.Amount // what of it the club has kept
	Refunded        money.Amount // what of it the buyer has back
	PenaltyReversed money.Amount // what of the penalty an operator gave back later

	ConfirmDeadline time.Time // first instant of being too late to confirm, whole seconds
	RemindAt        time.Time // whole seconds
	RemindedAt      *time.Time
	PenaltyRatio    decimal.Decimal
	Cancellation    sale.Cancellation
	ClubID          string
	PolicyHash      sale.PolicyHash

	StartedAt *time.Time // when its workflow is known to have been started
	Revision  int64      // 1 at first; rises with every change
	CreatedAt time.Time
	UpdatedAt time.Time
	SettledAt *time.Time // when it left FROZEN
}

// Execution is what a deposit's workflow is started with: the instants that hold then. An operator may move them later; the workflow learns
// from the row that it is too early, and waits on.
type Execution struct {
	OrderID  sale.OrderID
	RemindAt time.Time // whole seconds
	Deadline time.Time // whole seconds
}

// Buyer says whose deposit of what is made: the particulars of its order.
type Buyer struct {
	OrderID    sale.OrderID
	ActivityID string
	UserID     string
	Mode       sale.Mode
}

// New makes the FROZEN record of an order by the terms of a policy.
func New(b Buyer, p *sale.DepositPolicy, t sale.DepositTerms, now time.Time) Record {
	zero := money.Zero(t.Deposit.Currency)
	return Record{
		OrderID: b.OrderID, ActivityID: b.ActivityID, UserID: b.UserID, Mode: b.Mode, Status: Frozen,
		Deposit: t.Deposit, PenaltyDue: t.Penalty, Consumed: zero, Supplement: zero, Penalty: zero, Refunded: zero, PenaltyReversed: zero,
		ConfirmDeadline: p.ConfirmDeadline, RemindAt: p.RemindAt, PenaltyRatio: p.PenaltyRatio, Cancellation: p.Cancellation,
		ClubID: p.ClubID, PolicyHash: p.Hash(), Revision: 1, CreatedAt: now, UpdatedAt: now,
	}
}

// Execution is what the deposit's workflow is to be started with.
func (r *Record) Execution() Execution {
	return Execution{OrderID: r.OrderID, RemindAt: r.RemindAt, Deadline: r.ConfirmDeadline}
}

// DueAt says whether the deadline is reached at an instant of the database's clock: a deadline that is reached is passed.
func (r *Record) DueAt(now time.Time) bool { return !r.ConfirmDeadline.After(now) }

// Terms are the terms that the deposit was frozen on, for an order of this amount.
func (r *Record) Terms(amount money.Amount) sale.DepositTerms {
	return sale.DepositTerms{Amount: amount, Deposit: r.Deposit, Penalty: r.PenaltyDue}
}

// confirm makes a FROZEN record DEDUCTED.
func (r *Record) confirm(consumed, supplement, surplus money.Amount, now time.Time) {
	r.Status, r.Consumed, r.Supplement, r.Refunded = Deducted, consumed, supplement, surplus
	r.leave(now)
}

// penalise makes a FROZEN record keep the penalty that is due and give the rest back.
func (r *Record) penalise(now time.Time) {
	r.Penalty, r.Refunded = r.PenaltyDue, r.Deposit.Minus(r.PenaltyDue)
	r.Status = Refunded
	if r.Refunded.IsZero() {
		r.Status = Penalty
	}
	r.leave(now)
}

// giveBack makes a FROZEN record give everything back.
func (r *Record) giveBack(now time.Time) {
	r.Status, r.Refunded = Refunded, r.Deposit
	r.leave(now)
}

func (r *Record) leave(now time.Time) {
	at := now.UTC()
	r.UpdatedAt, r.SettledAt = at, &at
	r.Revision++
}

package payment

import (
	"context"
	"errors"
	"time"

	"holdfast/shared/money"
	"holdfast/shared/sale"
)

// Errors of a provider.
var (
	// ErrRefused: the provider will not do it, however often it is asked.
	ErrRefused = errors.New("payment: the provider refuses")
	// ErrNoProvider: it could not be reached, or did not answer in time; it may have done what it was asked.
	ErrNoProvider = errors.New("payment: the provider does not answer")
)

// Provider is a company that charges buyers. Both calls are idempotent by our ids: the same id again is the same charge or the same
// refund, and answers how that stands. They make one attempt, end with ctx, and return ErrRefused or ErrNoProvider (wrapped). A TEST
// sale never calls them.
type Provider interface {
	// Begin opens a charge, and says what the buyer has to do. That the charge succeeded is told later, by a notification.
	Begin(ctx context.Context, c Charge) (Action, error)
	// Refund gives back a part of a charge or all of it, and says how the refund stands: SENT while the provider works on it.
	Refund(ctx context.Context, r RefundOrder) (RefundState, error)
}

// Charge is what a provider is to take from a buyer.
type Charge struct {
	PaymentID string
	OrderID   sale.OrderID
	Amount    money.Amount
	ReturnURL string    // where the buyer comes back to; empty: nowhere
	ExpiresAt time.Time // when we give it up; zero: never
}

// RefundOrder is what a provider is to give back.
type RefundOrder struct {
	RefundID  string
	PaymentID string // of the charge
	Amount    money.Amount
}

// RefundState is how a refund stands at the provider.
type RefundState struct {
	Status  RefundStatus // SENT, SUCCEEDED or FAILED
	Failure string       // of FAILED: why, as a code
}

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

// Provider is a company that charges buyers. Begin and Refund are idempotent by our ids: the same id again is the same charge or the same
// refund, and answers how that stands; List changes nothing. All make one attempt, end with ctx, and return ErrRefused or ErrNoProvider
// (wrapped). A TEST sale never begins a charge or sends a refund.
type Provider interface {
	// Begin opens a charge, and says what the buyer has to do. That the charge succeeded is told later, by a notification.
	Begin(ctx context.Context, c Charge) (Action, error)
	// Refund gives back a part of a charge or all of it, and says how the refund stands: SENT while the provider works on it.
	Refund(ctx context.Context, r RefundOrder) (RefundState, error)
	// List gives a page of the charges and refunds that succeeded within an interval: of money that moved, whatever news came of it.
	List(ctx context.Context, w Listing) (ListPage, error)
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

// Listing is a wish for what succeeded in an interval.
type Listing struct {
	From, To time.Time // by the provider's clock; From is in it, and To is not
	After    string    // Next of the page before; empty: the first page
	Limit    int       // how many at most; 1..MaxListed
}

// MaxListed is how many successes a page holds at most.
const MaxListed = 500

// ListPage is a page of what succeeded, the earliest first. A later page never holds anything of an earlier instant.
type ListPage struct {
	Successes []Success // empty only on the last page
	Next      string    // asks for the page after it; empty: this is the last one
}

// Success is a charge or a refund that succeeded, as the provider lists it. Each is listed once.
type Success struct {
	PaymentID string // ours, of a charge; empty: it is a refund
	RefundID  string // ours, of a refund; empty: it is a charge
	Amount    money.Amount
	At        time.Time // by the provider's clock, whole milliseconds
	Reference string    // what the provider calls it; of a charge, what it answered when that was begun; empty: not told
}

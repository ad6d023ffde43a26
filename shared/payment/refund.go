package payment

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/wallet"
)

// RefundStatus is where a refund stands. The diagram is in the package comment.
type RefundStatus string

// The states of a refund.
const (
	RefundRequested RefundStatus = "REQUESTED"
	RefundSent      RefundStatus = "SENT"
	RefundSucceeded RefundStatus = "SUCCEEDED"
	RefundFailed    RefundStatus = "FAILED"
)

// Final says whether nothing comes after the state.
func (s RefundStatus) Final() bool { return s == RefundSucceeded || s == RefundFailed }

// Target is where a refund goes: to where the money came from.
type Target = wallet.Target

// The targets there are. What an operator marked as paid goes back by hand, outside of all that is recorded here.
const (
	ToWallet   = wallet.ToWallet
	ToProvider = wallet.ToProvider
	ToOutside  = wallet.ToOutside
)

// Refund is one row of refund.
type Refund struct {
	ID         string
	OrderID    sale.OrderID
	ActivityID string
	UserID     string
	PaymentID  string // what it gives back of; empty: the order was paid otherwise
	Surplus    bool   // gives back a payment that did not pay its order
	Penalty    bool   // gives back a penalty, from the club
	Target     Target
	Amount     money.Amount
	Status     RefundStatus
	Reason     string // a code, or the words of an operator; 1..500 characters
	Attempts   int    // how often it was sent
	DueAt      time.Time
	LastError  string
	CreatedAt  time.Time
	UpdatedAt  time.Time
	FinishedAt *time.Time
}

// refundPrefix stands before the ids that are made here; operators give theirs without it.
const refundPrefix = "rf_"

// NewRefundID is the id of the one refund that a cause brings about: "surplus" of a payment, "cancellation" of an order.
func NewRefundID(cause, of string) string {
	sum := sha256.Sum256([]byte("refund\x00" + cause + "\x00" + of))
	return refundPrefix + hex.EncodeToString(sum[:20])
}

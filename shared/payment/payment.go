package payment

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"holdfast/shared/money"
	"holdfast/shared/sale"
)

// Errors of payments and refunds.
var (
	ErrNotFound = errors.New("payment: not found")
	ErrOpen     = errors.New("payment: another payment of the order is pending")
	ErrChanged  = errors.New("payment: not in the state that the change leaves")
	ErrExists   = errors.New("payment: the id is taken, or the surplus goes back already")
)

// Method is what a payment pays with.
type Method string

// The methods there are.
const (
	ByWallet   Method = "WALLET"
	ByProvider Method = "PROVIDER"
)

// Status is where a payment stands. The diagram is in the package comment.
type Status string

// The states of a payment.
const (
	Pending   Status = "PENDING"
	Succeeded Status = "SUCCEEDED"
	Failed    Status = "FAILED"
	Expired   Status = "EXPIRED"
)

// edges of the state diagram, from -> to.
var edges = map[Status][]Status{
	Pending: {Succeeded, Failed, Expired},
	Failed:  {Succeeded},
	Expired: {Succeeded},
}

// CanBecome says whether a payment may go from this state to the next one.
func (s Status) CanBecome(next Status) bool {
	for _, to := range edges[s] {
		if to == next {
			return true
		}
	}
	return false
}

// Disposition is what became of the money of a success; empty while it is not decided.
type Disposition string

// The dispositions there are.
const (
	ToOrder    Disposition = "ORDER"
	ToNewOrder Disposition = "NEW_ORDER"
	ToRefund   Disposition = "REFUND"
)

// Payment is one row of payment.
type Payment struct {
	ID                string
	OrderID           sale.OrderID
	ActivityID        string
	UserID            string
	Mode              sale.Mode
	Method            Method
	Amount            money.Amount
	Status            Status
	Disposition       Disposition
	NewOrderID        *sale.OrderID // the order that a late payment made, or its tombstone
	ProviderReference string        // id of the charge at the provider; empty: not known
	Action            *Action       // what the app has to do while it is PENDING
	Failure           string        // why it FAILED, as a code
	ExpiresAt         *time.Time    // whole seconds; nil: never
	CreatedAt         time.Time
	UpdatedAt         time.Time
	SucceededAt       *time.Time
}

// idPrefix marks the ids of payments, so that one is never taken for an operator's reference.
const idPrefix = "pay_"

// NewID is the id of the attempt that a buyer named by an Idempotency-Key for an order. The key itself cannot be read from it.
func NewID(order sale.OrderID, key string) string {
	h := sha256.New()
	h.Write([]byte("payment"))
	h.Write(order[:])
	h.Write([]byte(key))
	return idPrefix + hex.EncodeToString(h.Sum(nil)[:20])
}

// ExpiredAt says whether a PENDING payment is to be given up at an instant of the database's clock.
func (p *Payment) ExpiredAt(now time.Time) bool { return p.ExpiresAt != nil && !p.ExpiresAt.After(now) }

// Action is what the app has to do so that the buyer can pay. As JSON it is what the row keeps and what clients see.
type Action struct {
	Type        string `json:"type"` // REDIRECT or SDK
	URL         string `json:"url,omitempty"`
	ClientToken string `json:"clientToken,omitempty"`
	Reference   string `json:"-"` // id of the charge at the provider; kept in a column of its own and never shown
}

package notice

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"holdfast/shared/sale"
)

// Kind is what a notice says, as a code.
type Kind string

// The kinds there are.
const (
	OrderCreated     Kind = "ORDER_CREATED"
	OrderPaid        Kind = "ORDER_PAID"
	OrderCancelled   Kind = "ORDER_CANCELLED"
	DepositReminder  Kind = "DEPOSIT_REMINDER"
	DepositConfirmed Kind = "DEPOSIT_CONFIRMED"
	DepositPenalty   Kind = "DEPOSIT_PENALTY"
	DeadlineExtended Kind = "DEADLINE_EXTENDED"
	WaitlistOffer    Kind = "WAITLIST_OFFER"
	RefundSucceeded  Kind = "REFUND_SUCCEEDED"
	RefundFailed     Kind = "REFUND_FAILED"
)

// eventTypes are the names that subscribers know the kinds by.
var eventTypes = map[Kind]string{
	OrderCreated:     "order.created",
	OrderPaid:        "order.paid",
	OrderCancelled:   "order.cancelled",
	DepositReminder:  "deposit.reminder",
	DepositConfirmed: "deposit.confirmed",
	DepositPenalty:   "deposit.penalty",
	DeadlineExtended: "deadline.extended",
	WaitlistOffer:    "waitlist.offer",
	RefundSucceeded:  "refund.succeeded",
	RefundFailed:     "refund.failed",
}

// EventType is the name that subscribers know the kind by, such as "order.paid"; "" for a kind that there is not.
func (k Kind) EventType() string { return eventTypes[k] }

// Status is where a notice stands. The diagram is in the package comment.
type Status string

// The states of a notice.
const (
	Waiting Status = "WAITING"
	Claimed Status = "CLAIMED"
	Sent    Status = "SENT"
	Skipped Status = "SKIPPED"
)

// Notice is something that a person is to be told.
type Notice struct {
	Subject    string // 1..191 bytes; with Kind it names the notice
	Kind       Kind
	UserID     string // who is told
	ActivityID string
	OrderID    sale.OrderID // zero: about no order
	Mode       sale.Mode    // as the activity's
	Data       any          // becomes a JSON object; no personal data
	ExpiresAt  *time.Time   // first instant of being too late to tell; nil: never
}

// Stored is a notice as its row has it.
type Stored struct {
	ID         int64
	Subject    string
	Kind       Kind
	UserID     string
	ActivityID string
	OrderID    sale.OrderID // zero: about no order
	Mode       sale.Mode
	Data       json.RawMessage
	Status     Status
	Attempts   int // how often sending was begun, this claim with it
	ExpiresAt  *time.Time
	CreatedAt  time.Time
}

// Name is the notice's id as everybody outside sees it.
func (n *Stored) Name() string { return strconv.FormatInt(n.ID, 10) }

// envelope is the one form of all events. Members that do not apply are absent.
type envelope struct {
	ID         string          `json:"id"`
	Type       string          `json:"type"`
	Version    int             `json:"version"`
	Time       time.Time       `json:"time"`
	ActivityID string          `json:"activityId"`
	OrderID    string          `json:"orderId,omitempty"`
	UserID     string          `json:"userId,omitempty"`
	Data       json.RawMessage `json:"data"`
}

// Envelope is the notice as subscribers read it: {"id","type","version":1,"time","activityId","orderId"?,"userId","data"}. Two readings
// of one notice give the same bytes. It returns an error for a kind that there is not and for data that is no JSON.
func (n *Stored) Envelope() ([]byte, error) {
	name := n.Kind.EventType()
	if name == "" {
		return nil, fmt.Errorf("notice: %d: there is no kind %q", n.ID, n.Kind)
	}
	e := envelope{ID: n.Name(), Type: name, Version: 1, Time: n.CreatedAt.UTC(), ActivityID: n.ActivityID, UserID: n.UserID, Data: n.Data}
	if n.OrderID != (sale.OrderID{}) {
		e.OrderID = n.OrderID.String()
	}
	body, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("notice: %d: %w", n.ID, err)
	}
	return body, nil
}

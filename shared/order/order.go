package order

import (
	"errors"
	"time"

	"holdfast/shared/money"
	"holdfast/shared/sale"
)

// ErrNotFound is returned for an id that has no row.
var ErrNotFound = errors.New("order: not found")

// Order is one row of trade_order. As JSON it is what the order cache keeps; the form that clients see is made by the edge.
type Order struct {
	ID          sale.OrderID     `json:"id"`
	Reference   string           `json:"reference,omitempty"` // ten characters for people; empty when another order of the activity has them
	Revision    int64            `json:"revision,string"`     // 1 at first; rises with every change of state
	ActivityID  string           `json:"activityId"`
	Mode        sale.Mode        `json:"mode"`
	UserID      string           `json:"userId"`
	TicketType  string           `json:"ticketType"`
	Quantity    int              `json:"quantity"`
	Allocations sale.Allocations `json:"allocations"` // sorted by bucket; what MySQL decided, which Redis follows
	UnitPrice   money.Amount     `json:"unitPrice"`
	Amount      money.Amount     `json:"amount"`   // unit price times quantity
	Paid        money.Amount     `json:"paid"`     // what was received for it
	Refunded    money.Amount     `json:"refunded"` // what of that went back; never more than paid
	PaidBy      string           `json:"paidBy,omitempty"`
	Source      Source           `json:"source"`
	Status      Status           `json:"status"`
	Reason      Reason           `json:"reason,omitempty"`      // of CANCELLED only
	PayDeadline *time.Time       `json:"payDeadline,omitempty"` // whole seconds of the database's clock; absent: no deadline
	Seq         int64            `json:"seq,string"`            // of the taking in Redis' log, microseconds
	ReservedAt  time.Time        `json:"reservedAt"`            // the instant of taking by the clock of Redis
	CreatedAt   time.Time        `json:"createdAt"`
	UpdatedAt   time.Time        `json:"updatedAt"`
	CancelledAt *time.Time       `json:"cancelledAt,omitempty"`
	ReleasedAt  *time.Time       `json:"releasedAt,omitempty"` // when Redis confirmed that the units are free again
	Replaces    *sale.OrderID    `json:"replaces,omitempty"`
	ReplacedBy  *sale.OrderID    `json:"replacedBy,omitempty"`
	MessageID   string           `json:"messageId,omitempty"` // of the message that made it; empty for a sweep
	Before      int              `json:"-"`                   // units of the type left in Redis before the taking; -1 unknown; for the stock log
}

// New makes the order that a reservation becomes, UNPAID and without deadline: the caller settles state and deadline before
// anything is written. The type's price must be in the activity's currency.
func New(a *sale.Activity, t sale.TicketType, r sale.Reservation, source Source, messageID string, now time.Time) Order {
	return Order{
		ID: r.OrderID, Reference: r.OrderID.Reference(), Revision: 1,
		ActivityID: a.ID, Mode: a.Mode, UserID: r.UserID, TicketType: t.ID,
		Quantity: r.Quantity, Allocations: r.Allocations,
		UnitPrice: t.Price, Amount: t.Price.Times(r.Quantity), Paid: money.Zero(a.Currency), Refunded: money.Zero(a.Currency),
		Source: source, Status: Unpaid, Seq: r.Seq, ReservedAt: r.At, CreatedAt: now, UpdatedAt: now,
		MessageID: messageID, Before: r.Before,
	}
}

// Reservation is the part of the order that Redis keeps.
func (o *Order) Reservation() sale.Reservation {
	return sale.Reservation{OrderID: o.ID, ActivityID: o.ActivityID, UserID: o.UserID, TicketType: o.TicketType,
		Quantity: o.Quantity, Allocations: o.Allocations, Seq: o.Seq, At: o.ReservedAt, Before: o.Before}
}

// ExpiredAt says whether the order may no longer be paid at an instant of the database's clock: a deadline that is reached is
// passed.
func (o *Order) ExpiredAt(now time.Time) bool {
	return o.PayDeadline != nil && !o.PayDeadline.After(now)
}

// Fulfil makes a new order PAID at once, as one of amount 0 is: nothing is owed.
func (o *Order) Fulfil() { o.Status, o.PayDeadline = Paid, nil }

// Await makes a new order wait for its payment until the deadline, which is cut to whole seconds.
func (o *Order) Await(deadline time.Time) {
	at := deadline.UTC().Truncate(time.Second)
	o.Status, o.PayDeadline = Unpaid, &at
}

// Cancel makes the order CANCELLED in memory, with its reason; CancelAll changes the row.
func (o *Order) Cancel(reason Reason, now time.Time) {
	at := now.UTC()
	o.Status, o.Reason, o.CancelledAt, o.UpdatedAt = Cancelled, reason, &at, at
}

// SameWish says whether the order is the one that a reservation with these particulars became. An id that is known with other
// particulars belongs to somebody else's wish and is never taken for this one.
func (o *Order) SameWish(activityID, userID, ticketType string, quantity int) bool {
	return o.ActivityID == activityID && o.UserID == userID && o.TicketType == ticketType && o.Quantity == quantity
}

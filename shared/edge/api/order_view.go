package api

import (
	"math/rand/v2"
	"time"

	"holdfast/shared/money"
	"holdfast/shared/order"
	"holdfast/shared/sale"
)

// How soon a client is told to ask again: the first while the order is being made, the second while its end is being recorded.
const (
	pollReserved = 500 * time.Millisecond
	pollExpired  = 2 * time.Second
)

// usualDelay is when a reservation has normally become an order: the sweep's grace, and a run of the sweep after it.
const usualDelay = 2 * time.Minute

// orderView is an order as clients see it.
type orderView struct {
	OrderID     string           `json:"orderId"`
	Reference   string           `json:"reference,omitempty"`
	Revision    int64            `json:"revision"`
	ActivityID  string           `json:"activityId"`
	Mode        sale.Mode        `json:"mode"`
	TicketType  string           `json:"ticketType"`
	Quantity    int              `json:"quantity"`
	Items       []itemView       `json:"items"`
	Amount      money.Amount     `json:"amount"`
	Status      order.Status     `json:"status"`
	Reason      order.Reason     `json:"reason,omitempty"`
	CreatedAt   string           `json:"createdAt"`
	PayDeadline string           `json:"payDeadline,omitempty"`
	ExpectedBy  string           `json:"expectedBy,omitempty"`
	Allocations sale.Allocations `json:"allocations,omitempty"`
	Payment     *paymentView     `json:"payment,omitempty"`
	Refunds     []refundView     `json:"refunds,omitempty"`

	RefundedTotal *money.Amount `json:"refundedTotal,omitempty"` // of refunds that did not fail
	Deposit       *heldView     `json:"deposit,omitempty"`

	ReplacedBy  string `json:"replacedBy,omitempty"`
	Replaces    string `json:"replaces,omitempty"`
	PollAfterMs int64  `json:"pollAfterMs,omitempty"`
	Now         string `json:"now,omitempty"`
}

// itemView is one line of an order; an order has exactly one today.
type itemView struct {
	TicketType string       `json:"ticketType"`
	Quantity   int          `json:"quantity"`
	UnitPrice  money.Amount `json:"unitPrice"`
	Amount     money.Amount `json:"amount"`
}

// viewOrder writes an order as it stands at an instant of the deciding clock.
func viewOrder(o *order.Order, now time.Time) orderView {
	v := orderView{
		OrderID: o.ID.String(), Reference: o.Reference, Revision: o.Revision, ActivityID: o.ActivityID, Mode: o.Mode,
		TicketType: o.TicketType, Quantity: o.Quantity,
		Items:  []itemView{{TicketType: o.TicketType, Quantity: o.Quantity, UnitPrice: o.UnitPrice, Amount: o.Amount}},
		Amount: o.Amount, Status: o.Status, Reason: o.Reason, CreatedAt: stamp(o.CreatedAt), PayDeadline: optStamp(o.PayDeadline),
		Allocations: o.Allocations, Now: stamp(now), PollAfterMs: pollAfter(o, now).Milliseconds(),
	}
	if !o.ReservedAt.IsZero() { // the same instant before and after the row is made
		v.CreatedAt = stamp(o.ReservedAt)
	}
	if o.Status == order.Reserved {
		v.ExpectedBy = stamp(o.ReservedAt.Add(usualDelay))
	}
	if o.Replaces != nil {
		v.Replaces = o.Replaces.String()
	}
	if o.ReplacedBy != nil {
		v.ReplacedBy = o.ReplacedBy.String()
	}
	return v
}

// pollAfter is when asking for the order again makes sense, with jitter; 0 is never. An UNPAID order waits for its buyer, so it
// only changes by itself once its deadline has passed.
func pollAfter(o *order.Order, now time.Time) time.Duration {
	switch {
	case o.Status == order.Reserved:
		return pollReserved + rand.N(pollReserved)
	case o.Status == order.Unpaid && o.ExpiredAt(now):
		return pollExpired + rand.N(pollExpired)
	}
	return 0
}

// tag is the entity tag of what the order says, whenever it is said.
func (v orderView) tag(complete bool) (string, error) {
	v.Now, v.PollAfterMs = "", 0
	return orderTag(v, complete)
}

// orderTag gives an order that is told without its money another tag than the same order that has none: whether it is unchanged nobody
// knows.
func orderTag(v any, complete bool) (string, error) {
	if !complete {
		return contentTag([]any{v})
	}
	return contentTag(v)
}

// reservedOrder is the order that a reservation will become, as far as it is known before MySQL has decided: its price and mode
// never change after publication.
func reservedOrder(f *sale.Facts, r sale.Reservation) *order.Order {
	o := &order.Order{ID: r.OrderID, Reference: r.OrderID.Reference(), ActivityID: r.ActivityID, Mode: f.Mode, UserID: r.UserID,
		TicketType: r.TicketType, Quantity: r.Quantity, Allocations: r.Allocations, Status: order.Reserved,
		Seq: r.Seq, ReservedAt: r.At, CreatedAt: r.At, UpdatedAt: r.At, Before: r.Before}
	if t, known := f.Type(r.TicketType); known {
		o.UnitPrice, o.Amount = t.Price, t.Price.Times(r.Quantity)
	}
	return o
}

// deadOrder is a reservation that the log says was given back: an order that is CANCELLED for a reason.
func deadOrder(f *sale.Facts, r sale.Reservation, reason string) *order.Order {
	o := reservedOrder(f, r)
	o.Status, o.Reason = order.Cancelled, order.Reason(reason)
	return o
}

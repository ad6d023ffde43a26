package checkout

import (
	"context"
	"time"

	"holdfast/shared/money"
	"holdfast/shared/notice"
	"holdfast/shared/order"
)

// ringPatience bounds what a caller waits for the bell: the minute pass rings too.
const ringPatience = 300 * time.Millisecond

// RingBy has ring wake the sender of notices after commits that wrote some; it is called before the first use, if at all.
func (c *Checkout) RingBy(ring func(ctx context.Context) error) { c.bell = ring }

// ring wakes the sender of notices, after a commit that wrote some. It is best effort: the rows are there, and the minute pass finds
// those that nobody was woken for.
func (c *Checkout) ring(ctx context.Context) {
	if c.bell == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, ringPatience)
	defer cancel()
	if err := c.bell(ctx); err != nil {
		c.log.Warn("the sender of notices was not woken and is left to the minute pass", "error", err)
	}
}

// lateAfter is how long due notices wait before the minute pass takes it that nobody was woken for them.
const lateAfter = time.Minute

// RingIfLate wakes the sender when notices have been due for more than a minute, and says whether it did. It returns the errors of the
// database and of the bell; the next pass tries again.
func (c *Checkout) RingIfLate(ctx context.Context) (bool, error) {
	if c.bell == nil {
		return false, nil
	}
	now, err := c.db.Now(ctx, c.db)
	if err != nil {
		return false, err
	}
	late, err := notice.Overdue(ctx, c.db, now.Add(-lateAfter))
	if err != nil || !late {
		return false, err
	}
	return true, c.bell(ctx)
}

// orderData is what a notice about an order says. Members that do not apply are absent.
type orderData struct {
	Revision    int64         `json:"revision"` // rises with every change of the order: what happened later has more
	Status      order.Status  `json:"status"`
	Reason      order.Reason  `json:"reason,omitempty"`
	TicketType  string        `json:"ticketType"`
	Quantity    int           `json:"quantity"`
	Amount      money.Amount  `json:"amount"`
	Paid        *money.Amount `json:"paid,omitempty"`
	Refunded    *money.Amount `json:"refunded,omitempty"`
	PayDeadline *time.Time    `json:"payDeadline,omitempty"`
}

// orderNotice is the notice of a kind about an order as it stands in memory, which must be as it is written: with the revision that
// the row has after the change.
func orderNotice(kind notice.Kind, o *order.Order) notice.Notice {
	data := orderData{Revision: o.Revision, Status: o.Status, Reason: o.Reason, TicketType: o.TicketType, Quantity: o.Quantity, Amount: o.Amount}
	if paid := o.Paid; !paid.IsZero() {
		data.Paid = &paid
	}
	if refunded := o.Refunded; !refunded.IsZero() {
		data.Refunded = &refunded
	}
	if o.Status == order.Unpaid && o.PayDeadline != nil {
		at := o.PayDeadline.UTC()
		data.PayDeadline = &at
	}
	return notice.Notice{Subject: o.ID.String(), Kind: kind, UserID: o.UserID, ActivityID: o.ActivityID, OrderID: o.ID, Mode: o.Mode, Data: data}
}

// freshNotices tells of orders that a batch made: of a live one that it was created, of one that owes nothing also that it is paid, of
// one that could not be that it is cancelled.
func freshNotices(fresh []order.Order) []notice.Notice {
	list := make([]notice.Notice, 0, len(fresh))
	for i := range fresh {
		o := &fresh[i]
		if !o.Status.Live() {
			list = append(list, orderNotice(notice.OrderCancelled, o))
			continue
		}
		list = append(list, orderNotice(notice.OrderCreated, o))
		if o.Status == order.Paid {
			list = append(list, orderNotice(notice.OrderPaid, o))
		}
	}
	return list
}

package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/fault"
	"holdfast/shared/money"
	"holdfast/shared/order"
	"holdfast/shared/sale"
)

// maxReason bounds what operators write down for each other, in characters.
const maxReason = 500

// operatorOrder is an order with what only operators see.
type operatorOrder struct {
	orderView
	UserID      string        `json:"userId"`
	Paid        *money.Amount `json:"paid,omitempty"` // this and refunded are absent while there is no row
	Refunded    *money.Amount `json:"refunded,omitempty"`
	PaidBy      string        `json:"paidBy,omitempty"`
	Source      order.Source  `json:"source,omitempty"`
	Seq         string        `json:"seq"`
	MessageID   string        `json:"messageId,omitempty"`
	UpdatedAt   string        `json:"updatedAt"`
	CancelledAt string        `json:"cancelledAt,omitempty"`
	ReleasedAt  string        `json:"releasedAt,omitempty"`
}

func viewOrderForOperator(o *order.Order, now time.Time) operatorOrder {
	v := operatorOrder{orderView: viewOrder(o, now), UserID: o.UserID, PaidBy: o.PaidBy, Source: o.Source,
		Seq: strconv.FormatInt(o.Seq, 10), MessageID: o.MessageID, UpdatedAt: stamp(o.UpdatedAt),
		CancelledAt: optStamp(o.CancelledAt), ReleasedAt: optStamp(o.ReleasedAt)}
	if o.Paid.Currency != "" {
		v.Paid, v.Refunded = &o.Paid, &o.Refunded
	}
	return v
}

// listOrders answers GET /ops/v1/orders from rows: what is still RESERVED has none.
func (o *operate) listOrders(ctx context.Context, r *Request, _ caller) (*Response, error) {
	q := r.Query()
	filter := order.Filter{UserID: q.Text("userId"), ActivityID: q.Text("activityId"), Reference: q.Text("reference"),
		Status: order.Status(q.OneOf("status", string(order.Reserved), string(order.Unpaid), string(order.Paid), string(order.Cancelled)))}
	if filter.UserID != "" && (len(filter.UserID) > 128 || !isPrintable(filter.UserID)) {
		q.Break("userId", "BAD_FORMAT", "1 to 128 printable ASCII characters")
	}
	if filter.ActivityID != "" && !isID(filter.ActivityID) {
		q.Break("activityId", "BAD_FORMAT", "1 to 64 letters, digits, - and _")
	}
	if filter.Reference != "" && !isReference(filter.Reference) {
		q.Break("reference", "BAD_FORMAT", "ten characters of Crockford's base32, in capitals")
	}
	cursor, limit := q.Text("cursor"), q.Limit()
	if err := q.Finish(); err != nil {
		return nil, err
	}
	list, next, err := order.List(ctx, o.DB, filter, cursor, limit)
	if errors.Is(err, order.ErrBadCursor) {
		return nil, badCursor(q)
	}
	if err != nil {
		return nil, err
	}
	now, err := o.DB.Now(ctx, o.DB)
	if err != nil {
		return nil, err
	}
	views := make([]operatorOrder, len(list))
	for i := range list {
		views[i] = viewOrderForOperator(&list[i], now)
	}
	return JSON(http.StatusOK, page[operatorOrder]{views, next})
}

// isReference says whether a text has the form of an order's reference.
func isReference(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c == 'I', c == 'L', c == 'O', c == 'U':
			return false
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z':
		default:
			return false
		}
	}
	return len(s) == 10
}

// getOrder answers GET /ops/v1/orders/{orderId}: the row, or the reservation while there is none. The cache is not asked: it
// does not know when units were released.
func (o *operate) getOrder(ctx context.Context, r *Request, _ caller) (*Response, error) {
	id, err := pathOrder(r)
	if err != nil {
		return nil, err
	}
	it, err := o.orders.row(ctx, id)
	if errors.Is(err, order.ErrNotFound) {
		it, err = o.reserved(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	v := viewOrderForOperator(it.order, it.now)
	var complete bool
	v.orderView, complete = o.orders.whole(ctx, it)
	tag, err := v.tag(complete)
	if err != nil {
		return nil, err
	}
	return r.tagged(v, tag, "private, no-cache")
}

// reserved finds an order that has no row as the reservation that it is so far.
func (o *operate) reserved(ctx context.Context, id sale.OrderID) (found, error) {
	f, err := o.facts.ofOrder(ctx, id)
	if err != nil {
		return found{}, err
	}
	return o.orders.find(ctx, f, id)
}

// tag is the entity tag of what the order says to operators, whenever it is said.
func (v operatorOrder) tag(complete bool) (string, error) {
	v.Now, v.PollAfterMs = "", 0
	return orderTag(v, complete)
}

// markOrderPaid answers POST /ops/v1/orders/{orderId}/payment: an operator says that an order was paid, under their reference.
func (o *operate) markOrderPaid(ctx context.Context, r *Request, by caller) (*Response, error) {
	id, err := pathOrder(r)
	if err != nil {
		return nil, err
	}
	f, err := r.Fields()
	if err != nil {
		return nil, err
	}
	reference := f.String("reference")
	if f.Has("reference") && f.OK() && (len(reference) > 100 || !isPrintable(reference)) {
		f.Break("reference", "BAD_FORMAT", "1 to 100 printable ASCII characters")
	}
	if err := f.Finish(); err != nil {
		return nil, err
	}
	paid, err := o.Checkout.MarkPaid(ctx, id, reference, by.entry("order.pay", id.String(), map[string]any{"reference": reference}))
	switch {
	case errors.Is(err, order.ErrNotFound):
		return nil, o.notPayableYet(ctx, id)
	case errors.Is(err, checkout.ErrNotPayable):
		return nil, fault.Wrap(fault.OrderNotPayable, err, "Only an order that is UNPAID can be marked as paid.")
	case errors.Is(err, checkout.ErrExpired):
		return nil, fault.Wrap(fault.OrderExpired, err, "The deadline of the order has passed; its units may be another's by now.")
	case err != nil:
		return nil, err
	}
	return o.answerOrder(ctx, paid)
}

// notPayableYet tells an order that is only a reservation so far from one that nobody knows.
func (o *operate) notPayableYet(ctx context.Context, id sale.OrderID) error {
	it, err := o.reserved(ctx, id)
	if err != nil {
		return err
	}
	return fault.New(fault.OrderNotPayable, "The order is %s: only one that is UNPAID can be marked as paid.", it.order.Status)
}

// cancelOrder answers POST /ops/v1/orders/{orderId}/cancellation.
func (o *operate) cancelOrder(ctx context.Context, r *Request, by caller) (*Response, error) {
	id, err := pathOrder(r)
	if err != nil {
		return nil, err
	}
	f, err := r.Fields()
	if err != nil {
		return nil, err
	}
	reason, refund := f.Text("reason", 1, maxReason), f.OneOf("refund", "RULE", "FULL", "NONE")
	if err := f.Finish(); err != nil {
		return nil, err
	}
	entry := by.entry("order.cancel", id.String(), map[string]any{"reason": reason, "refund": refund})
	cancelled, err := o.Checkout.Cancel(ctx, id, checkout.Canceller{Operator: &entry, Refund: checkout.RefundScope(refund)})
	if errors.Is(err, checkout.ErrNotCancellable) {
		return nil, fault.Wrap(fault.OrderNotCancellable, err, "The sale's refund rule cannot be read: cancel it with refund FULL or NONE.")
	}
	if err != nil {
		return nil, err
	}
	return o.answerOrder(ctx, cancelled)
}

// answerOrder answers with an order that was just changed.
func (o *operate) answerOrder(ctx context.Context, changed *order.Order) (*Response, error) {
	now, err := o.DB.Now(ctx, o.DB)
	if err != nil {
		return nil, err
	}
	v := viewOrderForOperator(changed, now)
	v.orderView, _ = o.orders.whole(ctx, found{changed, now})
	return JSON(http.StatusOK, v)
}

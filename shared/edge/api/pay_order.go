package api

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/checkout"
	"holdfast/shared/edge"
	"holdfast/shared/fault"
	"holdfast/shared/idempotency"
	"holdfast/shared/order"
	"holdfast/shared/payment"
)

// pay answers POST /v1/orders/{orderId}/payment.
type pay struct {
	edge.Deps
	orders *orders
}

// NewPayOrder builds POST /v1/orders/{orderId}/payment: the order PAID, or a payment by the provider that is under way. It takes DB,
// Stock, Checkout, Claims and Log.
func NewPayOrder(d edge.Deps) lambda.Handler {
	h := &pay{d, &orders{d: d, facts: newFacts(d)}}
	return serve(d, "pay-order", payBudget, h.answer)
}

func (h *pay) answer(ctx context.Context, r *Request) (*Response, error) {
	c, err := r.orderCall(h.Claims, "POST /v1/orders/{orderId}/payment", r.Body)
	if err != nil {
		return nil, err
	}
	f, err := r.Fields()
	if err != nil {
		return nil, err
	}
	method, returnURL := f.OneOf("method", string(payment.ByWallet), string(payment.ByProvider)), f.OptString("returnUrl")
	checkReturnURL(f, method, returnURL)
	if err := f.Finish(); err != nil {
		return nil, err
	}
	in := checkout.Paying{OrderID: c.id, UserID: c.user, Key: c.wish.Key.Key, Wish: c.wish}
	if returnURL != nil {
		in.ReturnURL = *returnURL
	}
	if method == string(payment.ByProvider) {
		return h.byProvider(ctx, in)
	}
	o, err := h.Checkout.PayByWallet(ctx, in)
	if err != nil {
		return nil, h.refused(ctx, &in, err)
	}
	return c.answer(ctx, h.Deps, o)
}

// checkReturnURL wants an absolute address that a browser can be sent to.
func checkReturnURL(f *Fields, method string, returnURL *string) {
	if returnURL == nil {
		return
	}
	u, err := url.Parse(*returnURL)
	if err != nil || len(*returnURL) > 2000 || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		f.Break("returnUrl", "BAD_FORMAT", "an absolute http or https address of at most 2000 characters")
	}
	if method == string(payment.ByWallet) {
		f.Break("returnUrl", "NOT_ALLOWED", "only with the method PROVIDER")
	}
}

// keepView is the answer that a key of an order's call keeps: the order with all that belongs to its money, as the transaction leaves it.
func keepView(ctx context.Context, tx *sql.Tx, o *order.Order, now time.Time) (idempotency.Answer, error) {
	v, err := viewWhole(ctx, tx, o, now)
	if err != nil {
		return idempotency.Answer{}, err
	}
	body, err := encode(v)
	return idempotency.Answer{Status: http.StatusOK, Body: body}, err
}

// byProvider opens a payment or goes on with it, and answers the order as it stands now: 202 until it is PAID.
func (h *pay) byProvider(ctx context.Context, in checkout.Paying) (*Response, error) {
	o, _, err := h.Checkout.PayByProvider(ctx, in)
	if err != nil {
		return nil, h.refused(ctx, &in, err)
	}
	status := http.StatusAccepted
	if o.Status == order.Paid {
		status = http.StatusOK
	}
	return h.show(ctx, o, status, in.Wish)
}

// show answers the order as it stands, to a call that may have been answered before.
func (h *pay) show(ctx context.Context, o *order.Order, status int, wish *checkout.Wish) (*Response, error) {
	response, err := showOrder(ctx, h.Deps, o, status)
	if err == nil && wish.Kept != nil {
		response.Header["Idempotency-Replayed"] = "true"
	}
	return response, err
}

// refused makes the fault of what a payment was refused for. A reservation that has no row yet is told from an order that nobody knows.
func (h *pay) refused(ctx context.Context, in *checkout.Paying, err error) error {
	if !errors.Is(err, order.ErrNotFound) {
		return payFault(err)
	}
	o, err := h.orders.unwritten(ctx, in.OrderID, in.UserID)
	if err != nil {
		return err
	}
	return fault.New(fault.OrderNotPayable, "The order is %s: only one that is UNPAID can be paid. Ask for it until it is.", o.Status)
}

// payFault gives the refusals of a payment their words.
func payFault(err error) error {
	switch {
	case errors.Is(err, checkout.ErrNotPayable), errors.Is(err, checkout.ErrTooLateToFreeze):
		return fault.Wrap(fault.OrderNotPayable, err, "Only an order that is UNPAID and waits for its payment can be paid.")
	case errors.Is(err, checkout.ErrExpired):
		return fault.Wrap(fault.OrderExpired, err, "The deadline of the order has passed; its units may be another's by now.")
	case errors.Is(err, checkout.ErrInsufficientBalance):
		return fault.Wrap(fault.InsufficientBalance, err, "The wallet holds too little; nothing was taken from it.")
	case errors.Is(err, checkout.ErrPaymentPending):
		return fault.Wrap(fault.PaymentPending, err, "Another payment of the order is under way; it ends by its success, its failure, or the order's deadline.")
	case errors.Is(err, payment.ErrNoProvider):
		return fault.Wrap(fault.ProviderUnavailable, err, "The payment provider does not answer. The same key goes on with the same payment.")
	}
	return err
}

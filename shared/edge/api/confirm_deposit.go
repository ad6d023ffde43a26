package api

import (
	"context"
	"errors"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge"
	"holdfast/shared/fault"
	"holdfast/shared/order"
)

// confirm answers POST /v1/orders/{orderId}/confirmation.
type confirm struct {
	edge.Deps
	orders *orders
}

// NewConfirmDeposit builds POST /v1/orders/{orderId}/confirmation: the order PAID by its deposit, also when it already was. It takes DB,
// Stock, Checkout, Claims and Log.
func NewConfirmDeposit(d edge.Deps) lambda.Handler {
	h := &confirm{d, &orders{d: d, facts: newFacts(d)}}
	return serve(d, "confirm-deposit", cancelBudget, h.answer)
}

func (h *confirm) answer(ctx context.Context, r *Request) (*Response, error) {
	c, err := r.orderCall(h.Claims, "POST /v1/orders/{orderId}/confirmation", nil)
	if err != nil {
		return nil, err
	}
	if err := noBody(r); err != nil {
		return nil, err
	}
	o, err := h.Checkout.ConfirmDeposit(ctx, c.id, c.user, c.wish)
	if errors.Is(err, order.ErrNotFound) {
		if o, err = h.orders.unwritten(ctx, c.id, c.user); err == nil {
			err = fault.New(fault.DepositNotFrozen, "The order is %s: its deposit is frozen once it is UNPAID. Ask for it until it is.", o.Status)
		}
	}
	if err != nil {
		return nil, err
	}
	return c.answer(ctx, h.Deps, o)
}

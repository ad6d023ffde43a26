package api

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/checkout"
	"holdfast/shared/edge"
)

// cancel answers POST /v1/orders/{orderId}/cancellation.
type cancel struct{ edge.Deps }

// NewCancelOrder builds POST /v1/orders/{orderId}/cancellation: the order CANCELLED, also when it already was. It takes DB, Checkout,
// Claims and Log.
func NewCancelOrder(d edge.Deps) lambda.Handler {
	return serve(d, "cancel-order", cancelBudget, (&cancel{d}).answer)
}

func (h *cancel) answer(ctx context.Context, r *Request) (*Response, error) {
	c, err := r.orderCall(h.Claims, "POST /v1/orders/{orderId}/cancellation", nil)
	if err != nil {
		return nil, err
	}
	if err := noBody(r); err != nil {
		return nil, err
	}
	o, err := h.Checkout.Cancel(ctx, c.id, checkout.Canceller{UserID: c.user, Wish: c.wish})
	if err != nil {
		return nil, err
	}
	return c.answer(ctx, h.Deps, o)
}

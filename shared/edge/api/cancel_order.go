package api

import (
	"context"
	"net/http"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/checkout"
	"holdfast/shared/edge"
	"holdfast/shared/idempotency"
)

// cancel answers POST /v1/orders/{orderId}/cancellation.
type cancel struct{ edge.Deps }

// NewCancelOrder builds POST /v1/orders/{orderId}/cancellation: the order CANCELLED, also when it already was. It takes DB, Checkout,
// Claims and Log.
func NewCancelOrder(d edge.Deps) lambda.Handler {
	return serve(d, "cancel-order", cancelBudget, (&cancel{d}).answer)
}

func (h *cancel) answer(ctx context.Context, r *Request) (*Response, error) {
	user, err := r.userID(h.Claims)
	if err != nil {
		return nil, err
	}
	text, err := r.idempotencyKey()
	if err != nil {
		return nil, err
	}
	id, err := pathOrder(r)
	if err != nil {
		return nil, err
	}
	if err := noBody(r); err != nil {
		return nil, err
	}
	// The key belongs to this order: with another one it names another wish.
	wish := &checkout.Wish{Key: idempotency.Key{User: user, Route: "POST /v1/orders/{orderId}/cancellation", Key: text},
		Hash: idempotency.Hash([]byte(`{"orderId":"` + id.String() + `"}`)), Answer: keepView}
	o, err := h.Checkout.Cancel(ctx, id, checkout.Canceller{UserID: user, Wish: wish})
	if err != nil {
		return nil, err
	}
	if wish.Kept != nil {
		return replay(wish.Kept), nil
	}
	now, err := h.DB.Now(ctx, h.DB)
	if err != nil {
		return nil, err
	}
	v, err := viewWhole(ctx, h.DB, o, now)
	if err != nil {
		return nil, err
	}
	return JSON(http.StatusOK, v)
}

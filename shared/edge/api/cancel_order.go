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
	key := idempotency.Key{User: user, Route: "POST /v1/orders/{orderId}/cancellation", Key: text}
	// The key belongs to this order: with another one it names another wish.
	hash := idempotency.Hash([]byte(`{"orderId":"` + id.String() + `"}`))
	before, err := keptAnswers{h.DB}.find(ctx, key, hash)
	if err != nil {
		return nil, err
	}
	o, err := h.Checkout.Cancel(ctx, id, checkout.Canceller{UserID: user})
	if err != nil {
		return nil, err
	}
	now, err := h.DB.Now(ctx, h.DB)
	if err != nil {
		return nil, err
	}
	response, err := JSON(http.StatusOK, viewOrder(o, now))
	if err != nil {
		return nil, err
	}
	if before != nil {
		response.Header["Idempotency-Replayed"] = "true"
	} else if err := (keptAnswers{h.DB}).keep(ctx, key, hash, response); err != nil {
		// The order is cancelled whether the key is kept or not, and cancelling it again answers the same.
		h.Log.WarnContext(ctx, "an idempotency key was not kept", "requestId", r.ID, "error", edge.Loggable(err))
	}
	return response, nil
}

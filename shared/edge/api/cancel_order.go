package api

import (
	"context"
	"database/sql"
	"errors"
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
	replayed, err := h.seen(ctx, key, hash)
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
	if replayed {
		response.Header["Idempotency-Replayed"] = "true"
	} else if err := h.remember(ctx, key, hash, response); err != nil {
		// The order is cancelled whether the key is kept or not, and cancelling it again answers the same.
		h.Log.WarnContext(ctx, "an idempotency key was not kept", "requestId", r.ID, "error", edge.Loggable(err))
	}
	return response, nil
}

var errLook = errors.New("api: only looked")

// seen says whether the key has had its answer. It returns IdempotencyKeyReused when that was about another order. It changes
// nothing: a cancellation that is refused is not remembered.
func (h *cancel) seen(ctx context.Context, key idempotency.Key, hash idempotency.BodyHash) (bool, error) {
	var before *idempotency.Answer
	err := h.DB.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now, err := h.DB.Now(ctx, tx)
		if err != nil {
			return err
		}
		if before, err = idempotency.Begin(ctx, tx, key, hash, now); err != nil {
			return err
		}
		return errLook
	})
	if err != nil && !errors.Is(err, errLook) {
		return false, err
	}
	return before != nil, nil
}

// remember keeps the answer of a cancellation that was done.
func (h *cancel) remember(ctx context.Context, key idempotency.Key, hash idempotency.BodyHash, answer *Response) error {
	return h.DB.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now, err := h.DB.Now(ctx, tx)
		if err != nil {
			return err
		}
		before, err := idempotency.Begin(ctx, tx, key, hash, now)
		if err != nil || before != nil {
			return err
		}
		return idempotency.Finish(ctx, tx, key, idempotency.Answer{Status: answer.Status, Body: answer.Body})
	})
}

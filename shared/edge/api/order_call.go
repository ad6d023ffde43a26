package api

import (
	"context"
	"net/http"

	"holdfast/shared/checkout"
	"holdfast/shared/edge"
	"holdfast/shared/idempotency"
	"holdfast/shared/order"
	"holdfast/shared/sale"
)

// orderCall is a user's call that changes one order: who calls, which order, and the wish that the key names. The key belongs to the
// order: with another one it names another wish.
type orderCall struct {
	user string
	id   sale.OrderID
	wish *checkout.Wish
}

// orderCall reads what such calls have in common; body is what the wish asks for besides the order. route names the call in the keys that
// are kept for it.
func (r *Request) orderCall(claims edge.Claims, route string, body []byte) (orderCall, error) {
	user, err := r.userID(claims)
	if err != nil {
		return orderCall{}, err
	}
	key, err := r.idempotencyKey()
	if err != nil {
		return orderCall{}, err
	}
	id, err := pathOrder(r)
	if err != nil {
		return orderCall{}, err
	}
	wish := &checkout.Wish{Key: idempotency.Key{User: user, Route: route, Key: key}, Hash: orderHash(id, body), Answer: keepView}
	return orderCall{user: user, id: id, wish: wish}, nil
}

// orderHash is the fingerprint of a body that belongs to an order.
func orderHash(id sale.OrderID, body []byte) idempotency.BodyHash {
	inner := idempotency.Hash(body)
	return idempotency.Hash(append(id[:], inner[:]...))
}

// answer gives what the key was answered with before, or the order as it stands now.
func (c orderCall) answer(ctx context.Context, d edge.Deps, o *order.Order) (*Response, error) {
	if c.wish.Kept != nil {
		return replay(c.wish.Kept), nil
	}
	return showOrder(ctx, d, o, http.StatusOK)
}

// showOrder answers an order as it stands now, with all that belongs to its money.
func showOrder(ctx context.Context, d edge.Deps, o *order.Order, status int) (*Response, error) {
	now, err := d.DB.Now(ctx, d.DB)
	if err != nil {
		return nil, err
	}
	v, err := viewWhole(ctx, d.DB, o, now)
	if err != nil {
		return nil, err
	}
	return JSON(status, v)
}

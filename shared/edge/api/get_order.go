package api

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge"
	"holdfast/shared/order"
	"holdfast/shared/sale"
)

// NewGetOrder builds GET /v1/orders/{orderId}: the order from the cache, from its row, or, while it has none, as RESERVED from the
// log. Another user's order is not found, like one that does not exist; while a store that would know is away or recovers, the
// answer is 503 and never 404. It takes DB, Stock, Claims and Log.
func NewGetOrder(d edge.Deps) lambda.Handler {
	kept := newFacts(d)
	reader := &orders{d: d, facts: kept}
	return serve(d, "get-order", readBudget, func(ctx context.Context, r *Request) (*Response, error) {
		user, err := r.userID(d.Claims)
		if err != nil {
			return nil, err
		}
		id, err := pathOrder(r)
		if err != nil {
			return nil, err
		}
		f, err := kept.ofOrder(ctx, id)
		if err != nil {
			return nil, err
		}
		it, err := reader.find(ctx, f, id)
		if err != nil {
			return nil, err
		}
		if it.order.UserID != user {
			return nil, order.ErrNotFound
		}
		v := viewOrder(it.order, it.now)
		tag, err := v.tag()
		if err != nil {
			return nil, err
		}
		return r.tagged(v, tag, "private, no-cache")
	})
}

// pathOrder gives the order id of the path. A text that is no id names no order.
func pathOrder(r *Request) (sale.OrderID, error) {
	id, err := sale.ParseOrderID(r.Param("orderId"))
	if err != nil {
		return sale.OrderID{}, order.ErrNotFound
	}
	return id, nil
}

package api

import (
	"context"
	"errors"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/catalog"
	"holdfast/shared/edge"
	"holdfast/shared/fault"
	"holdfast/shared/order"
	"holdfast/shared/reconcile"
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
		if errors.Is(err, order.ErrNotFound) {
			return nil, unknownOrder(ctx, d, f)
		}
		if err != nil {
			return nil, err
		}
		if it.order.UserID != user {
			return nil, order.ErrNotFound
		}
		v, complete := reader.whole(ctx, it)
		tag, err := v.tag(complete)
		if err != nil {
			return nil, err
		}
		return r.tagged(v, tag, "private, no-cache")
	})
}

// unknownOrder says what to answer of an id that no store knows. After a restart or failover of the stock store, and until its set is
// proven whole again, the id may be one that it forgot while its message is still in the queue: then asking again makes sense.
func unknownOrder(ctx context.Context, d edge.Deps, f *sale.Facts) error {
	ctx, cancel := context.WithTimeout(ctx, rowBudget)
	defer cancel()
	proven, err := d.Stock.Proven(ctx, f.ActivityID)
	if err != nil {
		return err
	}
	if proven {
		return order.ErrNotFound
	}
	a, err := catalog.Get(ctx, d.DB, f.ActivityID)
	if err != nil {
		return err
	}
	now, err := d.DB.Now(ctx, d.DB)
	if err != nil {
		return err
	}
	if !reconcile.Cared(a, now) { // over long ago, so all its orders have rows
		return order.ErrNotFound
	}
	return fault.New(fault.SaleNotReady, "The stock store is recovering, and may have known this order. Ask again.")
}

// pathOrder gives the order id of the path. A text that is no id names no order.
func pathOrder(r *Request) (sale.OrderID, error) {
	id, err := sale.ParseOrderID(r.Param("orderId"))
	if err != nil {
		return sale.OrderID{}, order.ErrNotFound
	}
	return id, nil
}

package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge"
	"holdfast/shared/order"
)

// NewListOrders builds GET /v1/orders: the caller's orders, newest first, from their rows. A reservation that has no row yet is
// missing here for as long as that lasts: the list may lag, the order by its id and GET .../me do not. It takes DB, Claims and Log.
func NewListOrders(d edge.Deps) lambda.Handler {
	return serve(d, "list-orders", readBudget, func(ctx context.Context, r *Request) (*Response, error) {
		user, err := r.userID(d.Claims)
		if err != nil {
			return nil, err
		}
		q := r.Query()
		filter := order.Filter{UserID: user, ActivityID: q.Text("activityId"),
			Status: order.Status(q.OneOf("status", string(order.Reserved), string(order.Unpaid), string(order.Paid), string(order.Cancelled)))}
		if filter.ActivityID != "" && !isID(filter.ActivityID) {
			q.Break("activityId", "BAD_FORMAT", "1 to 64 letters, digits, - and _")
		}
		cursor, limit := q.Text("cursor"), q.Limit()
		if err := q.Finish(); err != nil {
			return nil, err
		}
		list, next, err := order.List(ctx, d.DB, filter, cursor, limit)
		if errors.Is(err, order.ErrBadCursor) {
			return nil, badCursor(q)
		}
		if err != nil {
			return nil, err
		}
		now, err := d.DB.Now(ctx, d.DB)
		if err != nil {
			return nil, err
		}
		money, err := readMoney(ctx, d.DB, list)
		if err != nil {
			return nil, err
		}
		views := make([]orderView, len(list))
		for i := range list {
			views[i] = viewOrder(&list[i], now)
			views[i].addMoney(&list[i], money[list[i].ID])
		}
		return JSON(http.StatusOK, page[orderView]{views, next})
	})
}

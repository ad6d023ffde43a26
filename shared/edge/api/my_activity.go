package api

import (
	"context"
	"net/http"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge"
	"holdfast/shared/sale"
)

// myView is what a user holds of a sale.
type myView struct {
	Limit       int           `json:"limit"`
	Held        int           `json:"held"`
	LastOrderID string        `json:"lastOrderId,omitempty"`
	Waitlist    *waitlistView `json:"waitlist,omitempty"` // while the caller waits or has an offer
	Now         string        `json:"now"`
}

// NewMyActivity builds GET /v1/activities/{activityId}/me: what the caller holds of the sale, by Redis, which knows of reservations
// that are no orders yet, and where the caller waits, by MySQL, without which the rest is told. It takes DB, Stock, Claims and Log.
func NewMyActivity(d edge.Deps) lambda.Handler {
	rows := newActivities(d)
	return serve(d, "my-activity", readBudget, func(ctx context.Context, r *Request) (*Response, error) {
		user, err := r.userID(d.Claims)
		if err != nil {
			return nil, err
		}
		id, err := pathActivity(r)
		if err != nil {
			return nil, err
		}
		a, err := rows.get(ctx, id)
		if err != nil {
			return nil, err
		}
		waits := waitingAs(ctx, d, a, user)
		ctx, cancel := context.WithTimeout(ctx, stockBudget)
		defer cancel()
		holding, err := d.Stock.Holding(ctx, id, user)
		if err != nil {
			return nil, err
		}
		now, err := d.Stock.Now(ctx)
		if err != nil {
			return nil, err
		}
		v := myView{Limit: a.PerUserLimit, Held: holding.Quantity, Waitlist: waits, Now: stamp(now)}
		if holding.LastOrderID != (sale.OrderID{}) {
			v.LastOrderID = holding.LastOrderID.String()
		}
		return JSON(http.StatusOK, v)
	})
}

package api

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// forAll lets caches in front answer a crowd that reloads a page.
const forAll = "public, max-age=1"

// NewGetActivity builds GET /v1/activities/{activityId}: the row, kept for a second, with phase, availability and now by the
// clock and counters of Redis. It takes DB, Stock and Log.
func NewGetActivity(d edge.Deps) lambda.Handler {
	rows := newActivities(d)
	return serve(d, "get-activity", readBudget, func(ctx context.Context, r *Request) (*Response, error) {
		id, err := pathActivity(r)
		if err != nil {
			return nil, err
		}
		a, err := rows.get(ctx, id)
		if err != nil {
			return nil, err
		}
		facts := a.Facts()
		left, now, err := countLeft(ctx, d.Stock, &facts)
		if err != nil {
			return nil, err
		}
		v := viewActivity(a, left, now)
		tag, err := tagOfActivity(v)
		if err != nil {
			return nil, err
		}
		return r.tagged(v, tag, forAll)
	})
}

// countLeft reads the units left for the public and the deciding clock. Units are nil while the stock is not loaded.
func countLeft(ctx context.Context, st *stock.Store, f *sale.Facts) (map[string]stock.TypeSnapshot, time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, stockBudget)
	defer cancel()
	snapshot, err := st.Snapshot(ctx, f)
	if errors.Is(err, stock.ErrNotLoaded) {
		now, err := st.Now(ctx)
		return nil, now, err
	}
	if err != nil || snapshot.State != stock.Open {
		return nil, snapshot.Now, err
	}
	types := make([]string, len(f.Types))
	for i := range f.Types {
		types[i] = f.Types[i].ID
	}
	waiting, err := st.Waiting(ctx, f.ActivityID, types)
	if errors.Is(err, stock.ErrNotLoaded) {
		return nil, snapshot.Now, nil
	}
	if err != nil {
		return nil, time.Time{}, err
	}
	for i := range waiting {
		if waiting[i].Waiters > 0 {
			shutOut(snapshot.Types, types[i])
		}
	}
	return snapshot.Types, snapshot.Now, nil
}

// shutOut leaves the public nothing of a type: whoever waits for it comes first.
func shutOut(left map[string]stock.TypeSnapshot, ticketType string) {
	left[ticketType] = stock.TypeSnapshot{}
}

// tagOfActivity is the entity tag of what the activity says, whenever it is said.
func tagOfActivity(v activityView) (string, error) {
	v.Now = ""
	return contentTag(v)
}

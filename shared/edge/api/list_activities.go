package api

import (
	"context"
	"errors"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/catalog"
	"holdfast/shared/edge"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/waitlist"
)

// page is a list of the contract; nextCursor is absent on the last one.
type page[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// NewListActivities builds GET /v1/activities: the activities that are no drafts, latest opening first, each as get-activity shows
// it. The counters of a whole page are read in one go, and so is who waits, from rows. It takes DB, Stock and Log.
func NewListActivities(d edge.Deps) lambda.Handler {
	return serve(d, "list-activities", readBudget, func(ctx context.Context, r *Request) (*Response, error) {
		q := r.Query()
		cursor, limit := q.Text("cursor"), q.Limit()
		if err := q.Finish(); err != nil {
			return nil, err
		}
		list, next, err := catalog.List(ctx, d.DB, catalog.ListFilter{}, cursor, limit)
		if errors.Is(err, catalog.ErrBadCursor) {
			return nil, badCursor(q)
		}
		if err != nil {
			return nil, err
		}
		ids := make([]string, len(list))
		for i := range list {
			ids[i] = list[i].ID
		}
		waited, err := waitlist.WaitedTypes(ctx, d.DB, ids)
		if err != nil {
			return nil, err
		}
		views, err := viewActivities(ctx, d.Stock, list, waited)
		if err != nil {
			return nil, err
		}
		timeless := make([]activityView, len(views))
		for i, v := range views {
			v.Now = ""
			timeless[i] = v
		}
		tag, err := contentTag(page[activityView]{timeless, next})
		if err != nil {
			return nil, err
		}
		return r.tagged(page[activityView]{views, next}, tag, forAll)
	})
}

// badCursor is the answer to a cursor that no page gave.
func badCursor(q *Query) error {
	q.Break("cursor", "BAD_FORMAT", "nextCursor of the page before, unchanged")
	return q.Finish()
}

// viewActivities writes a page of activities with their counters, by one clock. waited names the types that somebody waits for.
func viewActivities(ctx context.Context, st *stock.Store, list []sale.Activity, waited map[string][]string) ([]activityView, error) {
	ctx, cancel := context.WithTimeout(ctx, stockBudget)
	defer cancel()
	now, err := st.Now(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]*sale.Facts, len(list))
	for i := range list {
		f := list[i].Facts()
		all[i] = &f
	}
	counted := st.Snapshots(ctx, all)
	views := make([]activityView, len(list))
	for i := range list {
		var left map[string]stock.TypeSnapshot
		switch err := counted[i].Err; {
		case err == nil && counted[i].Snapshot.State == stock.Open:
			left = counted[i].Snapshot.Types
			for _, ticketType := range waited[list[i].ID] {
				shutOut(left, ticketType)
			}
		case err != nil && !errors.Is(err, stock.ErrNotLoaded):
			return nil, err
		}
		views[i] = viewActivity(&list[i], left, now)
	}
	return views, nil
}

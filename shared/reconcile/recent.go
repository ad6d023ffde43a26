package reconcile

import (
	"context"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/sale"
)

// How far back the minute pass looks for orders that Redis does not know, and how many it looks at. The window covers the minute since
// the pass before, and as much again for a pass that came late and a transaction that took long.
const (
	recentWindow = 2 * time.Minute
	recentRows   = 500 // per page
	recentPages  = 40  // per activity and pass
)

// AdoptRecent looks the activity's orders that changed in the last two minutes up in the log of Redis, and has those live ones adopted
// that it lacks: its memory was lost between their reservation and now. It counts them. What changed earlier, and what a sale of more
// than 20 000 changes in two minutes has beyond them, is the full reconcile's, which every adoption calls for. It returns the errors of
// stock, among them stock.ErrNotLoaded, and of the database. The activity's set must be open: a load adopts by itself.
func (r *Reconciler) AdoptRecent(ctx context.Context, activityID string) (adopted int, err error) {
	now, err := r.db.Now(ctx, r.db)
	if err != nil {
		return 0, err
	}
	cursor := order.Cursor{}
	for range recentPages {
		page, next, err := order.ChangedSince(ctx, r.db, activityID, now.Add(-recentWindow), cursor, recentRows)
		if err != nil || len(page) == 0 {
			return adopted, err
		}
		n, err := r.adoptUnknown(ctx, activityID, page)
		adopted += n
		if err != nil || len(page) < recentRows {
			return adopted, err
		}
		cursor = next
	}
	return adopted, nil
}

// adoptUnknown adopts the live orders of a page that the log does not know.
func (r *Reconciler) adoptUnknown(ctx context.Context, activityID string, page []order.Order) (adopted int, err error) {
	var ids []sale.OrderID
	for i := range page {
		if page[i].Status.Live() {
			ids = append(ids, page[i].ID)
		}
	}
	if len(ids) == 0 {
		return 0, nil
	}
	entries, err := r.readableEntries(ctx, activityID, ids)
	if err != nil {
		return 0, err
	}
	var unknown []sale.OrderID
	for i := range entries {
		if !entries[i].Found {
			unknown = append(unknown, ids[i])
		}
	}
	if len(unknown) == 0 {
		return 0, nil
	}
	return r.adoptLive(ctx, unknown)
}

// adoptLive reads orders again, since some may have been cancelled meanwhile, and has the live ones adopted.
func (r *Reconciler) adoptLive(ctx context.Context, ids []sale.OrderID) (adopted int, err error) {
	rows, err := order.GetMany(ctx, r.db, ids)
	if err != nil {
		return 0, err
	}
	var out checkout.Outcome
	for _, o := range rows {
		if o.Status.Live() {
			out.Live = append(out.Live, o)
		}
	}
	told, err := r.checkout.Repair(ctx, order.EveryMinute, out)
	r.record(ctx, repairs{layer: order.EveryMinute, adopted: len(told.Adopted)})
	return len(told.Adopted), err
}

package reconcile

import (
	"context"
	"errors"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// closedCare is how long after its last change a closed sale is still looked at every minute: longer than anything of it can be
// pending.
const closedCare = 30 * 24 * time.Hour

const activityPage = 100

// visit walks over all activities that may hold something unfinished, latest first, and hands each to do with its snapshot of Redis.
func (r *Reconciler) visit(ctx context.Context, do func(a *sale.Activity, s stock.Snapshot, err error) error) error {
	now, err := r.db.Now(ctx, r.db)
	if err != nil {
		return err
	}
	filter := catalog.ListFilter{Statuses: []sale.Status{sale.Published, sale.Suspended, sale.Closed, sale.Cancelled}}
	var errs []error
	for after := ""; ; {
		page, next, err := catalog.List(ctx, r.db, filter, after, activityPage)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		cared := make([]*sale.Activity, 0, len(page))
		facts := make([]*sale.Facts, 0, len(page))
		for i := range page {
			if a := &page[i]; onSale(a) || a.UpdatedAt.After(now.Add(-closedCare)) {
				f := a.Facts()
				cared, facts = append(cared, a), append(facts, &f)
			}
		}
		for i, s := range r.stock.Snapshots(ctx, facts) {
			errs = append(errs, do(cared[i], s.Snapshot, s.Err))
		}
		if next == "" || ctx.Err() != nil {
			return errors.Join(append(errs, ctx.Err())...)
		}
		after = next
	}
}

func onSale(a *sale.Activity) bool { return a.Status == sale.Published || a.Status == sale.Suspended }

// loadedAs says whether a snapshot shows the set that MySQL thinks is loaded.
func loadedAs(a *sale.Activity, s stock.Snapshot, err error) bool {
	return err == nil && s.State == stock.Open && s.Epoch == a.Epoch
}

// isLoaded says whether the activity's set in Redis is complete, its facts among it, and of the epoch that MySQL knows.
func (r *Reconciler) isLoaded(ctx context.Context, activityID string) (bool, error) {
	a, err := catalog.Get(ctx, r.db, activityID)
	if err != nil {
		return false, err
	}
	f := a.Facts()
	s, err := r.stock.Snapshot(ctx, &f)
	if err != nil && !errors.Is(err, stock.ErrNotLoaded) {
		return false, err
	}
	if !loadedAs(a, s, err) {
		return false, nil
	}
	// Only functions that have not read the facts yet miss them, and no script does.
	_, _, err = r.stock.Facts(ctx, activityID)
	if errors.Is(err, stock.ErrNoFacts) {
		return false, nil
	}
	return err == nil, err
}

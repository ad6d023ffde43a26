package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/catalog"
	"holdfast/shared/fault"
	"holdfast/shared/stock"
)

// adjustBudget is well below the lease that it is done under, so that nobody works on after the lease has run out.
const (
	adjustLease  = 30 * time.Second
	adjustBudget = 10 * time.Second
)

// The refusals that are written into an adjustment: too few units are free, or no adjustment is like that.
const (
	refusedBelowSold = string(fault.StockBelowSold)
	refusedByRule    = string(fault.ValidationFailed)
)

// AdjustStock changes how many units of a type there are: written down in MySQL, split over buckets by Redis, which is where buyers
// are, and applied in MySQL exactly as split. The same adjustment id again continues, or answers as before. It returns the faults of
// catalog.BeginAdjustment; fault.StockBelowSold, with the cause catalog.ErrBelowSold, when more units are sold or reserved than would
// be left, or fault.ValidationFailed, with the cause catalog.ErrRefused, for a number that no adjustment has; ErrLoadRunning and the errors
// of stock and of the database when it could not be finished now: then it stays PENDING and is finished within minutes. A set that is not
// loaded is asked to be.
func (r *Reconciler) AdjustStock(ctx context.Context, w catalog.Adjustment, entry audit.Entry) (catalog.Adjustment, error) {
	a, _, err := r.catalog.BeginAdjustment(ctx, w, entry)
	if err != nil {
		return a, err
	}
	if a.Status == catalog.Pending {
		if a, err = r.finishAdjustment(ctx, a); err != nil {
			return a, err
		}
	}
	switch {
	case a.Status == catalog.Refused && a.Refusal == refusedByRule:
		return a, fault.Wrap(fault.ValidationFailed, catalog.ErrRefused, "the stock cannot be adjusted by that many units at once")
	case a.Status == catalog.Refused:
		return a, fault.Wrap(fault.StockBelowSold, catalog.ErrBelowSold, "more units are sold or reserved than would be left")
	}
	return a, nil
}

// finishAdjustment brings a PENDING adjustment to its end, APPLIED or REFUSED. It holds the lease of the set: a load in between would
// throw the split away that Redis has made, and a second finisher might apply what this one takes back.
func (r *Reconciler) finishAdjustment(ctx context.Context, a catalog.Adjustment) (catalog.Adjustment, error) {
	ctx, cancel := context.WithTimeout(ctx, adjustBudget)
	defer cancel()
	l, err := r.acquire(ctx, setLeaseName(a.ActivityID), adjustLease)
	if errors.Is(err, errLeased) {
		return a, ErrLoadRunning
	}
	if err != nil {
		return a, err
	}
	defer l.release(ctx)
	activity, err := catalog.Get(ctx, r.db, a.ActivityID)
	if err != nil {
		return a, err
	}
	facts := activity.Facts()
	adjusted, err := r.stock.AdjustStock(ctx, &facts, stock.Adjustment{ID: a.ID, TicketType: a.TicketType, Delta: a.Delta})
	if errors.Is(err, stock.ErrBadQuantity) || errors.Is(err, stock.ErrUnknownType) { // so it is not in Redis, and never will be
		return r.catalog.RefuseAdjustment(ctx, a.ActivityID, a.ID, refusedByRule)
	}
	if errors.Is(err, stock.ErrInsufficient) || errors.Is(err, stock.ErrAdjustmentUndone) {
		return r.catalog.RefuseAdjustment(ctx, a.ActivityID, a.ID, refusedBelowSold)
	}
	if errors.Is(err, stock.ErrNotLoaded) { // a sale that is over is loaded by nobody else
		if asking := r.RequestLoad(ctx, a.ActivityID); asking != nil {
			return a, asking
		}
	}
	if err != nil {
		return a, fmt.Errorf("splitting adjustment %s: %w", a.ID, err)
	}
	applied, err := r.catalog.ApplyAdjustment(ctx, a.ActivityID, a.ID, adjusted.Split)
	if !errors.Is(err, catalog.ErrBelowSold) && !errors.Is(err, catalog.ErrRefused) {
		return applied, err
	}
	// The database will never take it. Redis first: were the refusal written and this process gone, nobody would look at the adjustment again.
	if err := r.stock.UndoAdjustment(ctx, a.ActivityID, a.ID); err != nil {
		return a, fmt.Errorf("taking adjustment %s back: %w", a.ID, err)
	}
	return r.catalog.RefuseAdjustment(ctx, a.ActivityID, a.ID, refusedBelowSold)
}

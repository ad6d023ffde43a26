package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/shared/alert"
	"holdfast/shared/catalog"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

const (
	setLease     = 60 * time.Second // of loading, renewed page by page
	adoptPage    = 500              // rows per call of the script
	queueWait    = 10 * time.Second
	queuePoll    = 500 * time.Millisecond // at most, between two looks at the queue
	changeMargin = time.Minute            // longer than any transaction that might have read its clock before the load began
)

func setLeaseName(activityID string) string { return "set:" + activityID }

// Load builds the activity's set in Redis from MySQL: at publication, and after a loss. While it runs buyers hear that the sale is not
// ready; acknowledgements and releases go on working. Orders whose messages are still in the queue get up to ten seconds to arrive, so
// that they come before new buyers. It returns ErrLoadRunning when somebody else is at it, ErrNotPublished for a draft,
// catalog.ErrNotFound, the errors of the database, and those of stock; then the activity stays unloaded until the next try.
func (r *Reconciler) Load(ctx context.Context, activityID string) error {
	l, err := r.acquire(ctx, setLeaseName(activityID), setLease)
	if errors.Is(err, errLeased) {
		return ErrLoadRunning
	}
	if err != nil {
		return err
	}
	defer l.release(ctx)
	err = r.load(ctx, activityID, l)
	if errors.Is(err, stock.ErrEpoch) || errors.Is(err, catalog.ErrEpoch) || errors.Is(err, errLeased) {
		return fmt.Errorf("%w: %w", ErrLoadRunning, err)
	}
	return err
}

func (r *Reconciler) load(ctx context.Context, activityID string, l *lease) error {
	a, err := catalog.Get(ctx, r.db, activityID)
	if err != nil {
		return err
	}
	if a.Status == sale.Draft {
		return ErrNotPublished
	}
	began, err := r.db.Now(ctx, r.db)
	if err != nil {
		return err
	}
	epoch, err := r.catalog.NextEpoch(ctx, a.ID, a.Epoch)
	if err != nil {
		return err
	}
	if err := r.stock.Begin(ctx, a.Facts(), a.Rules(), epoch); err != nil {
		return err
	}
	if err := r.adoptAdjustments(ctx, a, epoch); err != nil {
		return err
	}
	if err := r.adoptOrders(ctx, a, epoch, l); err != nil {
		return err
	}
	r.awaitQueue(ctx)
	if err := r.adoptChanged(ctx, a, epoch, began.Add(-changeMargin), l); err != nil {
		return err
	}
	if _, err := r.syncWaiters(ctx, a); err != nil { // who waits keeps the public out from the first moment
		return err
	}
	if err := r.stock.Open(ctx, a.ID, epoch); err != nil {
		return err
	}
	return r.ApplyRules(ctx, a.ID) // they may have changed meanwhile
}

func (r *Reconciler) adoptAdjustments(ctx context.Context, a *sale.Activity, epoch int64) error {
	for after := ""; ; {
		found, err := catalog.AppliedAdjustments(ctx, r.db, a.ID, after, adoptPage)
		if err != nil || len(found) == 0 {
			return err
		}
		page := stock.Page{}
		for _, x := range found {
			if !hasBuckets(a, x) {
				return fmt.Errorf("adjustment %s names a bucket that there is not", x.ID)
			}
			page.Adjustments = append(page.Adjustments, stock.Adjusted{
				Adjustment: stock.Adjustment{ID: x.ID, TicketType: x.TicketType, Delta: x.Delta}, Split: x.Split})
		}
		if err := r.stock.Adopt(ctx, a.ID, epoch, page); err != nil {
			return err
		}
		after = found[len(found)-1].ID
	}
}

// hasBuckets says whether a sale has all buckets that an adjustment names. No script takes one that names others.
func hasBuckets(a *sale.Activity, x catalog.Adjustment) bool {
	t, known := a.Type(x.TicketType)
	return known && !slices.ContainsFunc(x.Split, func(s sale.Share) bool { return s.Bucket >= t.Buckets })
}

func (r *Reconciler) adoptOrders(ctx context.Context, a *sale.Activity, epoch int64, l *lease) error {
	for after := (sale.OrderID{}); ; {
		found, err := order.OfActivity(ctx, r.db, a.Number, after, adoptPage)
		if err != nil || len(found) == 0 {
			return err
		}
		if err := r.adoptPage(ctx, a, epoch, found, l); err != nil {
			return err
		}
		after = found[len(found)-1].ID
	}
}

// adoptChanged adopts the orders whose rows changed since the load began: pages read before may have missed them, or their state.
func (r *Reconciler) adoptChanged(ctx context.Context, a *sale.Activity, epoch int64, since time.Time, l *lease) error {
	for cursor := (order.Cursor{}); ; {
		found, next, err := order.ChangedSince(ctx, r.db, a.ID, since, cursor, adoptPage)
		if err != nil || len(found) == 0 {
			return err
		}
		if err := r.adoptPage(ctx, a, epoch, found, l); err != nil {
			return err
		}
		cursor = next
	}
}

// adoptPage adopts one page of orders. A live one that fits nowhere is left out, and a person alerted: MySQL, which is the last gate,
// still counts its units.
func (r *Reconciler) adoptPage(ctx context.Context, a *sale.Activity, epoch int64, found []order.Order, l *lease) error {
	if err := l.renew(ctx); err != nil {
		return err
	}
	facts := a.Facts()
	var page stock.Page
	for i := range found {
		o := &found[i]
		switch {
		case o.Status.Live() && o.Fits(&facts):
			page.Live = append(page.Live, o.Reservation())
		case o.Status.Live():
			r.alert(ctx, alert.Alert{Kind: alert.LiveButOtherwise, Subject: o.ID.String(), ActivityID: a.ID, Evidence: map[string]any{
				"status": o.Status, "ticketType": o.TicketType, "quantity": o.Quantity, "allocations": o.Allocations.Compact()}})
		default:
			page.Dead = append(page.Dead, stock.DeadMark{OrderID: o.ID, UserID: o.UserID, Reason: string(o.Reason)})
		}
	}
	return r.stock.Adopt(ctx, a.ID, epoch, page)
}

// awaitQueue waits until the queue is empty, at most queueWait. A queue that cannot be asked counts as not empty.
func (r *Reconciler) awaitQueue(ctx context.Context) {
	if r.empty == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, queueWait)
	defer cancel()
	for {
		empty, err := r.empty(ctx)
		if err != nil && ctx.Err() == nil {
			r.log.Warn("the queue cannot be asked whether it is empty", "error", err)
		}
		if err == nil && empty {
			return
		}
		if !r.db.Wait(ctx, queuePoll) {
			return
		}
	}
}

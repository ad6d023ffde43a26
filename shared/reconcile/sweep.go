package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// Swept counts what a pass over pending reservations found.
type Swept struct {
	Acknowledged int `json:"acknowledged"` // had a live row
	Released     int `json:"released"`     // had a CANCELLED row
	Created      int `json:"created"`      // had no row and became orders now
	Refused      int `json:"refused"`      // had no row and became CANCELLED rows now
	Poison       int `json:"poison"`       // can become neither; left for a person
}

func (s *Swept) add(t Swept) {
	s.Acknowledged += t.Acknowledged
	s.Released += t.Released
	s.Created += t.Created
	s.Refused += t.Refused
	s.Poison += t.Poison
}

const (
	sweepLease = 30 * time.Second
	sweepPages = 200 // bounds one pass; the next minute goes on
)

// SweepPending finishes the activity's reservations that have been pending for longer than the grace, oldest first: those with a live
// row are acknowledged, those with a CANCELLED row released, and those without a row go through the create-orders transaction like a
// message. Another sweep of the same activity that runs now has the work: then nothing is done. It returns the errors of stock and of
// the database, and what was done before them.
func (r *Reconciler) SweepPending(ctx context.Context, activityID string, grace time.Duration, pageSize int) (Swept, error) {
	var sum Swept
	l, err := r.acquire(ctx, "sweep:"+activityID, sweepLease)
	if errors.Is(err, errLeased) {
		return sum, nil
	}
	if err != nil {
		return sum, err
	}
	defer l.release(ctx)
	cursor := stock.PendingCursor{}
	for range sweepPages {
		ids, next, err := r.stock.PendingBefore(ctx, activityID, grace, cursor, pageSize)
		if err != nil || len(ids) == 0 {
			return sum, err
		}
		swept, err := r.sweepPage(ctx, activityID, ids)
		sum.add(swept)
		if err != nil {
			return sum, err
		}
		if err := l.renew(ctx); err != nil {
			return sum, err
		}
		cursor = next
	}
	return sum, nil
}

func (r *Reconciler) sweepPage(ctx context.Context, activityID string, ids []sale.OrderID) (Swept, error) {
	rows, err := order.GetMany(ctx, r.db, ids)
	if err != nil {
		return Swept{}, err
	}
	var known checkout.Outcome
	var missing []sale.OrderID
	for _, id := range ids {
		switch o, found := rows[id]; {
		case !found:
			missing = append(missing, id)
		case o.Status.Live():
			known.Live = append(known.Live, o)
		default:
			known.Cancelled = append(known.Cancelled, o)
		}
	}
	made, err := r.createMissing(ctx, activityID, missing)
	sum := Swept{Acknowledged: len(known.Live), Released: len(known.Cancelled), Created: len(made.Live),
		Refused: len(made.Cancelled), Poison: len(made.Poison)}
	known.Live, known.Cancelled = append(known.Live, made.Live...), append(known.Cancelled, made.Cancelled...)
	return sum, errors.Join(err, r.checkout.Settle(ctx, known))
}

// createMissing runs the create-orders transaction on what the log in Redis says of reservations without a row.
func (r *Reconciler) createMissing(ctx context.Context, activityID string, ids []sale.OrderID) (checkout.Outcome, error) {
	if len(ids) == 0 {
		return checkout.Outcome{}, nil
	}
	entries, err := r.stock.Entries(ctx, activityID, ids)
	if err != nil {
		return checkout.Outcome{}, err
	}
	var batch []checkout.Message
	for i, e := range entries {
		switch {
		case e.Found && e.HasTaken && e.Standing != stock.Dead:
			batch = append(batch, checkout.Message{Reservation: e.Reservation})
		case !e.Found || !e.HasTaken:
			r.log.Error("a pending reservation has no entry in the log; a person must decide", "orderId", ids[i], "activityId", activityID)
		}
	}
	made, err := r.checkout.CreateOrders(ctx, batch)
	if err != nil {
		return checkout.Outcome{}, fmt.Errorf("sweeping %d reservations: %w", len(batch), err)
	}
	for _, p := range made.Poison {
		r.log.Error("a pending reservation can never become an order; a person must decide", "orderId", p.Message.OrderID,
			"activityId", activityID, "reason", p.Reason)
	}
	return made, nil
}

// ReleaseUnreleased releases CANCELLED orders that Redis is not known to have released, in pages by id, and counts them. Activities
// that are not loaded are asked to be. Another pass that runs now has the work: then nothing is done. It returns the errors of the
// database; orders that Redis could not release are left to the next pass.
func (r *Reconciler) ReleaseUnreleased(ctx context.Context, pageSize int) (released int, err error) {
	l, err := r.acquire(ctx, "unreleased", sweepLease)
	if errors.Is(err, errLeased) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer l.release(ctx)
	now, err := r.db.Now(ctx, r.db)
	if err != nil {
		return 0, err
	}
	var failures []error
	var after sale.OrderID
	for range sweepPages {
		page, err := order.Unreleased(ctx, r.db, after, now, pageSize)
		if err != nil || len(page) == 0 {
			return released, errors.Join(append(failures, err)...)
		}
		if err := r.checkout.Settle(ctx, checkout.Outcome{Cancelled: page}); err != nil {
			failures = append(failures, err, r.requestLoads(ctx, page, err))
		} else {
			released += len(page)
		}
		if err := l.renew(ctx); err != nil {
			return released, errors.Join(append(failures, err)...)
		}
		after = page[len(page)-1].ID
	}
	return released, errors.Join(failures...)
}

// requestLoads asks for the activities of a page to be loaded when that is what releasing them lacked.
func (r *Reconciler) requestLoads(ctx context.Context, page []order.Order, cause error) error {
	if !errors.Is(cause, stock.ErrNotLoaded) {
		return nil
	}
	var errs []error
	asked := make(map[string]bool)
	for i := range page {
		id := page[i].ActivityID
		if asked[id] {
			continue
		}
		asked[id] = true
		if loaded, err := r.isLoaded(ctx, id); err != nil || loaded {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, r.RequestLoad(ctx, id))
	}
	return errors.Join(errs...)
}

package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/shared/alert"
	"holdfast/shared/catalog"
	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
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
	var failures []error
	cursor := stock.PendingCursor{}
	for range sweepPages {
		ids, next, err := r.stock.PendingBefore(ctx, activityID, grace, cursor, pageSize)
		if err != nil || len(ids) == 0 {
			return sum, errors.Join(append(failures, err)...)
		}
		swept, err := r.sweepPage(ctx, activityID, ids)
		sum.add(swept)
		failures = append(failures, err)
		if away(ctx, err) {
			return sum, errors.Join(failures...)
		}
		if err := l.renew(ctx); err != nil {
			return sum, errors.Join(append(failures, err)...)
		}
		cursor = next
	}
	return sum, errors.Join(failures...)
}

// away says whether an error means that a store does not work for us now, so that the next page would fare no better.
func away(ctx context.Context, err error) bool {
	for _, gone := range []error{sqltx.ErrUnavailable, sqltx.ErrCommitUnclear, stock.ErrUnavailable, stock.ErrNoAnswer, stock.ErrNotLoaded} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return ctx.Err() != nil
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
	all := checkout.Outcome{Live: slices.Concat(known.Live, made.Live), Cancelled: slices.Concat(known.Cancelled, made.Cancelled)}
	done, settleErr := r.checkout.Repair(ctx, order.EveryMinute, all)
	mended := repairs{layer: order.EveryMinute, adopted: len(done.Adopted)}
	sum := Swept{Created: len(made.Live), Refused: len(made.Cancelled), Poison: len(made.Poison)}
	for i := range known.Live {
		if o := &known.Live[i]; done.Acknowledged[o.ID] {
			sum.Acknowledged++
			mended.add(order.RepairAck, o, o.ReservedAt)
		}
	}
	for i := range known.Cancelled {
		if o := &known.Cancelled[i]; done.Released[o.ID] {
			sum.Released++
			mended.add(order.RepairRelease, o, since(o.CancelledAt))
		}
	}
	for i := range made.Live {
		mended.add(order.RepairCreate, &made.Live[i], made.Live[i].ReservedAt)
	}
	for i := range made.Cancelled {
		mended.add(order.RepairRefuse, &made.Cancelled[i], made.Cancelled[i].ReservedAt)
	}
	r.record(ctx, mended)
	return sum, errors.Join(err, settleErr)
}

// createMissing runs the create-orders transaction on what the log in Redis says of reservations without a row. What it finds that can
// become no order is an alert. A deposit seat that nobody was promised becomes a CANCELLED row instead: no money may be frozen for a
// buyer who was told that it did not work.
func (r *Reconciler) createMissing(ctx context.Context, activityID string, ids []sale.OrderID) (checkout.Outcome, error) {
	if len(ids) == 0 {
		return checkout.Outcome{}, nil
	}
	entries, err := r.readableEntries(ctx, activityID, ids)
	if err != nil {
		return checkout.Outcome{}, err
	}
	var batch []checkout.Message
	var unpromised []sale.Reservation
	holdsMoney, err := r.holdsMoney(ctx, activityID)
	if err != nil {
		return checkout.Outcome{}, err
	}
	for i, e := range entries {
		switch {
		case e.Found && e.HasTaken && e.Standing != stock.Dead && holdsMoney && !e.Sent:
			unpromised = append(unpromised, e.Reservation)
		case e.Found && e.HasTaken && e.Standing != stock.Dead:
			batch = append(batch, checkout.Message{Reservation: e.Reservation})
		case !e.Found || !e.HasTaken:
			r.alert(ctx, alert.Alert{Kind: alert.PendingWithoutEntry, Subject: ids[i].String(), ActivityID: activityID,
				Evidence: map[string]any{"entry": e.Found, "taken": e.HasTaken}})
		}
	}
	made, err := r.createEach(ctx, batch)
	err = errors.Join(err, r.giveUpEach(ctx, unpromised, &made))
	r.alertUnfit(ctx, activityID, made.Poison)
	return made, err
}

// readableEntries reads entries, each alone when one of them cannot be read, which then counts as not there.
func (r *Reconciler) readableEntries(ctx context.Context, activityID string, ids []sale.OrderID) ([]stock.Found, error) {
	entries, err := r.stock.Entries(ctx, activityID, ids)
	if !errors.Is(err, stock.ErrBadEntry) {
		return entries, err
	}
	entries = make([]stock.Found, len(ids))
	for i := range ids {
		switch one, err := r.stock.Entries(ctx, activityID, ids[i:i+1]); {
		case errors.Is(err, stock.ErrBadEntry):
		case err != nil:
			return nil, err
		default:
			entries[i] = one[0]
		}
	}
	return entries, nil
}

// alertUnfit has a person look at reservations that can become no orders.
func (r *Reconciler) alertUnfit(ctx context.Context, activityID string, list []checkout.Poison) {
	for _, p := range list {
		r.alert(ctx, alert.Alert{Kind: alert.PendingUnfit, Subject: p.Message.OrderID.String(), ActivityID: activityID,
			Evidence: map[string]any{"reason": p.Reason, "ticketType": p.Message.TicketType, "quantity": p.Message.Quantity,
				"allocations": p.Message.Allocations.Compact(), "seq": p.Message.Seq}})
	}
}

// holdsMoney says whether an order of the activity freezes money.
func (r *Reconciler) holdsMoney(ctx context.Context, activityID string) (bool, error) {
	a, err := catalog.Get(ctx, r.db, activityID)
	if err != nil {
		return false, err
	}
	return a.Kind == sale.Deposit, nil
}

// giveUpEach puts CANCELLED rows in the place of reservations, unless their messages were faster, and adds the rows to what was made.
func (r *Reconciler) giveUpEach(ctx context.Context, list []sale.Reservation, made *checkout.Outcome) error {
	var errs []error
	for _, res := range list {
		o, err := r.checkout.Tombstone(ctx, res, order.Undeliverable)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("giving up an unpromised deposit seat: %w", err))
		case o.Status.Live():
			made.Live = append(made.Live, o)
		default:
			made.Cancelled = append(made.Cancelled, o)
		}
	}
	return errors.Join(errs...)
}

// createEach makes orders of a batch, and of each reservation alone when the batch fails for another reason than a database that is
// away: the one to blame then fails alone. It returns what was made, with the errors.
func (r *Reconciler) createEach(ctx context.Context, batch []checkout.Message) (checkout.Outcome, error) {
	made, err := r.checkout.CreateMissing(ctx, batch)
	if err == nil {
		return made, nil
	}
	err = fmt.Errorf("sweeping %d reservations: %w", len(batch), err)
	if len(batch) == 1 || away(ctx, err) {
		return checkout.Outcome{}, err
	}
	var errs []error
	for i := range batch {
		one, err := r.createEach(ctx, batch[i:i+1])
		made.Live, made.Cancelled, made.Poison = append(made.Live, one.Live...), append(made.Cancelled, one.Cancelled...), append(made.Poison, one.Poison...)
		errs = append(errs, err)
	}
	return made, errors.Join(errs...)
}

// alert shows something to a person, in the log and as a row.
func (r *Reconciler) alert(ctx context.Context, a alert.Alert) {
	r.log.Error("a person must look at this", "alert", a.Kind, "subject", a.Subject, "activityId", a.ActivityID)
	now, err := r.db.Now(ctx, r.db)
	if err == nil {
		err = alert.Raise(ctx, r.db, a, now)
	}
	if err != nil {
		r.log.Warn("an alert is not written down", "alert", a.Kind, "subject", a.Subject, "error", err)
	}
}

// ReleaseUnreleased releases CANCELLED orders that Redis is not known to have released, in pages by id, and counts them. Those just
// cancelled are left to whoever cancelled them and is about to release them. Activities that are not loaded are asked to be. Another pass that runs now has the work: then nothing is done. It returns the errors of the
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
		page, err := order.Unreleased(ctx, r.db, after, now.Add(-releaseGrace), pageSize)
		if err != nil || len(page) == 0 {
			return released, errors.Join(append(failures, err)...)
		}
		n, err := r.releasePage(ctx, page)
		released += n
		failures = append(failures, err)
		if err := l.renew(ctx); err != nil {
			return released, errors.Join(append(failures, err)...)
		}
		after = page[len(page)-1].ID
	}
	return released, errors.Join(failures...)
}

func (r *Reconciler) releasePage(ctx context.Context, page []order.Order) (released int, err error) {
	done, err := r.checkout.Repair(ctx, order.EveryMinute, checkout.Outcome{Cancelled: page})
	mended := repairs{layer: order.EveryMinute}
	for i := range page {
		if o := &page[i]; done.Released[o.ID] {
			mended.add(order.RepairRelease, o, since(o.CancelledAt))
		}
	}
	r.record(ctx, mended)
	return len(mended.list), errors.Join(err, r.requestLoads(ctx, page, err))
}

// requestLoads asks for the activities of a page to be loaded when that is what telling Redis of them lacked. Those that are over are
// loaded by nobody else.
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

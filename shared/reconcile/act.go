package reconcile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
)

// actInRedis does what an action does outside the transaction that closes the difference. Everything here may be repeated.
func (r *Reconciler) actInRedis(ctx context.Context, d Difference, w Resolution, l *lease) (effect, error) {
	switch w.Action {
	case ActRelease:
		return r.actRelease(ctx, d)
	case ActCancelOrder:
		return r.actCancel(ctx, d, w)
	case ActSetCounter:
		return r.actSetCounter(ctx, d, l)
	case ActRebuild:
		return effect{"undo": "NOT_POSSIBLE", "did": "a load under a new epoch was asked for"}, r.requestRebuild(ctx, d.ActivityID)
	case ActSettle:
		return r.actSettle(ctx, d)
	case ActLearn:
		return r.actLearn(ctx, d)
	}
	return nil, nil
}

// impossible says why an action cannot be done as things stand.
func impossible(why string) error { return fmt.Errorf("%w: %s", ErrActionImpossible, why) }

// actRelease writes the CANCELLED row that an order of the log lacks, then gives its units back, if Redis still holds them. A cancelled
// order is so for ever, so nothing undoes it.
func (r *Reconciler) actRelease(ctx context.Context, d Difference) (effect, error) {
	id, err := sale.ParseOrderID(d.Subject)
	if err != nil {
		return nil, impossible("the difference names no order")
	}
	entry, err := r.stock.Entry(ctx, d.ActivityID, id)
	if errors.Is(err, stock.ErrNoEntry) || err == nil && !entry.HasTaken {
		return nil, impossible("Redis does not know what the order had taken")
	}
	if err != nil {
		return nil, err
	}
	o, err := r.checkout.Tombstone(ctx, entry.Reservation, order.ByOperator)
	if _, remains := sqltx.DuplicateKey(err); remains {
		return nil, impossible("other tables of the database still know the order")
	}
	if err != nil {
		return nil, err
	}
	if o.Status != order.Cancelled {
		return nil, impossible("the order has a row by now, and is live")
	}
	return effect{"undo": "NOT_POSSIBLE", "did": "the order is CANCELLED and its units are back"}, r.checkout.ReleaseCommitted(ctx, o)
}

// actCancel cancels a live order as an operator does. One that was paid for is not cancelled here: what becomes of the payment is decided
// at the order's own call.
func (r *Reconciler) actCancel(ctx context.Context, d Difference, w Resolution) (effect, error) {
	id, err := sale.ParseOrderID(d.Subject)
	if err != nil {
		return nil, impossible("the difference names no order")
	}
	entry := w.Entry
	entry.Action, entry.Subject = "order.cancel", id.String()
	_, err = r.checkout.Cancel(ctx, id, checkout.Canceller{Operator: &entry, KeepPaid: true})
	if errors.Is(err, checkout.ErrNotCancellable) {
		return nil, impossible("the order was paid for; cancel it by its own call, which says what becomes of the payment")
	}
	if errors.Is(err, order.ErrNotFound) {
		return nil, impossible("there is no such order any more")
	}
	return effect{"undo": "NOT_POSSIBLE", "did": "the order is CANCELLED"}, err
}

// actSettle settles a deposit as its deadline would have. What it moved can be given back by the operators' calls for money.
func (r *Reconciler) actSettle(ctx context.Context, d Difference) (effect, error) {
	id, err := sale.ParseOrderID(d.Subject)
	if err != nil {
		return nil, impossible("the difference names no order")
	}
	result, err := r.checkout.SettleDeposit(ctx, id)
	if err == nil && result.Step == checkout.StepNotDue {
		return nil, impossible("its deadline was put off and is not reached")
	}
	return effect{"undo": "NOT_POSSIBLE", "did": "the deposit is settled"}, err
}

// actSetCounter moves a counter by what it is off, as the log stands now. What undoes it is moving it back.
func (r *Reconciler) actSetCounter(ctx context.Context, d Difference, l *lease) (effect, error) {
	a, err := catalog.Get(ctx, r.db, d.ActivityID)
	if err != nil {
		return nil, err
	}
	c := stock.Counter{TicketType: d.Subject, Bucket: -1}
	if at := strings.LastIndexByte(d.Subject, ':'); at > 0 {
		if c.Bucket, err = strconv.Atoi(d.Subject[at+1:]); err != nil {
			return nil, impossible("the difference names no counter")
		}
		c.TicketType = d.Subject[:at]
	}
	// A reading has the form of a run that nobody keeps.
	p := &pass{x: &runner{r: r, run: Run{Mode: DryRun}, beatAt: time.Now().Add(time.Hour)}, r: r, a: a, facts: a.Facts(), lease: l}
	off, err := p.counterOff(ctx, c)
	if errors.Is(err, stock.ErrNotLoaded) || errors.Is(err, errMoved) {
		return nil, fmt.Errorf("%w: %w", ErrBusy, err)
	}
	if err != nil {
		return nil, err
	}
	done, err := r.stock.CorrectCounter(ctx, a.ID, c, -off, d.ID, p.shot.Epoch)
	if err != nil {
		return nil, err
	}
	return effect{"counter": d.Subject, "moved": -off, "before": done.Before, "after": done.After, "undo": "move it by the same units back"}, nil
}

// counterOff reads how far a counter is above what the log adds up to.
func (p *pass) counterOff(ctx context.Context, c stock.Counter) (off int, err error) {
	if p.run, err = p.r.stock.RunID(ctx, p.a.ID); err != nil {
		return 0, err
	}
	if p.shot, err = p.r.stock.Snapshot(ctx, &p.facts); err != nil {
		return 0, err
	}
	if p.log, err = p.readLog(ctx, p.shot.Seq, 0); err != nil {
		return 0, err
	}
	if err := p.unchanged(ctx); err != nil {
		return 0, err
	}
	have, want := p.shot.Types[c.TicketType], p.log.fold(&p.facts)[c.TicketType]
	switch {
	case c.Bucket < 0:
		return have.Left - want.Left, nil
	case c.Bucket >= len(have.Buckets):
		return 0, impossible("Redis has no such counter")
	}
	return have.Buckets[c.Bucket] - want.Buckets[c.Bucket], nil
}

// correctBucket writes a bucket from its live orders and applied adjustments. All buckets of the type are locked first: whoever changes
// an order changes a bucket in the same transaction, so what is read after is all that the buckets should know. What undoes it is
// the figures that stood there.
func correctBucket(ctx context.Context, tx *sql.Tx, d Difference, now time.Time) (effect, error) {
	at := strings.LastIndexByte(d.Subject, ':')
	if at < 0 {
		return nil, impossible("the difference names no bucket; look at the order")
	}
	number, err := strconv.Atoi(d.Subject[at+1:])
	if err != nil {
		return nil, impossible("the difference names no bucket")
	}
	key := bucketKey{d.Subject[:at], number}
	typeKey := stock.TypeKey{ActivityID: d.ActivityID, TicketType: key.ticketType}
	locked, err := stock.LockBuckets(ctx, tx, []stock.TypeKey{typeKey})
	if err != nil {
		return nil, err
	}
	for _, b := range locked[typeKey] {
		if b.Bucket != number {
			continue
		}
		units, err := unitsOfOrders(ctx, tx, d.ActivityID, key)
		if err != nil {
			return nil, err
		}
		adjusted, err := appliedUnits(ctx, tx, d.ActivityID)
		if err != nil {
			return nil, err
		}
		_, err = tx.ExecContext(ctx, `UPDATE stock_bucket SET frozen = ?, sold = ?, adjusted = ?, updated_at = ?
 WHERE activity_id = ? AND ticket_type = ? AND bucket = ?`, units.frozen, units.sold, adjusted[key], now, d.ActivityID, key.ticketType, number)
		if sqltx.CheckViolated(err) {
			return nil, impossible("its live orders have more units than the bucket; cancel some first")
		}
		if err != nil {
			return nil, fmt.Errorf("reconcile: correct a bucket: %w", err)
		}
		return effect{"bucket": d.Subject, "frozen": b.Frozen, "sold": b.Sold, "adjusted": b.Adjusted}, nil
	}
	return nil, impossible("there is no such bucket")
}

// unitsOfOrders adds up the units of a bucket that live orders have. Few forms of allocations differ, so the database groups by them.
func unitsOfOrders(ctx context.Context, tx *sql.Tx, activityID string, key bucketKey) (orderUnits, error) {
	found, err := tx.QueryContext(ctx, `SELECT allocations, status, COUNT(*) FROM trade_order WHERE activity_id = ? AND ticket_type = ?
 AND status IN ('UNPAID', 'PAID') GROUP BY allocations, status`, activityID, key.ticketType)
	if err != nil {
		return orderUnits{}, fmt.Errorf("reconcile: units of orders: %w", err)
	}
	defer found.Close()
	var sum orderUnits
	for found.Next() {
		var text string
		var status order.Status
		var count int
		if err := found.Scan(&text, &status, &count); err != nil {
			return sum, fmt.Errorf("reconcile: units of orders: %w", err)
		}
		allocations, err := sale.ParseAllocations(text)
		if err != nil {
			return sum, fmt.Errorf("reconcile: units of orders: %w", err)
		}
		for _, a := range allocations {
			switch {
			case a.Bucket != key.bucket:
			case status == order.Paid:
				sum.sold += a.Count * count
			default:
				sum.frozen += a.Count * count
			}
		}
	}
	return sum, found.Err()
}

// correctLimit writes what a user holds from the live orders. The row is made if need be and locked first, as with buckets. What undoes
// it is the figure that stood there.
func correctLimit(ctx context.Context, tx *sql.Tx, d Difference, now time.Time) (effect, error) {
	fail := func(err error) (effect, error) { return nil, fmt.Errorf("reconcile: correct a limit: %w", err) }
	_, err := tx.ExecContext(ctx, `INSERT INTO purchase_limit (activity_id, user_id, quantity, max_quantity, updated_at) VALUES (?, ?, 0, 1, ?)
 ON DUPLICATE KEY UPDATE user_id = VALUES(user_id)`, d.ActivityID, d.Subject, now)
	if err != nil {
		return fail(err)
	}
	var held, most, units int
	err = tx.QueryRowContext(ctx, `SELECT quantity, max_quantity FROM purchase_limit WHERE activity_id = ? AND user_id = ? FOR UPDATE`,
		d.ActivityID, d.Subject).Scan(&held, &most)
	if err != nil {
		return fail(err)
	}
	err = tx.QueryRowContext(ctx, `SELECT COALESCE(SUM(quantity), 0) FROM trade_order WHERE user_id = ? AND activity_id = ?
 AND status IN ('UNPAID', 'PAID')`, d.Subject, d.ActivityID).Scan(&units)
	if err != nil {
		return fail(err)
	}
	// The limit itself gives way: what is held is held, and the next order brings the limit of the sale and is refused by it.
	_, err = tx.ExecContext(ctx, `UPDATE purchase_limit SET quantity = ?, max_quantity = ?, updated_at = ? WHERE activity_id = ? AND user_id = ?`,
		units, max(most, units), now, d.ActivityID, d.Subject)
	if err != nil {
		return fail(err)
	}
	return effect{"held": held, "limit": most}, nil
}

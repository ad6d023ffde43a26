package reconcile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/shared/alert"
	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/sale"
)

// How often a failure is tried: with pauses that double up to an hour, and for ever. After the fifth time a person is told.
const (
	firstRetryPause   = time.Minute
	longestRetryPause = time.Hour
	alertAfter        = 5
)

// retryPause is how long to wait after so many tries.
func retryPause(tries int) time.Duration {
	pause := firstRetryPause
	for i := 1; i < tries && pause < longestRetryPause; i++ {
		pause *= 2
	}
	return min(pause, longestRetryPause)
}

// compensation is a row of compensation_fail that is due.
type compensation struct {
	orderID    sale.OrderID
	kind       string // RELEASE or ACK
	activityID string
	attempts   int
	createdAt  time.Time
}

const (
	selectDue = `SELECT order_id, kind, activity_id, attempts, created_at FROM compensation_fail WHERE status = 'OPEN' AND due_at <= ?
 ORDER BY due_at, order_id, kind LIMIT ?`
	settleCompensation = `UPDATE compensation_fail SET status = ?, attempts = ?, due_at = ?, last_error = ?, updated_at = ?
 WHERE order_id = ? AND kind = ? AND status = 'OPEN'`
)

// RetryFailures tries again what the first layer of repair gave up and wrote down, as far as it is due, and counts what is done with:
// mended now, or found mended. A failure that stays is put off, so that every page is another one. Another pass that runs now has the
// work: then nothing is done. It returns the errors of the database, and why failures stay.
func (r *Reconciler) RetryFailures(ctx context.Context, pageSize int) (done int, err error) {
	l, err := r.acquire(ctx, "failures", sweepLease)
	if errors.Is(err, errLeased) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer l.release(ctx)
	var failures []error
	for range sweepPages {
		page, err := r.dueCompensations(ctx, pageSize)
		if err != nil || len(page) == 0 {
			return done, errors.Join(append(failures, err)...)
		}
		n, reason, err := r.retryPage(ctx, page)
		done += n
		failures = append(failures, reason)
		if err != nil {
			return done, errors.Join(append(failures, err)...)
		}
		if err := l.renew(ctx); err != nil {
			return done, errors.Join(append(failures, err)...)
		}
	}
	return done, errors.Join(failures...)
}

func (r *Reconciler) dueCompensations(ctx context.Context, limit int) ([]compensation, error) {
	now, err := r.db.Now(ctx, r.db)
	if err != nil {
		return nil, err
	}
	rows, err := r.db.QueryContext(ctx, selectDue, now, limit)
	if err != nil {
		return nil, fmt.Errorf("reading failures: %w", err)
	}
	defer rows.Close()
	var out []compensation
	for rows.Next() {
		var c compensation
		var id []byte
		if err := rows.Scan(&id, &c.kind, &c.activityID, &c.attempts, &c.createdAt); err != nil {
			return nil, fmt.Errorf("reading failures: %w", err)
		}
		if c.orderID, err = sale.OrderIDFromBytes(id); err != nil {
			return nil, fmt.Errorf("reading failures: %w", err)
		}
		out = append(out, c)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading failures: %w", err)
	}
	return out, nil
}

// retryPage tries one page and writes down how each failure stands then. reason says why some of them stay; err is an error of the
// database, after which the page is due as before.
func (r *Reconciler) retryPage(ctx context.Context, page []compensation) (done int, reason, err error) {
	ids := make([]sale.OrderID, len(page))
	for i := range page {
		ids[i] = page[i].orderID
	}
	rows, err := order.GetMany(ctx, r.db, ids)
	if err != nil {
		return 0, nil, err
	}
	told, mended, reason := r.retry(ctx, page, rows)
	r.record(ctx, mended)
	for i := range page {
		finished := !stays(&page[i], rows, told)
		if finished {
			done++
		}
		if err := r.settle(ctx, &page[i], finished, reason); err != nil {
			return done, reason, err
		}
	}
	return done, reason, nil
}

// retry tells Redis of those orders of a page whose rows still ask for it.
func (r *Reconciler) retry(ctx context.Context, page []compensation, rows map[sale.OrderID]order.Order) (checkout.Mended, repairs, error) {
	var out checkout.Outcome
	for i := range page {
		switch o, found := rows[page[i].orderID]; {
		case !found:
		case page[i].kind == "ACK" && o.Status.Live():
			out.Live = append(out.Live, o)
		case page[i].kind == "RELEASE" && o.Status == order.Cancelled && o.ReleasedAt == nil:
			out.Cancelled = append(out.Cancelled, o)
		}
	}
	told, err := r.checkout.Repair(ctx, order.EveryMinute, out)
	mended := repairs{layer: order.EveryMinute, adopted: len(told.Adopted)}
	for i := range page {
		c := &page[i]
		o, found := rows[c.orderID]
		switch {
		case !found:
		case c.kind == "ACK" && told.Acknowledged[o.ID]:
			mended.add(order.RepairAck, &o, o.ReservedAt)
		case c.kind == "RELEASE" && told.Released[o.ID]:
			mended.add(order.RepairRelease, &o, since(o.CancelledAt))
		}
	}
	return told, mended, errors.Join(err, r.requestLoads(ctx, slices.Concat(out.Live, out.Cancelled), err))
}

// stays says whether a failure is to be tried again: its row asks for it, or is missing against all rules, and Redis was not told. An
// acknowledgement of an order that was cancelled since has nothing left to tell, and one that Redis contradicts is a person's.
func stays(c *compensation, rows map[sale.OrderID]order.Order, told checkout.Mended) bool {
	o, found := rows[c.orderID]
	switch {
	case !found:
		return true
	case c.kind == "ACK":
		return o.Status.Live() && !told.Acknowledged[o.ID] && !told.Adopted[o.ID] && !told.Contradicted[o.ID]
	}
	return o.Status.Live() || o.ReleasedAt == nil && !told.Released[o.ID]
}

// settle writes down how a failure stands after a try, and alerts a person when there were too many.
func (r *Reconciler) settle(ctx context.Context, c *compensation, finished bool, reason error) error {
	return r.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now, err := r.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		status, due, tries, text := "DONE", now, c.attempts+1, "none: it is done"
		if !finished {
			status, due, text = "OPEN", now.Add(retryPause(tries)), checkout.Cause(reason)
		}
		if _, err := tx.ExecContext(ctx, settleCompensation, status, tries, due, text, now, c.orderID[:], c.kind); err != nil {
			return fmt.Errorf("writing a failure: %w", err)
		}
		if finished || tries < alertAfter {
			return nil
		}
		return alert.Raise(ctx, tx, alert.Alert{Kind: alert.CompensationStuck, Subject: c.orderID.String(), ActivityID: c.activityID,
			Evidence: map[string]any{"missing": c.kind, "tries": tries, "lastError": text, "since": c.createdAt}}, now)
	})
}

package checkout

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"holdfast/shared/alert"
	"holdfast/shared/audit"
	"holdfast/shared/deposit"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
	"holdfast/shared/wallet"
)

// CallOff calls a whole sale off: it is closed at once, and from then on nobody can pay for or confirm anything of it. A job then
// cancels its orders page by page, UNPAID ones first, with everything that was paid or frozen given back in full; in the end the sale is
// CANCELLED. Called again it answers the same job. It returns the sale and the job's id; as faults catalog.ErrNotFound, and
// catalog.ErrIllegalTransition for a draft; and the errors of the database, after which the call may be repeated.
func (c *Checkout) CallOff(ctx context.Context, activityID string, entry audit.Entry) (a *sale.Activity, jobID string, err error) {
	jobID = bulkJobID(JobCallOff, activityID, "")
	err = c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		var changed bool
		if a, changed, err = c.catalog.CallOff(ctx, tx, activityID, entry, now); err != nil || !changed {
			return err
		}
		total, err := order.CountLive(ctx, tx, a.Number)
		if err != nil {
			return err
		}
		j := bulkJob{id: jobID, kind: JobCallOff, activityID: activityID, parameters: []byte("{}"), at: progress{Status: order.Unpaid}}
		_, err = addBulkJob(ctx, tx, j, total, entry.Operator, now)
		return err
	})
	return a, jobID, err
}

// callOffPage cancels orders of a sale that was called off: first its UNPAID orders, then its PAID ones. No order of it becomes live or
// paid any more, so that one walk finds them all.
func (c *Checkout) callOffPage(ctx context.Context, tx *sql.Tx, a *sale.Activity, j *bulkJob, ids []sale.OrderID) (n int64,
	follow func(context.Context), err error) {
	page, err := lockPage(ctx, tx, a, ids)
	if err != nil {
		return 0, nil, err
	}
	now, err := c.db.Now(ctx, tx)
	if err != nil {
		return 0, nil, err
	}
	refunds, err := cancelPage(ctx, tx, &page, now)
	if err != nil {
		return 0, nil, err
	}
	j.at.After = &page.last
	n = int64(len(page.endings) + len(page.orders))
	j.at.Cancelled += n
	j.at.Skipped += int64(page.gone)
	j.at.Refunds += int64(refunds)
	return n, func(ctx context.Context) { c.afterCalledOff(ctx, &page) }, nil
}

// calledOff is a page of a sale that was called off: either deposits or other orders, since both lock money before units.
type calledOff struct {
	endings []ending
	orders  []order.Order
	last    sale.OrderID // the last one that the page looked at
	gone    int          // are live no more
}

// lockPage locks orders, and takes as many from the start as are alike.
func lockPage(ctx context.Context, tx *sql.Tx, a *sale.Activity, ids []sale.OrderID) (calledOff, error) {
	var page calledOff
	orders, err := order.LockMany(ctx, tx, ids)
	if err != nil {
		return page, err
	}
	deposits := make(map[sale.OrderID]deposit.Record)
	if a.Kind == sale.Deposit {
		if deposits, err = deposit.LockMany(ctx, tx, ids); err != nil {
			return page, err
		}
	}
	for _, id := range ids {
		o := orders[id]
		d, held := deposits[id]
		frozen := held && d.Status == deposit.Frozen
		switch {
		case !o.Status.Live():
			page.gone++
		case frozen && len(page.orders) > 0, !frozen && len(page.endings) > 0:
			return page, nil
		case frozen:
			page.endings = append(page.endings, ending{order: &o, deposit: &d, reason: order.SaleCancelled})
		default:
			page.orders = append(page.orders, o)
		}
		page.last = id
	}
	return page, nil
}

// cancelPage cancels what the page holds and gives all its money back. It returns how many refunds that took.
func cancelPage(ctx context.Context, tx *sql.Tx, page *calledOff, now time.Time) (refunds int, err error) {
	if len(page.endings) > 0 {
		return 0, endDeposits(ctx, tx, page.endings, now)
	}
	if len(page.orders) == 0 {
		return 0, nil
	}
	var moves []wallet.Movement
	for i := range page.orders {
		o := &page.orders[i]
		if o.Status != order.Paid || o.Refundable().IsZero() {
			continue
		}
		b, err := giveBack(ctx, tx, o, o.Refundable(), payment.NewRefundID("cancellation", o.ID.String()), string(order.SaleCancelled), now)
		if err != nil {
			return 0, err
		}
		moves = append(moves, b.moves...)
		refunds++
	}
	return refunds, cancelLocked(ctx, tx, page.orders, order.SaleCancelled, now, moves...)
}

// afterCalledOff follows the commit of a page: units go back in Redis, hints about wallets go, the sender of notices wakes. Refunds to the
// provider are left to the minute pass.
func (c *Checkout) afterCalledOff(ctx context.Context, page *calledOff) {
	if len(page.endings) > 0 {
		c.afterEnd(ctx, page.endings)
		return
	}
	if err := c.Settle(ctx, Outcome{Cancelled: page.orders}); err != nil {
		c.log.Warn("the units of a sale that was called off are left to repair", "orders", len(page.orders), "error", err)
	}
	var keys []wallet.Key
	for i := range page.orders {
		if page.orders[i].Mode != sale.Test {
			keys = append(keys, buyersWallet(&page.orders[i]))
		}
	}
	c.DropHints(ctx, keys)
	c.ring(ctx)
}

// errStillLive is returned when an order of a sale that was called off is live after all pages: rows disagree, and a person must look.
var errStillLive = errors.New("checkout: an order of a sale that was called off is still live")

// calledOffLive is raised for a sale that was called off and has orders that could not be cancelled.
const calledOffLive alert.Kind = "CALLED_OFF_ORDER_LIVE"

// endCallOff goes on from UNPAID orders to PAID ones, and after these makes the sale CANCELLED. While an order is live a person is alerted,
// and the next pass tries again what is left.
func (c *Checkout) endCallOff(ctx context.Context, tx *sql.Tx, a *sale.Activity, j *bulkJob, now time.Time) (bulkEnd, error) {
	if j.at.Status == order.Unpaid {
		j.at.Status, j.at.After = order.Paid, nil
		return bulkGoesOn, nil
	}
	live, err := order.CountLive(ctx, tx, a.Number)
	if err != nil {
		return bulkGoesOn, err
	}
	if live == 0 {
		return bulkEnded, c.catalog.FinishCallOff(ctx, tx, a.ID, now)
	}
	j.at.Status, j.at.After, j.at.Failed = order.Unpaid, nil, 0
	return bulkStuck, alert.Raise(ctx, tx, alert.Alert{Kind: calledOffLive, Subject: a.ID, ActivityID: a.ID,
		Evidence: map[string]any{"jobId": j.id, "live": live}}, now)
}

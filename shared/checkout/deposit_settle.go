package checkout

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"holdfast/shared/deposit"
	"holdfast/shared/notice"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// Step is what a step of a deposit's workflow came to.
type Step string

// What a step can come to.
const (
	StepDone     Step = "DONE"     // the deposit is not FROZEN, by whoever it was: nothing is left to do
	StepNotDue   Step = "NOT_DUE"  // it is too early
	StepReminded Step = "REMINDED" // the buyer is reminded, now or before
	StepSettled  Step = "SETTLED"  // settled now
)

// StepResult says what a step came to.
type StepResult struct {
	Step    Step
	Seconds int64 // of NOT_DUE: how long to wait, rounded up, at least 1
}

func notDue(at, now time.Time) StepResult {
	return StepResult{Step: StepNotDue, Seconds: max(1, int64((at.Sub(now)+time.Second-1)/time.Second))}
}

// SettleDeposit ends one deposit whose deadline is reached: the club keeps the penalty, the rest goes back, the order is CANCELLED
// DEPOSIT_FORFEITED, and its units are released after the commit. Of a sale that was called off everything goes back, SALE_CANCELLED.
// However often and by how many it is called, that happens once. An order without a deposit is DONE. It returns the errors of the
// database, after which the call may be repeated.
func (c *Checkout) SettleDeposit(ctx context.Context, id sale.OrderID) (StepResult, error) {
	settled, at, now, err := c.settlePage(ctx, []sale.OrderID{id})
	switch {
	case err != nil:
		return StepResult{}, err
	case len(settled) == 1:
		return StepResult{Step: StepSettled}, nil
	case !at.IsZero():
		return notDue(at, now), nil
	}
	return StepResult{Step: StepDone}, nil
}

// settlePage settles those of the deposits that are FROZEN and due, in one transaction, and releases their units. at is the deadline of
// the last one that is FROZEN and not due, else zero; now is the instant that all was decided by.
func (c *Checkout) settlePage(ctx context.Context, ids []sale.OrderID) (settled []ending, at, now time.Time, err error) {
	err = c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		seats, err := c.lockSeats(ctx, tx, ids)
		if err != nil {
			return err
		}
		if now, err = c.db.Now(ctx, tx); err != nil {
			return err
		}
		settled, at = nil, time.Time{}
		for _, s := range seats {
			switch {
			case s.deposit.Status != deposit.Frozen:
			case !s.deposit.DueAt(now):
				at = s.deposit.ConfirmDeadline
			case s.sale.CancelledAt != nil:
				settled = append(settled, ending{order: s.order, deposit: s.deposit, reason: order.SaleCancelled})
			default:
				settled = append(settled, ending{order: s.order, deposit: s.deposit, reason: order.DepositForfeited, penalise: true})
			}
		}
		if len(settled) == 0 {
			return nil
		}
		return endDeposits(ctx, tx, settled, now)
	})
	if err != nil || len(settled) == 0 {
		return nil, at, now, err
	}
	c.afterEnd(ctx, settled)
	return settled, at, now, nil
}

// afterEnd follows a commit that ended deposits: their units go back, and what moving deposits entails.
func (c *Checkout) afterEnd(ctx context.Context, list []ending) {
	orders, records := make([]order.Order, len(list)), make([]deposit.Record, len(list))
	for i := range list {
		orders[i], records[i] = *list[i].order, *list[i].deposit
	}
	if err := c.Settle(ctx, Outcome{Cancelled: orders}); err != nil {
		c.log.Warn("the units of settled deposits are left to repair", "orders", len(orders), "error", err)
	}
	c.afterDeposits(ctx, records)
}

// lockSeats locks the sales, the orders and the deposits of these orders, in order of their ids. Orders without a deposit are left out.
func (c *Checkout) lockSeats(ctx context.Context, tx *sql.Tx, ids []sale.OrderID) ([]seat, error) {
	sales, err := c.lockSalesOf(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	orders, err := order.LockMany(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	deposits, err := deposit.LockMany(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	ids = slices.Clone(ids)
	slices.SortFunc(ids, order.CompareIDs)
	var seats []seat
	for _, id := range slices.Compact(ids) {
		o, ordered := orders[id]
		d, held := deposits[id]
		if ordered && held && sales[o.ActivityID] != nil {
			seats = append(seats, seat{sale: sales[o.ActivityID], order: &o, deposit: &d})
		}
	}
	return seats, nil
}

// lockSalesOf locks the sales of these orders shared, in order of their ids. Whose sale an order belongs to never changes, so it is read
// before anything is locked.
func (c *Checkout) lockSalesOf(ctx context.Context, tx *sql.Tx, ids []sale.OrderID) (map[string]*sale.Activity, error) {
	held, err := deposit.GetMany(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	var activities []string
	for _, d := range held {
		activities = append(activities, d.ActivityID)
	}
	return c.catalog.LockShared(ctx, tx, activities)
}

// RemindDeposit reminds the buyer of one FROZEN deposit, once per deadline. One whose reminder was moved to later is NOT_DUE and left to
// the minute pass; past its deadline nothing is left to remind of, nor when its sale was called off. It returns the errors of the
// database, after which the call may be repeated.
func (c *Checkout) RemindDeposit(ctx context.Context, id sale.OrderID) (StepResult, error) {
	result := StepResult{Step: StepDone}
	reminded, err := c.remindPage(ctx, []sale.OrderID{id}, func(d *deposit.Record, calledOff bool, now time.Time) {
		switch {
		case d.Status != deposit.Frozen, calledOff:
			result = StepResult{Step: StepDone}
		case d.RemindedAt == nil && d.RemindAt.After(now):
			result = notDue(d.RemindAt, now)
		default:
			result = StepResult{Step: StepReminded}
		}
	})
	if err == nil && reminded > 0 {
		result.Step = StepReminded
	}
	return result, err
}

// remindPage reminds the buyers of those deposits that are FROZEN, to be reminded of now, and not reminded yet. Those of a sale that was
// called off are left to its job, which gives them back. look sees each deposit before, and may be nil.
func (c *Checkout) remindPage(ctx context.Context, ids []sale.OrderID, look func(d *deposit.Record, calledOff bool, now time.Time)) (int, error) {
	var due []deposit.Record
	err := c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		sales, err := c.lockSalesOf(ctx, tx, ids)
		if err != nil {
			return err
		}
		locked, err := deposit.LockMany(ctx, tx, ids)
		if err != nil {
			return err
		}
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		due = nil
		var notices []notice.Notice
		for _, d := range locked {
			calledOff := sales[d.ActivityID] != nil && sales[d.ActivityID].CancelledAt != nil
			if look != nil {
				look(&d, calledOff, now)
			}
			if d.Status == deposit.Frozen && !calledOff && d.RemindedAt == nil && !d.RemindAt.After(now) && !d.DueAt(now) {
				due = append(due, d)
				notices = append(notices, reminderNotice(&d))
			}
		}
		if err := deposit.MarkReminded(ctx, tx, due, now); err != nil {
			return err
		}
		return notice.Add(ctx, tx, notices, now)
	})
	if err != nil {
		return 0, err
	}
	if len(due) > 0 {
		c.ring(ctx)
	}
	return len(due), nil
}

// overdueAfter is how long a deposit is left to its own workflow before the minute pass reminds or settles it.
const overdueAfter = 15 * time.Second

// DepositSweep counts what a pass over overdue deposits found and did.
type DepositSweep struct {
	Found    int // overdue in the pages that were read; less than twice the limit means that no others were
	Reminded int
	Settled  int
	More     bool // a page was full, so that others may be overdue
}

// SweepDeposits reminds one page of deposits and settles another, each in one transaction, longest overdue first: those whose instant was
// reached at least 15 s ago, since whoever is woken for each of them comes sooner. When a page fails for another reason than a database
// that is away, it is done in halves, so that the one to blame fails alone. It returns what was done, with the errors; what failed is
// found again.
func (c *Checkout) SweepDeposits(ctx context.Context, limit int) (DepositSweep, error) {
	var sum DepositSweep
	now, err := c.db.Now(ctx, c.db)
	if err != nil {
		return sum, err
	}
	until := now.Add(-overdueAfter)
	toRemind, err := deposit.DueToRemind(ctx, c.db, until, now, limit)
	if err != nil {
		return sum, err
	}
	toSettle, err := deposit.DueToSettle(ctx, c.db, until, limit)
	if err != nil {
		return sum, err
	}
	sum.Found, sum.More = len(toRemind)+len(toSettle), len(toRemind) == limit || len(toSettle) == limit
	var errs [2]error
	sum.Reminded, errs[0] = c.inHalves(ctx, toRemind, func(ids []sale.OrderID) (int, error) { return c.remindPage(ctx, ids, nil) })
	sum.Settled, errs[1] = c.inHalves(ctx, toSettle, func(ids []sale.OrderID) (int, error) {
		settled, _, _, err := c.settlePage(ctx, ids)
		return len(settled), err
	})
	return sum, errors.Join(errs[:]...)
}

// inHalves does a page, and its halves when it fails as a whole.
func (c *Checkout) inHalves(ctx context.Context, ids []sale.OrderID, do func(ids []sale.OrderID) (int, error)) (int, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	n, err := do(ids)
	if err == nil || len(ids) == 1 || !liesInRows(ctx, err) {
		return n, err
	}
	left, err1 := c.inHalves(ctx, ids[:len(ids)/2], do)
	right, err2 := c.inHalves(ctx, ids[len(ids)/2:], do)
	return left + right, errors.Join(err1, err2)
}

// liesInRows says whether the error of a page may lie in the rows of one of its orders, and not in a database that is away or in a caller
// whose time is up.
func liesInRows(ctx context.Context, err error) bool {
	return !errors.Is(err, sqltx.ErrUnavailable) && !errors.Is(err, sqltx.ErrCommitUnclear) && ctx.Err() == nil
}

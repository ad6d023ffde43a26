package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/alert"
	"holdfast/shared/checkout"
	"holdfast/shared/deposit"
	"holdfast/shared/metric"
	"holdfast/shared/sqltx"
)

// SweptDeposits counts what a pass over overdue deposits did.
type SweptDeposits struct {
	Reminded int `json:"reminded"` // buyers who were reminded of a deadline
	Settled  int `json:"settled"`  // deposits whose deadline had passed
}

const (
	depositLease  = 30 * time.Second
	depositBudget = 20 * time.Second // of a pass; the next minute goes on
	depositGrace  = 15 * time.Second // how long overdue deposits are left to their own workflows
	settledLately = 10 * time.Minute // longer than a few passes that are missed
	depositErrors = 10               // of one pass that are told in full
)

// sweepDeposits reminds and settles deposits that are overdue, because their workflow was not started, has died, or is late, until no more
// are found or the time is used up. The row of a deposit is the record, so nothing is started again. Another sweep that runs now has the
// work: then nothing is done. It also says how much the deposits of each activity hold. It returns the errors of the database, and those of
// deposits that could not be settled, with what was done.
func (c *Compensate) sweepDeposits(ctx context.Context, sum *CompensateSummary) error {
	l, err := c.r.acquire(ctx, "deposits", depositLease)
	if errors.Is(err, errLeased) {
		return nil
	}
	if err != nil {
		return err
	}
	defer l.release(ctx)
	ends := time.Now().Add(depositBudget)
	err = c.sweepPages(ctx, l, ends, &sum.Deposits)
	if err != nil && !away(ctx, err) && !errors.Is(err, errLeased) {
		if one := c.settleEach(ctx, l, ends, &sum.Deposits); one != nil { // it names what failed
			err = one
		}
	}
	return errors.Join(err, c.gaugeDeposits(ctx))
}

// sweepPages does page by page. What fails stays at the head of the next page, so it goes on past a failure only while most of a page is
// done, and returns that of the last page.
func (c *Compensate) sweepPages(ctx context.Context, l *lease, ends time.Time, did *SweptDeposits) error {
	for {
		page, err := c.r.checkout.SweepDeposits(ctx, c.cfg.Deposits)
		did.Reminded += page.Reminded
		did.Settled += page.Settled
		done := page.Reminded + page.Settled
		if !page.More || done == 0 || err != nil && done < c.cfg.Deposits/2 || away(ctx, err) || time.Now().After(ends) {
			return err
		}
		if err := l.renew(ctx); err != nil {
			return err
		}
	}
}

// settleEach settles what is overdue one by one in order of deadlines, so that whatever fails keeps nothing behind it from its turn. A
// person is alerted of each that fails; the next pass tries it again.
func (c *Compensate) settleEach(ctx context.Context, l *lease, ends time.Time, did *SweptDeposits) error {
	now, err := c.r.db.Now(ctx, c.r.db)
	if err != nil {
		return err
	}
	overdue := deposit.Filter{Status: deposit.Frozen, DueBefore: now.Add(-depositGrace)}
	var failures []error
	failed := 0
	tell := func(err error) error {
		if failed > len(failures) {
			err = errors.Join(err, fmt.Errorf("%d overdue deposits could not be settled", failed))
		}
		return errors.Join(append(failures, err)...)
	}
	for cursor := ""; ; {
		page, next, err := deposit.List(ctx, c.r.db, overdue, cursor, c.cfg.Deposits)
		if err != nil {
			return tell(err)
		}
		for i := range page {
			if time.Now().After(ends) {
				return tell(nil)
			}
			result, err := c.r.checkout.SettleDeposit(ctx, page[i].OrderID)
			switch {
			case err == nil && result.Step == checkout.StepSettled:
				did.Settled++
			case away(ctx, err):
				return tell(err)
			case err != nil:
				if failed++; failed <= depositErrors {
					failures = append(failures, fmt.Errorf("deposit %s: %w", page[i].OrderID, err))
				}
				c.r.alert(ctx, alert.Alert{Kind: alert.CompensationStuck, Subject: page[i].OrderID.String(), ActivityID: page[i].ActivityID,
					Evidence: map[string]any{"missing": "SETTLE_DEPOSIT", "since": page[i].ConfirmDeadline}})
			}
		}
		if next == "" {
			return tell(nil)
		}
		if err := l.renew(ctx); err != nil {
			return tell(err)
		}
		cursor = next
	}
}

// gaugeDeposits says how much the deposits of each activity hold: nothing, too, for a while after its last one has ended, since a figure
// that is not said any more stays as it is.
func (c *Compensate) gaugeDeposits(ctx context.Context) error {
	if c.r.metrics == nil {
		return nil
	}
	now, err := c.r.db.Now(ctx, c.r.db)
	if err != nil {
		return err
	}
	ended, err := sqltx.Collect(ctx, c.r.db, sqltx.Column[string], `SELECT DISTINCT activity_id FROM deposit_record WHERE settled_at > ?
 AND mode = 'LIVE'`, now.Add(-settledLately))
	if err != nil {
		return fmt.Errorf("reading whose deposits have ended: %w", err)
	}
	sums, err := deposit.FrozenSums(ctx, c.r.db) // after the others: what has ended by then does not count as held
	if err != nil {
		return err
	}
	for _, id := range ended {
		if _, holds := sums[id]; !holds {
			c.r.metrics.GaugeOf(metric.DepositAmountFrozen, id, "0")
		}
	}
	for id, held := range sums {
		c.r.metrics.GaugeOf(metric.DepositAmountFrozen, id, held.String())
	}
	return nil
}

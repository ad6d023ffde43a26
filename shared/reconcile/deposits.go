package reconcile

import (
	"context"
	"errors"
	"time"

	"holdfast/shared/deposit"
	"holdfast/shared/metric"
)

// SweptDeposits counts what a pass over overdue deposits did.
type SweptDeposits struct {
	Reminded int `json:"reminded"` // buyers who were reminded of a deadline
	Settled  int `json:"settled"`  // deposits whose deadline had passed
}

const (
	depositLease  = 30 * time.Second
	depositPage   = 500              // deposits per transaction
	depositBudget = 20 * time.Second // of a pass; the next minute goes on
)

// sweepDeposits reminds and settles deposits that are overdue, because their workflow was not started, has died, or is late, page by page
// until no more are found or the time is used up. The row of a deposit is the record, so nothing is started again. Another sweep that runs
// now has the work: then nothing is done. It also says how much the deposits of each activity hold. It returns the errors of the database,
// and what was done before them.
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
	for {
		page, err := c.r.checkout.SweepDeposits(ctx, depositPage)
		sum.Deposits.Reminded += page.Reminded
		sum.Deposits.Settled += page.Settled
		// A page that failed would be found again at once: what is behind it waits for the next pass.
		if err != nil || !page.More || page.Reminded+page.Settled == 0 || time.Now().After(ends) {
			return errors.Join(err, c.gaugeDeposits(ctx))
		}
		if err := l.renew(ctx); err != nil {
			return err
		}
	}
}

// gaugeDeposits says how much the deposits of each activity hold.
func (c *Compensate) gaugeDeposits(ctx context.Context) error {
	if c.r.metrics == nil {
		return nil
	}
	sums, err := deposit.FrozenSums(ctx, c.r.db)
	if err != nil {
		return err
	}
	for id, held := range sums {
		c.r.metrics.GaugeOf(metric.DepositAmountFrozen, id, held.String())
	}
	return nil
}

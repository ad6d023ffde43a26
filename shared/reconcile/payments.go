package reconcile

import (
	"context"
	"errors"
	"time"
)

// SweptPayments counts what a pass over payments and refunds did.
type SweptPayments struct {
	Decided  int `json:"decided"`  // successes of which nobody had decided what they become
	GivenUp  int `json:"givenUp"`  // payments that were pending at their end
	Sent     int `json:"sent"`     // refunds sent to the provider, or sent again
	Finished int `json:"finished"` // refunds that it answered for good
	Jobs     int `json:"jobs"`     // jobs through a sale's orders that have ended
}

const (
	refundPages = 20               // of a pass; the next minute goes on
	jobsBudget  = 20 * time.Second // likewise
)

// sweepPayments decides what is undecided, gives up what nobody answered, sends refunds that are due, and goes on with jobs that were
// asked for. Each of these is safe to be done by several at once. It returns the errors, with what was done.
func (c *Compensate) sweepPayments(ctx context.Context, sum *CompensateSummary) error {
	p := &sum.Payments
	var errs [4]error
	p.Decided, errs[0] = c.r.checkout.DecideUndecided(ctx, c.cfg.PageSize)
	p.GivenUp, errs[1] = c.r.checkout.GiveUpPayments(ctx, c.cfg.PageSize)
	errs[2] = c.sendRefunds(ctx, p)
	within, cancel := context.WithTimeout(ctx, jobsBudget)
	defer cancel()
	p.Jobs, errs[3] = c.r.checkout.RunBulkJobs(within)
	if errors.Is(errs[3], context.DeadlineExceeded) && ctx.Err() == nil { // its time is up, and the next pass goes on
		errs[3] = nil
	}
	return errors.Join(errs[:]...)
}

// sendRefunds sends refunds page by page until a page brings nothing.
func (c *Compensate) sendRefunds(ctx context.Context, p *SweptPayments) error {
	for range refundPages {
		page, err := c.r.checkout.SendRefunds(ctx, c.cfg.PageSize)
		p.Sent, p.Finished = p.Sent+page.Sent, p.Finished+page.Finished
		if err != nil || page.Sent < c.cfg.PageSize {
			return err
		}
	}
	return nil
}

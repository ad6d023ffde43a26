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

// sweepPayments gives up what nobody answered, decides what is undecided, sends refunds that are due, and goes on with jobs that were
// asked for. Deciding may ask the provider, too, so both share the time that a slow one may take, of which deciding has half. Each of
// these is safe to be done by several at once. It returns the errors, with what was done; where the time of one is up, the next pass goes
// on.
func (c *Compensate) sweepPayments(ctx context.Context, sum *CompensateSummary) error {
	p := &sum.Payments
	var err error
	p.GivenUp, err = c.r.checkout.GiveUpPayments(ctx, c.cfg.PageSize)
	asking, cancel := context.WithTimeout(ctx, c.cfg.Provider)
	defer cancel()
	return errors.Join(err,
		within(asking, c.cfg.Provider/2, func(ctx context.Context) (err error) {
			p.Decided, err = c.r.checkout.DecideUndecided(ctx, c.cfg.PageSize)
			return err
		}),
		within(asking, c.cfg.Provider, func(ctx context.Context) error { return c.sendRefunds(ctx, p) }),
		within(ctx, jobsBudget, func(ctx context.Context) (err error) {
			p.Jobs, err = c.r.checkout.RunBulkJobs(ctx)
			return err
		}))
}

// within runs a step in a time of its own, as InTimeLeft does.
func within(ctx context.Context, budget time.Duration, step func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	return InTimeLeft(ctx, func() error { return step(ctx) })
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

package checkout

import (
	"context"
	"errors"
	"fmt"

	"holdfast/shared/payment"
	"holdfast/shared/sqltx"
)

// DecideUndecided decides every success that nobody has decided yet, because whoever heard of it died or could not. One that cannot be
// decided keeps no other from being, and a person is alerted of it, whose money waits. It returns how many are decided now, with the errors;
// the next pass finds what is left.
func (c *Checkout) DecideUndecided(ctx context.Context, pageSize int) (decided int, err error) {
	var errs []error
	for after := ""; ; {
		page, err := payment.Undecided(ctx, c.db, after, pageSize)
		if err != nil {
			return decided, errors.Join(append(errs, err)...)
		}
		for _, id := range page {
			if err := c.DecideLate(ctx, id); err != nil {
				errs = append(errs, fmt.Errorf("payment %s: %w", id, err))
				if liesInRows(ctx, err) && !sqltx.Retryable(err) {
					c.alertUndecided(ctx, id)
				}
				continue
			}
			decided++
		}
		if len(page) < pageSize || ctx.Err() != nil {
			return decided, errors.Join(errs...)
		}
		after = page[len(page)-1]
	}
}

// alertUndecided has a person look at a payment that cannot be decided.
func (c *Checkout) alertUndecided(ctx context.Context, id string) {
	p, err := payment.Get(ctx, c.db, id)
	if err != nil {
		c.log.Warn("nobody is alerted of a payment that cannot be decided", "paymentId", id, "error", err)
		return
	}
	c.alertStuck(ctx, id, p.OrderID, "DECIDE_PAYMENT")
}

// GiveUpPayments moves one page of payments that are still PENDING at their end to EXPIRED. Whoever ends an order gives its payment up
// with it, so that few are left for this. It returns how many, and the errors of the database.
func (c *Checkout) GiveUpPayments(ctx context.Context, limit int) (int, error) {
	now, err := c.db.Now(ctx, c.db)
	if err != nil {
		return 0, err
	}
	ids, err := payment.Overdue(ctx, c.db, now, limit)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return payment.Expire(ctx, c.db, ids, now)
}

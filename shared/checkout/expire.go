package checkout

import (
	"context"
	"database/sql"

	"holdfast/shared/order"
)

// Expire cancels one page of unpaid orders whose deadline is reached, longest overdue first, and gives their units back. It returns
// how many it cancelled, and how many were overdue in the page: fewer than limit means that no others were. Orders that somebody
// else has locked are passed over, and paid or cancelled meanwhile they are left alone. A payment by the provider that is still pending
// holds no order beyond its deadline: it is given up in the same transaction, and when its success comes after all, it makes a new order
// or goes back. An error of the database means that the page was not cancelled; what Redis could not give back is left to repair.
func (c *Checkout) Expire(ctx context.Context, limit int) (cancelled, overdue int, err error) {
	now, err := c.db.Now(ctx, c.db)
	if err != nil {
		return 0, 0, err
	}
	ids, err := order.Overdue(ctx, c.db, now, limit)
	if err != nil || len(ids) == 0 {
		return 0, 0, err
	}
	var expired []order.Order
	err = c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		if expired, err = order.LockOverdue(ctx, tx, ids, now); err != nil || len(expired) == 0 {
			return err
		}
		return cancelLocked(ctx, tx, expired, order.PayTimeout, now)
	})
	if err != nil {
		return 0, len(ids), err
	}
	if err := c.Settle(ctx, Outcome{Cancelled: expired}); err != nil {
		c.log.Warn("the units of expired orders are left to repair", "orders", len(expired), "error", err)
	}
	if len(expired) > 0 {
		c.ring(ctx)
	}
	return len(expired), len(ids), nil
}

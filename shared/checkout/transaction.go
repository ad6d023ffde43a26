package checkout

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"holdfast/shared/order"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
)

// repeatable runs a transaction that decides by the states that it finds, so that running it after itself changes nothing. When
// its COMMIT stays without answer it is simply run again: its locks wait for the first run to end, and it then finds out what that
// one did.
func (c *Checkout) repeatable(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	err := c.db.Run(ctx, f)
	if errors.Is(err, sqltx.ErrCommitUnclear) {
		err = c.db.Run(ctx, f)
	}
	return err
}

// cancelLocked cancels live orders that the transaction has locked, with all that belongs to them: the limits of their users, the
// stock log, the units in their buckets.
func cancelLocked(ctx context.Context, tx *sql.Tx, orders []order.Order, reason order.Reason, now time.Time) error {
	holdings, buckets := make(order.Holdings), make(stock.BucketChanges)
	for i := range orders {
		o := &orders[i]
		holdings.Add(o)
		if o.Status == order.Paid {
			buckets.Add(o.ActivityID, o.TicketType, o.Allocations, 0, -1)
		} else {
			buckets.Add(o.ActivityID, o.TicketType, o.Allocations, -1, 0)
		}
	}
	if err := order.CancelAll(ctx, tx, orders, reason, now); err != nil {
		return err
	}
	if err := order.GiveBack(ctx, tx, holdings, now); err != nil {
		return err
	}
	if err := order.LogGivenBack(ctx, tx, orders, now); err != nil {
		return err
	}
	return stock.ChangeBuckets(ctx, tx, buckets, now)
}

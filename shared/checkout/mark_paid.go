package checkout

import (
	"context"
	"database/sql"
	"fmt"

	"holdfast/shared/audit"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// MarkPaid makes an UNPAID order PAID in full because an operator says that it was, under a reference of theirs (1..100
// characters). The same reference again answers the same order. It returns order.ErrNotFound; ErrExpired when the deadline is
// reached, whether the order has been cancelled for it already or not; ErrNotPayable when it is paid otherwise or cancelled; and the
// errors of the database, after which the call may be repeated.
func (c *Checkout) MarkPaid(ctx context.Context, id sale.OrderID, reference string, entry audit.Entry) (*order.Order, error) {
	paidBy := order.PaidByManual(reference)
	var o *order.Order
	err := c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		if o, err = order.GetForUpdate(ctx, tx, id); err != nil {
			return err
		}
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		switch {
		case o.Status == order.Paid && o.PaidBy == paidBy:
			return nil
		case o.Status == order.Paid:
			return fmt.Errorf("%w: it is paid already", ErrNotPayable)
		case o.Reason == order.PayTimeout, o.Status == order.Unpaid && o.ExpiredAt(now):
			return ErrExpired
		case o.Status == order.Cancelled:
			return fmt.Errorf("%w: it is cancelled", ErrNotPayable)
		}
		if err := order.Pay(ctx, tx, o, paidBy, now); err != nil {
			return err
		}
		if err := order.LogDeducted(ctx, tx, id, now); err != nil {
			return err
		}
		entry.At = now
		if err := audit.Add(ctx, tx, entry); err != nil {
			return err
		}
		buckets := make(stock.BucketChanges)
		buckets.Add(o.ActivityID, o.TicketType, o.Allocations, -1, 1)
		return stock.ChangeBuckets(ctx, tx, buckets, now)
	})
	if err != nil {
		return nil, err
	}
	if err := c.cache(ctx, []order.Order{*o}); err != nil {
		c.log.Warn("the order cache was not written", "orderId", o.ID, "error", err)
	}
	return o, nil
}

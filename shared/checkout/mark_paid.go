package checkout

import (
	"context"
	"database/sql"
	"fmt"

	"holdfast/shared/audit"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
	"holdfast/shared/wallet"
)

// MarkPaid makes an UNPAID order PAID in full because an operator says that it was, under a reference of theirs (1..100
// characters). The same reference again answers the same order. A payment by the provider that is still pending is given up: its
// success, should it come, goes back. It returns order.ErrNotFound; ErrExpired when the deadline is reached, whether the order has been
// cancelled for it already or not; ErrNotPayable when it is paid otherwise or cancelled, when it is a deposit seat, or when its sale was
// called off; and the errors of the database, after which the call may be repeated.
func (c *Checkout) MarkPaid(ctx context.Context, id sale.OrderID, reference string, entry audit.Entry) (*order.Order, error) {
	paidBy := order.PaidByManual(reference)
	var o *order.Order
	err := c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		a, err := c.lockSale(ctx, tx, id)
		if err != nil {
			return err
		}
		if o, err = order.GetForUpdate(ctx, tx, id); err != nil {
			return err
		}
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		if o.Status == order.Paid && o.PaidBy == paidBy {
			return nil
		}
		if err := checkPayable(a, o, now); err != nil {
			return err
		}
		if a.Kind == sale.Deposit {
			return fmt.Errorf("%w: a deposit seat is accepted by its buyer", ErrNotPayable)
		}
		if err := payment.GiveUp(ctx, tx, []sale.OrderID{id}, now); err != nil {
			return err
		}
		err = fulfil(ctx, tx, o, paidBy, now, moneyOf(o.Mode, wallet.Movement{Type: wallet.PaymentManual, Reference: id.String(),
			UserID: o.UserID, OrderID: id, Amount: o.Amount})...)
		if err != nil {
			return err
		}
		entry.At = now
		return audit.Add(ctx, tx, entry)
	})
	if err != nil {
		return nil, err
	}
	c.afterPayment(ctx, o)
	return o, nil
}

package checkout

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/wallet"
)

// PayByWallet pays an UNPAID order from its buyer's wallet, at once and in full, and keeps the answer under the key in the same
// transaction; a key that was answered before changes nothing. An offered deposit seat is accepted by it: its deposit is frozen, and the
// order stays UNPAID until it is confirmed. It returns
//
//	order.ErrNotFound         the order does not exist, or is somebody else's
//	ErrInsufficientBalance    the wallet has too little, by the wallet itself; nothing moved
//	ErrNotPayable             the order owes nothing, is cancelled, or its sale was called off
//	ErrPaymentPending         a payment by the provider is under way
//	ErrExpired                the deadline is reached
//	idempotency.ErrReused     as a fault
//	and the errors of the database, after which the call may be repeated.
func (c *Checkout) PayByWallet(ctx context.Context, in Paying) (*order.Order, error) {
	var o *order.Order
	var frozen bool
	err := c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		o, frozen, err = c.payByWallet(ctx, tx, &in)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.afterPayment(ctx, o)
	if frozen {
		c.afterFreeze(ctx, o.ID)
	}
	return o, nil
}

func (c *Checkout) payByWallet(ctx context.Context, tx *sql.Tx, in *Paying) (o *order.Order, frozen bool, err error) {
	now, err := c.db.Now(ctx, tx)
	if err != nil {
		return nil, false, err
	}
	answered, err := in.Wish.begin(ctx, tx, now)
	if err != nil {
		return nil, false, err
	}
	a, o, now, err := c.lockPaid(ctx, tx, in)
	if err != nil || answered {
		return o, false, err
	}
	if err := checkPayable(a, o, now); err != nil {
		return nil, false, err
	}
	if offeredSeat(a, o) {
		if err := c.freezeOffer(ctx, tx, a, o, now); err != nil {
			return nil, false, err
		}
		return o, true, in.Wish.finish(ctx, tx, o, now)
	}
	if err := refuseBeside(ctx, tx, o.ID); err != nil {
		return nil, false, err
	}
	p := newPayment(in, o, payment.ByWallet, now)
	succeedAtOnce(p, now)
	err = fulfil(ctx, tx, o, p.ID, now, moneyOf(o.Mode, wallet.Movement{Type: wallet.PaymentWallet, Reference: o.ID.String(),
		UserID: o.UserID, OrderID: o.ID, Amount: o.Amount})...)
	if errors.Is(err, wallet.ErrShort) {
		return nil, false, fmt.Errorf("%w: the order costs %s %s", ErrInsufficientBalance, o.Amount, o.Amount.Currency)
	}
	if err != nil {
		return nil, false, err
	}
	if err := payment.Insert(ctx, tx, p); err != nil {
		return nil, false, err
	}
	return o, false, in.Wish.finish(ctx, tx, o, now)
}

package checkout

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
)

// providerPatience bounds one call to the provider: a buyer waits for it, and the same key goes on where it ended.
const providerPatience = 5 * time.Second

// PayByProvider opens a payment of an UNPAID order by the provider, or goes on with the one that the key names already: the payment is
// stored first, the provider is asked outside of the transaction, and what the buyer has to do is kept. One payment of an order is
// PENDING at a time, and it ends with the order's deadline. Nothing is paid by this: a notification of the provider does that. A payment
// of a TEST sale succeeds at once, without provider. It returns order and payment as they stand, and
//
//	payment.ErrNoProvider     the provider did not answer; the payment is PENDING, and the same key continues it
//	the errors of PayByWallet, without ErrInsufficientBalance
//
// A payment that the provider refuses is no error: it is FAILED, and another key makes another attempt.
func (c *Checkout) PayByProvider(ctx context.Context, in Paying) (*order.Order, *payment.Payment, error) {
	var o *order.Order
	var p *payment.Payment
	err := c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		o, p, err = c.openPayment(ctx, tx, &in)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if p.Status == payment.Succeeded {
		c.afterPayment(ctx, o)
	}
	if p.Status != payment.Pending || p.Action != nil {
		return o, p, nil
	}
	if err := c.beginCharge(ctx, p, in.ReturnURL); err != nil {
		return nil, nil, err
	}
	return o, p, nil
}

// openPayment stores the payment that a wish names, or finds it.
func (c *Checkout) openPayment(ctx context.Context, tx *sql.Tx, in *Paying) (*order.Order, *payment.Payment, error) {
	now, err := c.db.Now(ctx, tx)
	if err != nil {
		return nil, nil, err
	}
	if _, err := in.Wish.begin(ctx, tx, now); err != nil {
		return nil, nil, err
	}
	a, o, now, err := c.lockPaid(ctx, tx, in)
	if err != nil {
		return nil, nil, err
	}
	known, err := payment.GetForUpdate(ctx, tx, payment.NewID(in.OrderID, in.Key))
	if err == nil && known.Status == payment.Pending && known.Action == nil && known.ExpiredAt(now) {
		return nil, nil, ErrExpired // the provider has not answered yet, and it is too late to ask again
	}
	if err == nil || !errors.Is(err, payment.ErrNotFound) {
		return o, known, err
	}
	if err := checkPayable(a, o, now); err != nil {
		return nil, nil, err
	}
	if a.Kind == sale.Deposit {
		return nil, nil, fmt.Errorf("%w: a deposit is held by the wallet", ErrNotPayable)
	}
	p := newPayment(in, o, payment.ByProvider, now)
	if o.Mode == sale.Test {
		if err := refuseBeside(ctx, tx, o.ID); err != nil {
			return nil, nil, err
		}
		succeedAtOnce(p, now)
		if err := fulfil(ctx, tx, o, p.ID, now); err != nil {
			return nil, nil, err
		}
	}
	if err := payment.Insert(ctx, tx, p); err != nil {
		if errors.Is(err, payment.ErrOpen) {
			err = ErrPaymentPending
		}
		return nil, nil, err
	}
	return o, p, in.Wish.finish(ctx, tx, o, now)
}

// beginCharge asks the provider to charge the buyer, and keeps what it says. Asked again for the same payment it answers the same.
func (c *Checkout) beginCharge(ctx context.Context, p *payment.Payment, returnURL string) error {
	if c.provider == nil {
		return payment.ErrNoProvider
	}
	charge := payment.Charge{PaymentID: p.ID, OrderID: p.OrderID, Amount: p.Amount, ReturnURL: returnURL}
	if p.ExpiresAt != nil {
		charge.ExpiresAt = *p.ExpiresAt
	}
	asking, cancel := context.WithTimeout(ctx, providerPatience)
	action, err := c.provider.Begin(asking, charge)
	cancel()
	if errors.Is(err, payment.ErrRefused) {
		return c.failPayment(ctx, p, "REFUSED")
	}
	if err != nil {
		return err
	}
	now, err := c.db.Now(ctx, c.db)
	if err != nil {
		return err
	}
	if err := payment.KeepAction(ctx, c.db, p.ID, action, now); err != nil {
		return err
	}
	p.Action = &action
	return nil
}

// failPayment moves a payment from PENDING to FAILED; one that is further stays. p becomes what the row says.
func (c *Checkout) failPayment(ctx context.Context, p *payment.Payment, failure string) error {
	return c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		locked, err := payment.GetForUpdate(ctx, tx, p.ID)
		if err != nil {
			return err
		}
		*p = *locked
		if p.Status != payment.Pending {
			return nil
		}
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		return payment.Fail(ctx, tx, p, failure, now)
	})
}

package checkout

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/notice"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/waitlist"
	"holdfast/shared/wallet"
)

// ErrPaymentPending is returned when another payment of the order is under way. Nothing was changed.
var ErrPaymentPending = errors.New("checkout: another payment of the order is pending")

// Paying is a buyer's wish to pay an order.
type Paying struct {
	OrderID   sale.OrderID
	UserID    string
	Key       string // the Idempotency-Key: with the order it names the payment
	ReturnURL string // by provider: where the buyer comes back to; empty: nowhere
	Wish      *Wish
}

// ChargeBy has buyers charged by a provider, and refunds sent to it; it is called before the first use, if at all. Without one nobody
// can pay by provider.
func (c *Checkout) ChargeBy(p payment.Provider) { c.provider = p }

// checkPayable says whether a locked order can be paid at an instant: it returns ErrExpired when its deadline is reached, whether it was
// cancelled for it already or not, and ErrNotPayable when it owes nothing, is cancelled, holds a deposit, or belongs to a sale that was
// called off.
func checkPayable(a *sale.Activity, o *order.Order, now time.Time) error {
	switch {
	case o.Status == order.Paid:
		return fmt.Errorf("%w: it is paid already", ErrNotPayable)
	case o.Reason == order.PayTimeout, o.Status == order.Unpaid && o.ExpiredAt(now):
		return ErrExpired
	case o.Status == order.Cancelled:
		return fmt.Errorf("%w: it is cancelled", ErrNotPayable)
	case a.CancelledAt != nil:
		return fmt.Errorf("%w: the sale was called off", ErrNotPayable)
	case o.PayDeadline == nil:
		return fmt.Errorf("%w: a deposit holds it; it is confirmed, not paid", ErrNotPayable)
	}
	return nil
}

// refuseBeside returns ErrPaymentPending when a payment of a locked order is pending.
func refuseBeside(ctx context.Context, tx *sql.Tx, id sale.OrderID) error {
	switch _, err := payment.OpenOf(ctx, tx, id); {
	case err == nil:
		return ErrPaymentPending
	case !errors.Is(err, payment.ErrNotFound):
		return err
	}
	return nil
}

// newPayment makes the payment that a wish names, of a locked order.
func newPayment(in *Paying, o *order.Order, method payment.Method, now time.Time) *payment.Payment {
	return &payment.Payment{ID: payment.NewID(o.ID, in.Key), OrderID: o.ID, ActivityID: o.ActivityID, UserID: o.UserID, Mode: o.Mode,
		Method: method, Amount: o.Amount, Status: payment.Pending, ExpiresAt: o.PayDeadline, CreatedAt: now, UpdatedAt: now}
}

// succeedAtOnce makes a new payment one that has paid its order.
func succeedAtOnce(p *payment.Payment, now time.Time) {
	at := now
	p.Status, p.Disposition, p.SucceededAt, p.ExpiresAt = payment.Succeeded, payment.ToOrder, &at, nil
}

// fulfil makes a locked UNPAID order PAID by what paid it, with all that belongs to it: an offer of the waitlist is accepted, money
// moves, frozen units are sold, the stock log says so, and the buyer is told. It returns wallet.ErrShort when a wallet cannot cover its
// part; the transaction must then be rolled back.
func fulfil(ctx context.Context, tx *sql.Tx, o *order.Order, paidBy string, now time.Time, moves ...wallet.Movement) error {
	if err := order.Pay(ctx, tx, o, paidBy, now); err != nil {
		return err
	}
	if o.Source == order.FromOffer {
		if err := waitlist.Accept(ctx, tx, []sale.OrderID{o.ID}, now); err != nil {
			return err
		}
	}
	if err := wallet.Apply(ctx, tx, moves, now); err != nil {
		return err
	}
	buckets := make(stock.BucketChanges)
	buckets.Add(o.ActivityID, o.TicketType, o.Allocations, -1, 1)
	if err := stock.ChangeBuckets(ctx, tx, buckets, now); err != nil {
		return err
	}
	if err := order.LogDeducted(ctx, tx, o.ID, now); err != nil {
		return err
	}
	return notice.Add(ctx, tx, []notice.Notice{orderNotice(notice.OrderPaid, o)}, now)
}

// afterPayment follows a commit that paid an order or tried to: readers see it, hints about the wallet go, the sender of notices wakes.
func (c *Checkout) afterPayment(ctx context.Context, o *order.Order) {
	c.showChanged(ctx, *o)
	if o.Mode != sale.Test {
		c.DropHints(ctx, []wallet.Key{buyersWallet(o)})
	}
	c.ring(ctx)
}

// lockPaid locks what a payment of an order is decided by: the sale, shared, and the order, which must be the buyer's. It returns
// order.ErrNotFound for another's, and the instant after the locks.
func (c *Checkout) lockPaid(ctx context.Context, tx *sql.Tx, in *Paying) (*sale.Activity, *order.Order, time.Time, error) {
	a, err := c.lockSale(ctx, tx, in.OrderID)
	if err != nil {
		return nil, nil, time.Time{}, err
	}
	o, err := order.GetForUpdate(ctx, tx, in.OrderID)
	if err != nil {
		return nil, nil, time.Time{}, err
	}
	if o.UserID != in.UserID {
		return nil, nil, time.Time{}, order.ErrNotFound
	}
	now, err := c.db.Now(ctx, tx) // the locks may have taken their time, and the deadline with them
	return a, o, now, err
}

// offeredSeat says whether a locked order is a deposit seat that the waitlist offered and nobody has accepted yet.
func offeredSeat(a *sale.Activity, o *order.Order) bool {
	return a.Kind == sale.Deposit && o.Status == order.Unpaid && o.Source == order.FromOffer && o.PayDeadline != nil
}

package checkout

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"holdfast/shared/money"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
	"holdfast/shared/wallet"
)

// ErrAmountDiffers is returned for news of a payment of another amount than was asked for. Nothing was changed.
var ErrAmountDiffers = errors.New("checkout: the news is of another amount than the payment or refund has")

// PaymentNews is what the provider says became of a payment.
type PaymentNews struct {
	PaymentID string
	Succeeded bool
	Failure   string // of a failure: why, as a code
	Amount    money.Amount
	Reference string // id of the charge at the provider
}

// LearnPayment takes news of a payment, however often and in whatever order they come. A failure ends a PENDING payment and changes no
// other. A success counts from wherever the payment stands, since the buyer's money has moved: the money is received and, in the same
// transaction, pays its order while that is UNPAID, or goes back as a surplus when another payment paid it, or when it was cancelled for
// good. Of an order that ran out before its payment came it becomes a new order afterwards, in a transaction of its own; until then it is
// undecided, and the minute pass decides what is left so.
//
// It returns payment.ErrNotFound for a payment that no provider was asked for, ErrAmountDiffers, and the errors of the database: then
// nothing is known to have happened, and the news must come again.
func (c *Checkout) LearnPayment(ctx context.Context, news PaymentNews) error {
	p, err := payment.Get(ctx, c.db, news.PaymentID)
	if err != nil {
		return err
	}
	if p.Method != payment.ByProvider || p.Mode == sale.Test {
		return payment.ErrNotFound
	}
	if news.Amount.Currency != p.Amount.Currency || news.Amount.Cmp(p.Amount) != 0 {
		return ErrAmountDiffers
	}
	if !news.Succeeded {
		return c.failPayment(ctx, p, news.Failure)
	}
	decided, err := c.receive(ctx, p, news.Reference)
	if err != nil || decided {
		return err
	}
	if err := c.DecideLate(ctx, p.ID); err != nil {
		c.log.Warn("what a late payment becomes is left to the minute pass", "paymentId", p.ID, "error", err)
	}
	return nil
}

// settled is what deciding about a success brought about.
type settled struct {
	order  *order.Order    // PAID by it now; nil: none
	refund *payment.Refund // gives it back; nil: none
}

// receive records a success and its money, and decides what becomes of it unless a new order may have to be made.
func (c *Checkout) receive(ctx context.Context, p *payment.Payment, reference string) (decided bool, err error) {
	var done settled
	err = c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		done, decided = settled{}, false
		a, o, locked, now, err := c.lockDecision(ctx, tx, p)
		if err != nil {
			return err
		}
		if locked.Disposition != "" {
			decided = true
			return nil
		}
		if locked.Status != payment.Succeeded {
			if err := payment.Succeed(ctx, tx, locked, reference, now); err != nil {
				return err
			}
			received := wallet.Movement{Type: wallet.PaymentReceived, Reference: locked.ID, UserID: locked.UserID, OrderID: locked.OrderID, Amount: locked.Amount}
			if err := wallet.Apply(ctx, tx, []wallet.Movement{received}, now); err != nil {
				return err
			}
		}
		if isLate(o) {
			return nil
		}
		decided = true
		done, err = decide(ctx, tx, a, o, locked, now)
		return err
	})
	if err == nil {
		c.afterDecision(ctx, done)
	}
	return decided, err
}

// lockDecision locks what a payment is decided by: the sale, shared, its order, and the payment.
func (c *Checkout) lockDecision(ctx context.Context, tx *sql.Tx, p *payment.Payment) (*sale.Activity, *order.Order, *payment.Payment, time.Time, error) {
	fail := func(err error) (*sale.Activity, *order.Order, *payment.Payment, time.Time, error) {
		return nil, nil, nil, time.Time{}, err
	}
	a, err := c.lockSale(ctx, tx, p.OrderID)
	if err != nil {
		return fail(err)
	}
	o, err := order.GetForUpdate(ctx, tx, p.OrderID)
	if err != nil {
		return fail(err)
	}
	locked, err := payment.GetForUpdate(ctx, tx, p.ID)
	if err != nil {
		return fail(err)
	}
	now, err := c.db.Now(ctx, tx)
	return a, o, locked, now, err
}

// isLate says whether a success for this order may become a new one: the order ran out, and nothing stands in for it yet.
func isLate(o *order.Order) bool {
	return o.Status == order.Cancelled && o.Reason == order.PayTimeout && o.ReplacedBy == nil
}

// decide pays a locked order by a locked success while the order is UNPAID, however late: its units are still held, and a payment beats
// an expiry that comes later. Otherwise the success is a surplus.
func decide(ctx context.Context, tx *sql.Tx, a *sale.Activity, o *order.Order, p *payment.Payment, now time.Time) (settled, error) {
	if o.Status != order.Unpaid || a.CancelledAt != nil {
		return returnSurplus(ctx, tx, p, nil, now)
	}
	if err := payment.GiveUp(ctx, tx, []sale.OrderID{o.ID}, now); err != nil { // another attempt, begun when this one seemed to have failed
		return settled{}, err
	}
	if err := payment.Decide(ctx, tx, p, payment.ToOrder, nil, now); err != nil {
		return settled{}, err
	}
	return settled{order: o}, fulfil(ctx, tx, o, p.ID, now, applied(p, o))
}

// applied is the money of a success that pays an order.
func applied(p *payment.Payment, o *order.Order) wallet.Movement {
	return wallet.Movement{Type: wallet.PaymentApplied, Reference: p.ID, UserID: p.UserID, OrderID: o.ID, Amount: p.Amount}
}

// returnSurplus decides that a success goes back to the provider, once. tombstone is the order that it could not become; nil: none was
// tried.
func returnSurplus(ctx context.Context, tx *sql.Tx, p *payment.Payment, tombstone *sale.OrderID, now time.Time) (settled, error) {
	if err := payment.Decide(ctx, tx, p, payment.ToRefund, tombstone, now); err != nil {
		return settled{}, err
	}
	r := payment.Refund{ID: payment.NewRefundID("surplus", p.ID), OrderID: p.OrderID, ActivityID: p.ActivityID, UserID: p.UserID,
		PaymentID: p.ID, Surplus: true, Target: payment.ToProvider, Amount: p.Amount, Status: payment.RefundRequested,
		Reason: "SURPLUS_PAYMENT", DueAt: now, CreatedAt: now, UpdatedAt: now}
	back := wallet.Movement{Type: wallet.SurplusRefund, Reference: r.ID, UserID: r.UserID, OrderID: r.OrderID, Amount: r.Amount}
	if err := wallet.Apply(ctx, tx, []wallet.Movement{back}, now); err != nil {
		return settled{}, err
	}
	return settled{refund: &r}, payment.InsertRefund(ctx, tx, &r)
}

// afterDecision follows a commit that decided about a success.
func (c *Checkout) afterDecision(ctx context.Context, done settled) {
	if done.order != nil {
		c.afterPayment(ctx, done.order)
	}
	if done.refund != nil {
		c.sendAtOnce(ctx, done.refund.ID)
	}
}

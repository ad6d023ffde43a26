package checkout

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/deposit"
	"holdfast/shared/money"
	"holdfast/shared/notice"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
	"holdfast/shared/wallet"
)

// Refusals of refunds. None of them changed anything.
var (
	ErrRefundExists  = errors.New("checkout: the refund exists and asked for something else")
	ErrRefundTooMuch = errors.New("checkout: more than what was paid and has not gone back yet")
)

// RefundRequest is what an operator wants to give back of an order.
type RefundRequest struct {
	OrderID  sale.OrderID
	RefundID string        // the operator's name for it, 1..64 characters; the same again is the same refund
	Amount   *money.Amount // above 0; nil: all that has not gone back yet
	Reason   string        // for people, 1..500 characters
}

// Refund gives a part of an order's payment back to where it came from, or all of it, whatever the order's state, which stays. Of an
// order that was never paid but whose deposit cost its buyer a penalty, it gives that back from the club. The same refund id again
// answers the same refund. It returns order.ErrNotFound; ErrRefundExists when the id was used for another order or amount;
// ErrRefundTooMuch when less is left, or nothing; and the errors of the database, after which the call may be repeated.
func (c *Checkout) Refund(ctx context.Context, in RefundRequest, entry audit.Entry) (*order.Order, *payment.Refund, error) {
	var o *order.Order
	var r *payment.Refund
	err := c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		a, err := c.lockSale(ctx, tx, in.OrderID)
		if err != nil {
			return err
		}
		if o, err = order.GetForUpdate(ctx, tx, in.OrderID); err != nil {
			return err
		}
		r, err = payment.GetRefundForUpdate(ctx, tx, in.RefundID)
		if err == nil {
			return sameRefund(r, &in)
		}
		if !errors.Is(err, payment.ErrNotFound) {
			return err
		}
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		if r, err = refundNow(ctx, tx, a, o, &in, now); errors.Is(err, payment.ErrExists) {
			return ErrRefundExists // of another order, a moment ago
		}
		if err != nil {
			return err
		}
		entry.At = now
		return audit.Add(ctx, tx, entry)
	})
	if err != nil {
		return nil, nil, err
	}
	c.showChanged(ctx, *o)
	c.followRefund(ctx, o, r)
	if r.Target == payment.ToProvider {
		if sent, err := payment.GetRefund(ctx, c.db, r.ID); err == nil {
			r = sent
		}
	}
	return o, r, nil
}

// sameRefund says whether a refund that is there is the one that is asked for.
func sameRefund(r *payment.Refund, in *RefundRequest) error {
	sameAmount := in.Amount == nil || in.Amount.Currency == r.Amount.Currency && in.Amount.Cmp(r.Amount) == 0
	if r.OrderID != in.OrderID || r.Reason != in.Reason || !sameAmount {
		return ErrRefundExists
	}
	return nil
}

// refundNow writes a refund of a locked order, and moves its money.
func refundNow(ctx context.Context, tx *sql.Tx, a *sale.Activity, o *order.Order, in *RefundRequest, now time.Time) (*payment.Refund, error) {
	if o.Paid.IsZero() && a.Kind == sale.Deposit {
		return reversePenalty(ctx, tx, o, in, now)
	}
	amount, err := in.within(o.Refundable())
	if err != nil {
		return nil, err
	}
	b, err := giveBack(ctx, tx, o, amount, in.RefundID, in.Reason, now)
	if err != nil {
		return nil, err
	}
	return &b.refund, wallet.Apply(ctx, tx, b.moves, now)
}

// within is the amount that is asked for, which must not be more than what is left.
func (in *RefundRequest) within(left money.Amount) (money.Amount, error) {
	amount := left
	if in.Amount != nil {
		amount = *in.Amount
	}
	if amount.Currency != left.Currency || left.Less(amount) || amount.IsZero() || amount.IsNegative() {
		return money.Amount{}, fmt.Errorf("%w: %s %s are left", ErrRefundTooMuch, left, left.Currency)
	}
	return amount, nil
}

// reversePenalty gives back from the club what a deposit cost its buyer.
func reversePenalty(ctx context.Context, tx *sql.Tx, o *order.Order, in *RefundRequest, now time.Time) (*payment.Refund, error) {
	d, err := deposit.Lock(ctx, tx, o.ID)
	if errors.Is(err, deposit.ErrNotFound) {
		return nil, fmt.Errorf("%w: nothing was paid", ErrRefundTooMuch)
	}
	if err != nil {
		return nil, err
	}
	amount, err := in.within(d.Penalty.Minus(d.PenaltyReversed))
	if err != nil {
		return nil, err
	}
	at := now
	r := payment.Refund{ID: in.RefundID, OrderID: o.ID, ActivityID: o.ActivityID, UserID: o.UserID, Penalty: true, Target: payment.ToWallet,
		Amount: amount, Status: payment.RefundSucceeded, Reason: in.Reason, DueAt: now, CreatedAt: now, UpdatedAt: now, FinishedAt: &at}
	if err := deposit.ReversePenalty(ctx, tx, d, amount, now); err != nil {
		return nil, err
	}
	err = wallet.Apply(ctx, tx, moneyOf(o.Mode, wallet.Movement{Type: wallet.PenaltyReversal, Reference: r.ID, UserID: r.UserID,
		OrderID: r.OrderID, Amount: amount, ClubID: d.ClubID}), now)
	if err != nil {
		return nil, err
	}
	if err := payment.InsertRefund(ctx, tx, &r); err != nil {
		return nil, err
	}
	return &r, notice.Add(ctx, tx, []notice.Notice{refundNotice(&r, o.Mode)}, now)
}

// followRefund follows a commit that may have given money back: hints about the wallet go, notices are sent, and what goes to the
// provider is sent at once, best effort.
func (c *Checkout) followRefund(ctx context.Context, o *order.Order, r *payment.Refund) {
	if r != nil && r.Target == payment.ToWallet && o.Mode != sale.Test {
		c.DropHints(ctx, []wallet.Key{buyersWallet(o)})
	}
	if r != nil && r.Status == payment.RefundRequested {
		c.sendAtOnce(ctx, r.ID)
	}
	c.ring(ctx)
}

package checkout

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/catalog"
	"holdfast/shared/deposit"
	"holdfast/shared/money"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/wallet"
)

// RefundScope is how much of what an order was paid with comes back when it is cancelled.
type RefundScope string

// The scopes there are. What went back before counts in all of them.
const (
	RefundByRule RefundScope = "RULE" // what the sale's refund rule leaves at this moment
	RefundFull   RefundScope = "FULL"
	RefundNone   RefundScope = "NONE"
)

// Canceller is who cancels: exactly one of UserID and Operator is set.
type Canceller struct {
	UserID   string       // the buyer; an order of anybody else is not found
	Operator *audit.Entry // an operator, with the row to write when the order changes; At is filled in
	Refund   RefundScope  // of an operator; "" is RefundByRule, and a buyer has no other
	Wish     *Wish        // the key of the call, if it has one
	KeepPaid bool         // an order that money was paid for is not cancelled
}

func (by Canceller) reason() order.Reason {
	if by.Operator != nil {
		return order.ByOperator
	}
	return order.ByUser
}

func (by Canceller) mayTouch(userID string) bool { return by.Operator != nil || by.UserID == userID }

// Cancel makes an order CANCELLED and gives its units and its money back, first in MySQL, then in Redis and at the provider. An order
// that is CANCELLED already is returned as it is. A reservation that has no row yet becomes a CANCELLED row, which stops its message. It
// returns
//
//	order.ErrNotFound      neither store knows the id, or the order is somebody else's
//	ErrNotCancellable      the order is paid for and the sale's refund rule does not let its buyer cancel any more, or a deposit's
//	                       policy does not
//	stock.ErrNotLoaded, stock.ErrUnavailable, stock.ErrNoAnswer    there is no row, and Redis cannot tell about a reservation now
//	sqltx.ErrUnavailable, sqltx.ErrCommitUnclear                   as the database says; the call may be repeated
//
// That Redis has not given the units back yet, or the provider the money, is no error: repair does it.
func (c *Checkout) Cancel(ctx context.Context, id sale.OrderID, by Canceller) (*order.Order, error) {
	o, done, err := c.cancelRow(ctx, id, by)
	if errors.Is(err, order.ErrNotFound) {
		if o, err = c.cancelReservation(ctx, id, by); err == nil && o.Status != order.Cancelled {
			o, done, err = c.cancelRow(ctx, id, by) // its message was faster: now there is a row
		}
	}
	if err != nil {
		return nil, err
	}
	if err := c.ReleaseCommitted(ctx, *o); err != nil {
		c.log.Warn("the units of a cancelled order are left to repair", "orderId", o.ID, "error", err)
	}
	if done.deposit != nil {
		c.afterDeposits(ctx, []deposit.Record{*done.deposit})
	}
	c.followRefund(ctx, o, done.refund)
	return o, nil
}

// undone is the money that a cancellation set free.
type undone struct {
	refund  *payment.Refund // nil: nothing was paid back
	deposit *deposit.Record // nil: none was frozen
}

// cancelRow cancels the order if there is a row, and says which money it set free. It returns order.ErrNotFound without a row.
func (c *Checkout) cancelRow(ctx context.Context, id sale.OrderID, by Canceller) (o *order.Order, done undone, err error) {
	err = c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		done = undone{}
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		answered, err := by.Wish.begin(ctx, tx, now)
		if err != nil {
			return err
		}
		a, err := c.lockSale(ctx, tx, id)
		if err != nil {
			return err
		}
		if o, err = order.GetForUpdate(ctx, tx, id); err != nil {
			return err
		}
		if !by.mayTouch(o.UserID) {
			return order.ErrNotFound
		}
		if answered {
			return nil
		}
		if now, err = c.db.Now(ctx, tx); err != nil { // the locks may have taken their time, and a step of the refund rule with them
			return err
		}
		if o.Status != order.Cancelled {
			if done, err = c.cancelLive(ctx, tx, a, o, by, now); err != nil {
				return err
			}
			if err := by.record(ctx, tx, o); err != nil {
				return err
			}
		}
		return by.Wish.finish(ctx, tx, o, now)
	})
	return o, done, err
}

// cancelLive cancels a live order that is locked, as it may be cancelled by this caller.
func (c *Checkout) cancelLive(ctx context.Context, tx *sql.Tx, a *sale.Activity, o *order.Order, by Canceller, now time.Time) (undone, error) {
	d, err := frozenOf(ctx, tx, a, o)
	if err != nil {
		return undone{}, err
	}
	if d != nil {
		return undone{deposit: d}, c.cancelFrozen(ctx, tx, a, o, d, by.reason(), now)
	}
	due, err := by.due(a, o, now)
	if err != nil {
		return undone{}, err
	}
	refund, err := cancelWithRefund(ctx, tx, o, by.reason(), due, now)
	return undone{refund: refund}, err
}

// cancelWithRefund cancels a locked order and gives an amount of its payment back. It returns the refund; nil for nothing.
func cancelWithRefund(ctx context.Context, tx *sql.Tx, o *order.Order, reason order.Reason, due money.Amount, now time.Time) (*payment.Refund, error) {
	var refund *payment.Refund
	var moves []wallet.Movement
	if !due.IsZero() {
		b, err := giveBack(ctx, tx, o, due, payment.NewRefundID("cancellation", o.ID.String()), string(reason), now)
		if err != nil {
			return nil, err
		}
		refund, moves = &b.refund, b.moves
	}
	one := []order.Order{*o}
	if err := cancelLocked(ctx, tx, one, reason, now, moves...); err != nil {
		return nil, err
	}
	*o = one[0]
	return refund, nil
}

// due is what of a live order's payment comes back when this caller cancels it now. It returns ErrNotCancellable when a buyer can cancel
// a paid order no more. A sale that was called off gives everything back.
func (by Canceller) due(a *sale.Activity, o *order.Order, now time.Time) (money.Amount, error) {
	nothing := money.Zero(o.Amount.Currency)
	switch {
	case o.Status == order.Unpaid:
		return nothing, nil
	case by.KeepPaid && !o.Paid.IsZero():
		return nothing, fmt.Errorf("%w: it is paid", ErrNotCancellable)
	case a.CancelledAt != nil, by.Operator != nil && by.Refund == RefundFull:
		return o.Refundable(), nil
	case by.Operator != nil && by.Refund == RefundNone:
		return nothing, nil
	}
	rule, err := sale.ParseRefundRule(a.RefundRule)
	if err != nil {
		return nothing, fmt.Errorf("%w: the sale's refund rule cannot be read", ErrNotCancellable)
	}
	ratio, may := rule.Ratio(a, now)
	if !may && by.Operator == nil {
		return nothing, fmt.Errorf("%w: the sale takes no paid order back, or not any more", ErrNotCancellable)
	}
	if due := o.Paid.Part(ratio).Minus(o.Refunded); !due.IsNegative() {
		return due, nil
	}
	return nothing, nil
}

// frozenOf is the deposit of a locked order while it holds the seat; nil when there is none.
func frozenOf(ctx context.Context, tx *sql.Tx, a *sale.Activity, o *order.Order) (*deposit.Record, error) {
	if a.Kind != sale.Deposit || o.Status != order.Unpaid {
		return nil, nil
	}
	d, err := deposit.Lock(ctx, tx, o.ID)
	if errors.Is(err, deposit.ErrNotFound) || err == nil && d.Status != deposit.Frozen {
		return nil, nil
	}
	return d, err
}

// record writes the operator's row about an order that was changed.
func (by Canceller) record(ctx context.Context, tx *sql.Tx, o *order.Order) error {
	if by.Operator == nil {
		return nil
	}
	entry := *by.Operator
	entry.At = o.UpdatedAt
	return audit.Add(ctx, tx, entry)
}

// cancelReservation puts a CANCELLED row in the place of an order that is only a reservation so far, by what the log in Redis says
// of it. It returns whatever row is there in the end, which is a live one when the message was faster.
func (c *Checkout) cancelReservation(ctx context.Context, id sale.OrderID, by Canceller) (*order.Order, error) {
	a, err := catalog.ByNumber(ctx, c.db, id.Number())
	if err != nil {
		return nil, asOrderNotFound(err)
	}
	entry, err := c.stock.Entry(ctx, a.ID, id)
	if errors.Is(err, stock.ErrNoEntry) {
		return nil, order.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	if !entry.HasTaken || !by.mayTouch(entry.Reservation.UserID) {
		return nil, order.ErrNotFound
	}
	o, err := c.tombstone(ctx, entry.Reservation, by.reason(), by.Wish, by.record)
	if err != nil {
		return nil, err
	}
	return &o, nil
}

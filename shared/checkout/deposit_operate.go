package checkout

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/deposit"
	"holdfast/shared/notice"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/waitlist"
	"holdfast/shared/wallet"
)

// cancelFrozen cancels a locked order that a locked FROZEN deposit holds, with everything that belongs to both. An operator, and a sale
// that was called off, give everything back; a buyer gets what the policy leaves, while the deadline is not reached. The caller releases
// the units, and calls afterDeposits, after the commit. It returns ErrNotCancellable, and the errors of the driver.
func (c *Checkout) cancelFrozen(ctx context.Context, tx *sql.Tx, a *sale.Activity, o *order.Order, d *deposit.Record, reason order.Reason, now time.Time) error {
	e := ending{order: o, deposit: d, reason: reason}
	if reason == order.ByUser && a.CancelledAt == nil {
		switch {
		case d.DueAt(now):
			return fmt.Errorf("%w: the deadline for confirming has passed", ErrNotCancellable)
		case d.Cancellation == sale.CancelForbidden:
			return fmt.Errorf("%w: the sale takes no deposit seat back", ErrNotCancellable)
		}
		e.penalise = d.Cancellation == sale.CancelPenalty && !d.PenaltyDue.IsZero()
	}
	return endDeposits(ctx, tx, []ending{e}, now)
}

// WaiveDeposit gives a FROZEN deposit back in full, whatever its deadline, and cancels its order, because an operator says so. One that
// was waived before is returned as it stands. It returns order.ErrNotFound; ErrDepositNotFrozen; and the errors of the database, after
// which the call may be repeated.
func (c *Checkout) WaiveDeposit(ctx context.Context, id sale.OrderID, entry audit.Entry) (*order.Order, *deposit.Record, error) {
	var s seat
	var waived bool
	err := c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		waived = false
		if s, err = c.lockSeat(ctx, tx, id); err != nil {
			return err
		}
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		switch {
		case s.deposit.Status == deposit.Refunded && s.order.Reason == order.ByOperator:
			return nil
		case s.deposit.Status != deposit.Frozen:
			return fmt.Errorf("%w: it is %s", ErrDepositNotFrozen, s.deposit.Status)
		}
		waived = true
		if err := c.cancelFrozen(ctx, tx, s.sale, s.order, s.deposit, order.ByOperator, now); err != nil {
			return err
		}
		entry.At = now
		return audit.Add(ctx, tx, entry)
	})
	if err != nil {
		return nil, nil, err
	}
	if waived {
		c.afterEnd(ctx, []ending{{order: s.order, deposit: s.deposit}})
	}
	return s.order, s.deposit, nil
}

// ExtendDeposit gives a FROZEN deposit a later deadline, because an operator says so who has read this revision of it; whole seconds. It
// returns order.ErrNotFound; ErrDepositNotFrozen, also when the sale was called off; ErrDepositStale; ErrDeadlineNotLater; and the errors
// of the database, after which the call may be repeated.
func (c *Checkout) ExtendDeposit(ctx context.Context, id sale.OrderID, deadline time.Time, revision int64, entry audit.Entry) (*deposit.Record, error) {
	var s seat
	err := c.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		if s, err = c.lockSeat(ctx, tx, id); err != nil {
			return err
		}
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		if s.deposit.Revision != revision {
			return ErrDepositStale
		}
		if err := extendFrozen(ctx, tx, s.sale, s.deposit, deadline, now); err != nil {
			return err
		}
		entry.At = now
		return audit.Add(ctx, tx, entry)
	})
	if err != nil {
		return nil, err
	}
	c.ring(ctx)
	return s.deposit, nil
}

// extendFrozen gives a deposit a later deadline, whose sale, order and row are locked, and tells its buyer. It returns
// ErrDepositNotFrozen, also when the sale was called off; ErrDeadlineNotLater; and the errors of the driver.
func extendFrozen(ctx context.Context, tx *sql.Tx, a *sale.Activity, d *deposit.Record, deadline, now time.Time) error {
	deadline = deadline.UTC().Truncate(time.Second)
	switch {
	case d.Status != deposit.Frozen:
		return fmt.Errorf("%w: it is %s", ErrDepositNotFrozen, d.Status)
	case a.CancelledAt != nil:
		return fmt.Errorf("%w: the sale was called off, and the deposit is being given back", ErrDepositNotFrozen)
	case !deadline.After(d.ConfirmDeadline) || !deadline.After(now):
		return ErrDeadlineNotLater
	}
	if err := deposit.Extend(ctx, tx, d, deadline, now); err != nil {
		return err
	}
	return notice.Add(ctx, tx, []notice.Notice{aboutDeposit(notice.DeadlineExtended, d, depositData{})}, now)
}

// ErrTooLateToFreeze is the refusal of accepting an offer of a deposit seat that nobody could confirm any more.
var ErrTooLateToFreeze = errors.New("checkout: the deadline for confirming is too near, or the sale was called off")

// freezeOffer accepts a locked UNPAID order that was offered to its buyer, by freezing the deposit for it; the sale is locked shared. The
// policy of a published sale never changes, so the one that holds is the one that the buyer agreed to when joining the waitlist. It
// returns ErrTooLateToFreeze; ErrExpired when the offer's own deadline is reached; ErrInsufficientBalance by the wallet itself; and the
// errors of the driver. After the commit the caller calls afterFreeze.
func (c *Checkout) freezeOffer(ctx context.Context, tx *sql.Tx, a *sale.Activity, o *order.Order, now time.Time) error {
	p := a.Deposit
	switch {
	case p == nil || a.CancelledAt != nil || !p.FreezesAt(now):
		return ErrTooLateToFreeze
	case o.ExpiredAt(now):
		return ErrExpired
	}
	d := newDeposit(p, o, now)
	if err := order.StopClock(ctx, tx, o, now); err != nil {
		return err
	}
	if err := deposit.Insert(ctx, tx, []deposit.Record{d}); err != nil {
		return err
	}
	if err := waitlist.Accept(ctx, tx, []sale.OrderID{o.ID}, now); err != nil {
		return err
	}
	if d.Mode == sale.Test {
		return nil
	}
	err := wallet.Apply(ctx, tx, []wallet.Movement{freezeMove(&d)}, now)
	if errors.Is(err, wallet.ErrShort) {
		return fmt.Errorf("%w: the deposit is %s", ErrInsufficientBalance, d.Deposit)
	}
	return err
}

// afterFreeze follows a commit that accepted an offer by freezeOffer: the workflow starts, and what freezing entails.
func (c *Checkout) afterFreeze(ctx context.Context, id sale.OrderID) {
	d, err := deposit.Get(ctx, c.db, id)
	if err != nil {
		c.log.Warn("a deposit without a workflow of its own is left to the minute pass", "orderId", id, "error", err)
		return
	}
	c.startDeposits(ctx, []deposit.Record{*d})
	c.afterDeposits(ctx, []deposit.Record{*d})
}

// newDeposit is the FROZEN deposit of an order under a policy.
func newDeposit(p *sale.DepositPolicy, o *order.Order, now time.Time) deposit.Record {
	return deposit.New(deposit.Buyer{OrderID: o.ID, ActivityID: o.ActivityID, UserID: o.UserID, Mode: o.Mode}, p,
		p.Terms(o.Amount, o.Quantity), now)
}

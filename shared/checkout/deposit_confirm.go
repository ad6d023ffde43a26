package checkout

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/deposit"
	"holdfast/shared/notice"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/wallet"
)

// ConfirmDeposit has a FROZEN deposit pay for its order, at its buyer's wish: as much of it as the order costs is consumed, what is
// missing comes from the wallet, what is over goes back; the units are sold and the order is PAID. The wish's answer is kept in the same
// transaction. A deposit that was confirmed before is answered again as it stands. It returns the order as it is afterwards, and
//
//	order.ErrNotFound         the order does not exist, or is somebody else's
//	ErrDepositNotFrozen       it has no deposit, that is settled, or the sale was called off
//	ErrDepositDeadlinePassed  the deadline is reached, whether it was settled for it already or not
//	ErrInsufficientBalance    the wallet has less than the supplement, by the wallet itself; the deposit stays FROZEN
//	idempotency.ErrReused     as a fault
//	and the errors of the database, after which the call may be repeated.
func (c *Checkout) ConfirmDeposit(ctx context.Context, id sale.OrderID, userID string, wish *Wish) (*order.Order, error) {
	var s seat
	var confirmed bool
	err := c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		confirmed = false
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		answered, err := wish.begin(ctx, tx, now)
		if err != nil {
			return err
		}
		if s, err = c.lockSeat(ctx, tx, id); s.order != nil && s.order.UserID != userID {
			return order.ErrNotFound
		}
		if err != nil || answered {
			return err
		}
		if now, err = c.db.Now(ctx, tx); err != nil { // the locks may have taken their time, and the deadline with it
			return err
		}
		if confirmed, err = confirmLocked(ctx, tx, s, now); err != nil {
			return err
		}
		return wish.finish(ctx, tx, s.order, now)
	})
	if err != nil {
		return nil, err
	}
	if confirmed {
		c.afterDeposits(ctx, []deposit.Record{*s.deposit})
		c.showChanged(ctx, *s.order)
	}
	return s.order, nil
}

// confirmLocked confirms a locked deposit; false when it was confirmed before.
func confirmLocked(ctx context.Context, tx *sql.Tx, s seat, now time.Time) (bool, error) {
	o, d := s.order, s.deposit
	switch {
	case d.Status == deposit.Deducted:
		return false, nil
	case o.Reason == order.DepositForfeited:
		return false, ErrDepositDeadlinePassed
	case d.Status != deposit.Frozen:
		return false, fmt.Errorf("%w: it is %s", ErrDepositNotFrozen, d.Status)
	case s.sale.CancelledAt != nil:
		return false, fmt.Errorf("%w: the sale was called off, and the deposit is being given back", ErrDepositNotFrozen)
	case d.DueAt(now):
		return false, ErrDepositDeadlinePassed
	}
	consumed, supplement, surplus := d.Terms(o.Amount).Confirmed()
	if err := order.Pay(ctx, tx, o, order.PaidByDeposit, now); err != nil {
		return false, err
	}
	if err := deposit.Confirm(ctx, tx, d, consumed, supplement, surplus, now); err != nil {
		return false, err
	}
	err := wallet.Apply(ctx, tx, settledMoves(d), now)
	if errors.Is(err, wallet.ErrShort) {
		return false, fmt.Errorf("%w: %s more is to be paid", ErrInsufficientBalance, supplement)
	}
	if err != nil {
		return false, err
	}
	if err := order.LogDeducted(ctx, tx, o.ID, now); err != nil {
		return false, err
	}
	if err := notice.Add(ctx, tx, []notice.Notice{confirmNotice(d)}, now); err != nil {
		return false, err
	}
	buckets := make(stock.BucketChanges)
	buckets.Add(o.ActivityID, o.TicketType, o.Allocations, -1, 1)
	return true, stock.ChangeBuckets(ctx, tx, buckets, now)
}

// asOrderNotFound says of an id whose number no activity has that there is no such order.
func asOrderNotFound(err error) error {
	if errors.Is(err, catalog.ErrNotFound) {
		return order.ErrNotFound
	}
	return err
}

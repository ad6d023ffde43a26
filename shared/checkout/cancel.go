package checkout

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"holdfast/shared/audit"
	"holdfast/shared/catalog"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// Canceller is who cancels: exactly one of UserID and Operator is set.
type Canceller struct {
	UserID      string       // the buyer; an order of anybody else is not found
	Operator    *audit.Entry // an operator, with the row to write when the order changes; At is filled in
	KeepPayment bool         // of an operator: an order that was paid for goes, and nothing of its payment comes back
}

func (by Canceller) reason() order.Reason {
	if by.Operator != nil {
		return order.ByOperator
	}
	return order.ByUser
}

func (by Canceller) mayTouch(userID string) bool { return by.Operator != nil || by.UserID == userID }

// Cancel makes an order CANCELLED and gives its units back, first in MySQL, then in Redis. An order that is CANCELLED already is
// returned as it is. A reservation that has no row yet becomes a CANCELLED row, which stops its message. It returns
//
//	order.ErrNotFound      neither store knows the id, or the order is somebody else's
//	ErrNotCancellable      the order is paid for: money would have to go back, or the sale's refund rule allows no cancellation
//	stock.ErrNotLoaded, stock.ErrUnavailable, stock.ErrNoAnswer    there is no row, and Redis cannot tell about a reservation now
//	sqltx.ErrUnavailable, sqltx.ErrCommitUnclear                   as the database says; the call may be repeated
//
// That Redis has not given the units back yet is no error: repair does it.
func (c *Checkout) Cancel(ctx context.Context, id sale.OrderID, by Canceller) (*order.Order, error) {
	o, err := c.cancelRow(ctx, id, by)
	if errors.Is(err, order.ErrNotFound) {
		if o, err = c.cancelReservation(ctx, id, by); err == nil && o.Status != order.Cancelled {
			o, err = c.cancelRow(ctx, id, by) // its message was faster: now there is a row
		}
	}
	if err != nil {
		return nil, err
	}
	if err := c.ReleaseCommitted(ctx, *o); err != nil {
		c.log.Warn("the units of a cancelled order are left to repair", "orderId", o.ID, "error", err)
	}
	return o, nil
}

// cancelRow cancels the order if there is a row. It returns order.ErrNotFound without one.
func (c *Checkout) cancelRow(ctx context.Context, id sale.OrderID, by Canceller) (o *order.Order, err error) {
	err = c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if o, err = order.GetForUpdate(ctx, tx, id); err != nil {
			return err
		}
		if !by.mayTouch(o.UserID) {
			return order.ErrNotFound
		}
		if o.Status == order.Cancelled {
			return nil
		}
		if err := mayCancel(ctx, tx, o, by); err != nil {
			return err
		}
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		one := []order.Order{*o}
		if err := cancelLocked(ctx, tx, one, by.reason(), now); err != nil {
			return err
		}
		*o = one[0]
		return by.record(ctx, tx, o)
	})
	return o, err
}

// mayCancel says whether this order may be cancelled by this caller. What was paid for would have to be refunded, so of PAID
// orders only those of amount 0 can go, or those whose payment an operator wants to keep; for a user the sale must have a refund
// rule.
func mayCancel(ctx context.Context, tx *sql.Tx, o *order.Order, by Canceller) error {
	if o.Status == order.Unpaid {
		return nil
	}
	keeps := by.Operator != nil && by.KeepPayment
	if !o.Paid.IsZero() && !keeps {
		return fmt.Errorf("%w: it is paid, and a payment cannot be refunded here", ErrNotCancellable)
	}
	if by.Operator != nil {
		return nil
	}
	a, err := catalog.Get(ctx, tx, o.ActivityID)
	if err != nil {
		return err
	}
	if len(a.RefundRule) == 0 {
		return fmt.Errorf("%w: the sale takes no order back once it is complete", ErrNotCancellable)
	}
	return nil
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
	if errors.Is(err, catalog.ErrNotFound) {
		return nil, order.ErrNotFound
	}
	if err != nil {
		return nil, err
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
	o, err := c.tombstone(ctx, entry.Reservation, by.reason(), by.record)
	if err != nil {
		return nil, err
	}
	return &o, nil
}

package checkout

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"holdfast/shared/catalog"
	"holdfast/shared/fault"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/waitlist"
)

// Refusals of the waitlist's use cases. None of them changed anything.
var (
	ErrNotSoldOut     = errors.New("checkout: nobody waits and the units are there")
	ErrOtherEntry     = errors.New("checkout: the user waits for something else in this activity")
	ErrWaitlistClosed = errors.New("checkout: nothing can be offered in this activity any more")
)

// WaitlistWish is what a user wants to wait for.
type WaitlistWish struct {
	ActivityID string
	UserID     string
	TicketType string
	Quantity   int
	PolicyHash sale.PolicyHash // of kind DEPOSIT: the terms that the user agrees to
}

// JoinWaitlist puts a user at the end of a waitlist: first the row, then the set in Redis, then whatever is free is offered. A user who
// waits for the same already, or has an offer of it, keeps the place: then joined is false. What Redis cannot be told now the minute pass
// tells it: the row is what counts. It returns
//
//	catalog.ErrNotFound    there is no such activity, or it is a draft
//	*fault.Error           ValidationFailed: an unknown type, more than a user may hold, or other terms than the activity's
//	ErrWaitlistClosed      no offer could be accepted in time any more
//	ErrOtherEntry          the user's active entry is for another type, quantity or policy
//	ErrNotSoldOut          the units are there, and nobody waits: the user can buy
//	sqltx.ErrUnavailable, sqltx.ErrCommitUnclear    the call may be repeated
func (c *Checkout) JoinWaitlist(ctx context.Context, w WaitlistWish) (e *waitlist.Entry, joined bool, err error) {
	err = c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		e, joined, err = c.writeEntry(ctx, tx, w)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	switch {
	case joined:
		if err := c.passGate(ctx, e); err != nil {
			return nil, false, err
		}
	case e.Status == waitlist.Waiting: // whoever inserted the row may have died before the set had it
		if _, err := c.stock.AddWaiters(ctx, e.ActivityID, e.TicketType, []waitlist.EntryID{e.ID}); err != nil {
			c.log.Warn("a waitlist's set is left to the minute pass", "activityId", e.ActivityID, "entry", e.ID, "error", err)
		}
		if err := c.lookAgain(ctx, e); err != nil {
			return nil, false, err
		}
	default:
		return e, false, nil
	}
	offers, cancel := context.WithTimeout(ctx, offerBudget)
	defer cancel()
	c.offerFree(offers, e.ActivityID, []string{e.TicketType})
	e, err = waitlist.Get(ctx, c.db, e.ID)
	return e, joined, err
}

// writeEntry inserts the row, or reads the one that is there.
func (c *Checkout) writeEntry(ctx context.Context, tx *sql.Tx, w WaitlistWish) (e *waitlist.Entry, joined bool, err error) {
	a, err := c.lockActivity(ctx, tx, w.ActivityID)
	if err != nil {
		return nil, false, err
	}
	if a.Status == sale.Draft {
		return nil, false, catalog.ErrNotFound
	}
	if broken := w.violations(a); len(broken) > 0 {
		return nil, false, &fault.Error{Code: fault.ValidationFailed, Detail: "The request breaks rules of the sale.", Violations: broken}
	}
	now, err := c.db.Now(ctx, tx)
	if err != nil {
		return nil, false, err
	}
	e, err = waitlist.LockActive(ctx, tx, w.ActivityID, w.UserID)
	if err == nil {
		if e.TicketType != w.TicketType || e.Quantity != w.Quantity || e.PolicyHash != w.PolicyHash {
			return nil, false, ErrOtherEntry
		}
		return e, false, nil
	}
	if !errors.Is(err, waitlist.ErrNotFound) {
		return nil, false, err
	}
	if over := waitlist.Over(a, now); over != "" {
		return nil, false, fmt.Errorf("%w: %s", ErrWaitlistClosed, over)
	}
	e = &waitlist.Entry{ID: c.newEntry(), ActivityID: a.ID, TicketType: w.TicketType, UserID: w.UserID, Quantity: w.Quantity,
		Status: waitlist.Waiting, PolicyHash: w.PolicyHash, JoinedAt: now, UpdatedAt: now}
	inserted, err := waitlist.Insert(ctx, tx, e)
	if err != nil {
		return nil, false, err
	}
	if inserted {
		return e, true, nil
	}
	// The user joined from another device at this very moment.
	other, err := waitlist.LockActive(ctx, tx, w.ActivityID, w.UserID)
	if err == nil && (other.TicketType != w.TicketType || other.Quantity != w.Quantity || other.PolicyHash != w.PolicyHash) {
		err = ErrOtherEntry
	}
	return other, false, err
}

// violations lists what of the wish breaks rules of the activity.
func (w *WaitlistWish) violations(a *sale.Activity) (broken []fault.Violation) {
	add := func(pointer, code, message string) {
		broken = append(broken, fault.Violation{Pointer: pointer, Code: code, Message: message})
	}
	if _, found := a.Type(w.TicketType); !found {
		add("/ticketType", "NOT_ALLOWED", "a ticket type of this activity")
	}
	switch {
	case w.Quantity < 1:
		add("/quantity", "OUT_OF_RANGE", "at least 1")
	case w.Quantity > a.PerUserLimit:
		add("/quantity", "OUT_OF_RANGE", fmt.Sprintf("at most %d, which is what one user may hold", a.PerUserLimit))
	}
	switch {
	case a.Deposit == nil && !w.PolicyHash.IsZero():
		add("/policyHash", "NOT_ALLOWED", "the sale takes no deposits")
	case a.Deposit != nil && w.PolicyHash.IsZero():
		add("/policyHash", "REQUIRED", "the hash of the deposit's terms, which is the consent to them")
	case a.Deposit != nil && w.PolicyHash != a.Deposit.Hash():
		add("/policyHash", "NOT_ALLOWED", "the hash of the sale's present terms")
	}
	return broken
}

// passGate puts a committed entry into the set, unless its user can buy: then the entry is closed, and ErrNotSoldOut returned. An entry
// that was served meanwhile stays what it is.
func (c *Checkout) passGate(ctx context.Context, e *waitlist.Entry) error {
	free, err := c.stock.GateWaitlist(ctx, e.ActivityID, e.TicketType, e.ID, e.Quantity)
	if err != nil {
		c.log.Warn("a waitlist's set is left to the minute pass", "activityId", e.ActivityID, "entry", e.ID, "error", err)
	}
	if free {
		now, err := c.db.Now(ctx, c.db)
		if err != nil {
			return err
		}
		if _, err := c.closeEntries(ctx, []waitlist.EntryID{e.ID}, waitlist.NotSoldOut, now); err != nil {
			return err
		}
	}
	return c.lookAgain(ctx, e)
}

// lookAgain follows whatever may have put an entry into the set, also without an answer: one that does not wait any more is taken out,
// since whoever ended it may have looked for it in the set before it was there. It returns ErrNotSoldOut when the entry was closed
// because its user can buy, by whichever of several calls at once.
func (c *Checkout) lookAgain(ctx context.Context, e *waitlist.Entry) error {
	stands, err := waitlist.Get(ctx, c.db, e.ID)
	if err != nil || stands.Status == waitlist.Waiting {
		return err
	}
	c.leaveSet(ctx, e.ActivityID, e.TicketType, e.ID)
	if stands.Reason == waitlist.NotSoldOut {
		return ErrNotSoldOut
	}
	return nil
}

// LeaveWaitlist takes a user out of a waitlist. One who has an offer declines it: its order is cancelled, unless it was accepted at this
// moment. A user who waits for nothing has left already. It returns the errors of the database; the call may be repeated.
func (c *Checkout) LeaveWaitlist(ctx context.Context, activityID, userID string) error {
	e, err := waitlist.Latest(ctx, c.db, activityID, userID)
	if errors.Is(err, waitlist.ErrNotFound) || err == nil && !e.Status.Active() {
		return nil
	}
	if err != nil {
		return err
	}
	err = c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		return waitlist.Leave(ctx, tx, e.ID, now)
	})
	if err != nil {
		return err
	}
	if e, err = waitlist.Get(ctx, c.db, e.ID); err != nil {
		return err
	}
	if e.Status == waitlist.Offered {
		return c.decline(ctx, e)
	}
	c.leaveSet(ctx, e.ActivityID, e.TicketType, e.ID)
	return nil
}

// decline cancels the order of an offer that was not accepted. Nobody ends an offer without the lock of its order, so that the entry need
// not be locked before what else the order has.
func (c *Checkout) decline(ctx context.Context, e *waitlist.Entry) error {
	var declined []order.Order
	err := c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		declined = nil
		if _, err := c.lockActivity(ctx, tx, e.ActivityID); err != nil {
			return err
		}
		o, err := order.GetForUpdate(ctx, tx, e.OrderID)
		if err != nil {
			return err
		}
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		stands, err := waitlist.Get(ctx, tx, e.ID)
		if err != nil {
			return err
		}
		if stands.Status != waitlist.Offered || o.Status != order.Unpaid {
			return nil
		}
		declined = []order.Order{*o}
		return cancelLocked(ctx, tx, declined, order.ByUser, now)
	})
	if err != nil || len(declined) == 0 {
		return err
	}
	c.ring(ctx)
	if err := c.Settle(ctx, Outcome{Cancelled: declined}); err != nil {
		c.log.Warn("the units of a declined offer are left to repair", "orderId", e.OrderID, "error", err)
	}
	return nil
}

package checkout

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// peekPatience bounds the look into Redis before a late payment is decided.
const peekPatience = 500 * time.Millisecond

// DecideLate decides what becomes of a success whose order ran out before it came, in one transaction: a new order that stands in for the
// old one, if its units are free and the buyer may hold them, by the gates that every order passes; else it goes back, and the id that the
// new order would have had gets a tombstone. Redis is only told after the commit: a new order is adopted, as one that it had lost. Redis
// is asked before, though, so that units which it has promised to somebody are not taken; when it cannot say, MySQL alone decides.
//
// A payment that is decided already, or is no success, is left alone. It returns payment.ErrNotFound and the errors of the database,
// after which the call may be repeated.
func (c *Checkout) DecideLate(ctx context.Context, id string) error {
	p, err := payment.Get(ctx, c.db, id)
	if err != nil {
		return err
	}
	a, err := catalog.ByNumber(ctx, c.db, p.OrderID.Number())
	if err != nil {
		return err
	}
	old, err := order.Get(ctx, c.db, p.OrderID)
	if err != nil {
		return err
	}
	promised := isLate(old) && c.promisedAway(ctx, a, old)
	var done settled
	var fresh []order.Order
	err = c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		done, fresh = settled{}, nil
		a, o, locked, now, err := c.lockDecision(ctx, tx, p)
		if err != nil || locked.Status != payment.Succeeded || locked.Disposition != "" {
			return err
		}
		old = o
		if !isLate(o) {
			done, err = decide(ctx, tx, a, o, locked, now)
			return err
		}
		fresh, done, err = c.standIn(ctx, tx, a, o, locked, promised, now)
		return err
	})
	if err != nil {
		return err
	}
	c.afterDecision(ctx, done)
	if len(fresh) > 0 {
		c.tellStandIn(ctx, old, fresh[0])
	}
	return nil
}

// promisedAway says whether Redis has fewer units left than an order needs. It is a hint that keeps a late payment from taking what
// somebody holds who is not in MySQL yet.
func (c *Checkout) promisedAway(ctx context.Context, a *sale.Activity, o *order.Order) bool {
	ctx, cancel := context.WithTimeout(ctx, peekPatience)
	defer cancel()
	facts := a.Facts()
	shot, err := c.stock.Snapshot(ctx, &facts)
	return err == nil && shot.State == stock.Open && shot.Types[o.TicketType].Left < o.Quantity
}

// standIn makes the order that stands in for one that ran out, PAID by the late payment; or its tombstone, and the payment goes back.
func (c *Checkout) standIn(ctx context.Context, tx *sql.Tx, a *sale.Activity, old *order.Order, p *payment.Payment, promised bool,
	now time.Time) ([]order.Order, settled, error) {
	fresh := []order.Order{lateOrder(a, old, p, now)}
	switch {
	case a.Status == sale.Closed || a.Status == sale.Cancelled || a.CancelledAt != nil:
		fresh[0].Cancel(order.SaleClosed, now)
	case promised:
		fresh[0].Cancel(order.InsufficientStock, now)
	default:
		fresh[0].Await(now.Add(time.Second)) // it is paid in this transaction
	}
	mine, _, err := order.Claim(ctx, tx, fresh, newBatchID())
	if err != nil {
		return nil, settled{}, err
	}
	if !mine[fresh[0].ID] { // an id that nobody else makes: a person must look, and the money waits
		return nil, settled{}, errIDTaken
	}
	if err := admitLate(ctx, tx, a, fresh, now); err != nil {
		return nil, settled{}, err
	}
	o := &fresh[0]
	if !o.Status.Live() {
		done, err := returnSurplus(ctx, tx, p, &o.ID, now)
		return fresh, done, err
	}
	if err := order.StandIn(ctx, tx, old, o, now); err != nil {
		return nil, settled{}, err
	}
	if err := payment.Decide(ctx, tx, p, payment.ToNewOrder, &o.ID, now); err != nil {
		return nil, settled{}, err
	}
	return fresh, settled{order: o}, fulfil(ctx, tx, o, p.ID, now, applied(p, o))
}

// errIDTaken is returned when the id of a late order has a row that this payment did not make.
var errIDTaken = errors.New("checkout: the id of a late order is taken")

// lateOrder is the order that a late payment makes: the old one again, under an id of its own. It asks for the units that the old one
// had.
func lateOrder(a *sale.Activity, old *order.Order, p *payment.Payment, now time.Time) order.Order {
	t, _ := a.Type(old.TicketType)
	return order.New(a, t, sale.Reservation{OrderID: a.LateOrderID(old.ID, p.ID), ActivityID: a.ID, UserID: old.UserID,
		TicketType: old.TicketType, Quantity: old.Quantity, Allocations: old.Allocations, Seq: now.UnixMicro(), At: now, Before: -1,
	}, order.FromLate, "", now)
}

// tellStandIn tells Redis of a late order: it adopts a live one, and marks the id of a tombstone as dead. What cannot be told is left to
// repair.
func (c *Checkout) tellStandIn(ctx context.Context, old *order.Order, fresh order.Order) {
	if !fresh.Status.Live() {
		if err := c.ReleaseCommitted(ctx, fresh); err != nil {
			c.log.Warn("the tombstone of a late order is left to repair", "orderId", fresh.ID, "error", err)
		}
		return
	}
	_, err := c.persist(ctx, repairBudget, func(ctx context.Context) error {
		_, err := c.stock.Acknowledge(ctx, fresh.ActivityID, []sale.Reservation{fresh.Reservation()})
		return err
	})
	if err != nil {
		c.log.Warn("a late order is left to repair", "orderId", fresh.ID, "error", err)
	}
	c.showChanged(ctx, *old, fresh)
}

// admitLate lets a late order through the gates that every order passes, with care: what cannot be becomes a tombstone.
func admitLate(ctx context.Context, tx *sql.Tx, a *sale.Activity, fresh []order.Order, now time.Time) error {
	limits := map[string]int{a.ID: a.PerUserLimit}
	if fresh[0].Status.Live() {
		if err := judgeFresh(ctx, tx, fresh, nil, limits, now); err != nil {
			return err
		}
	}
	return writeFresh(ctx, tx, fresh, limits, now)
}

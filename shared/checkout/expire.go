package checkout

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/shared/alert"
	"holdfast/shared/catalog"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// Expire cancels the unpaid orders whose deadline is reached, longest overdue first, and gives their units back: page by page, what a page
// has of one sale in one transaction. Orders that somebody else has locked are passed over, and paid or cancelled meanwhile they are left
// alone. A payment by the provider that is still pending holds no order beyond its deadline: it is given up in the same transaction, and
// when its success comes after all, it makes a new order or goes back. What Redis could not give back is left to repair.
//
// Orders whose rows contradict each other cannot be cancelled, and keep nobody waiting: what fails together is put off until everybody has
// had a turn, and then done in halves, so that the one to blame fails alone. A person is alerted of each, and the next call tries it again.
// It returns how many were cancelled and how many could not be, why, and the errors of the database, which end it.
func (c *Checkout) Expire(ctx context.Context, pageSize int) (cancelled, failed int, err error) {
	now, err := c.db.Now(ctx, c.db)
	if err != nil {
		return 0, 0, err
	}
	x := expiry{c: c}
	err = x.walk(ctx, now, pageSize)
	if err == nil {
		err = x.again(ctx, now)
	}
	return x.cancelled, x.failed, errors.Join(x.why(), err)
}

// expiry is one walk over all unpaid orders that are overdue.
type expiry struct {
	c         *Checkout
	cancelled int
	aside     [][]sale.OrderID // of one sale each, that failed together
	failed    int              // alone
	causes    []error          // of the first of these
}

// toldInFull is how many orders of one call that cannot be cancelled are told of in full.
const toldInFull = 10

func (x *expiry) why() error {
	if x.failed > len(x.causes) {
		x.causes = append(x.causes, fmt.Errorf("%d overdue orders could not be cancelled", x.failed))
	}
	return errors.Join(x.causes...)
}

// walk cancels page by page, and puts aside what cannot be cancelled together.
func (x *expiry) walk(ctx context.Context, now time.Time, pageSize int) error {
	for after := (order.Cursor{}); ; {
		ids, next, err := order.Overdue(ctx, x.c.db, now, after, pageSize)
		if err != nil {
			return err
		}
		for _, page := range bySale(ids) {
			n, err := x.c.expirePage(ctx, page)
			x.cancelled += n
			switch {
			case err == nil:
			case !liesInRows(ctx, err):
				return err
			default:
				x.aside = append(x.aside, page)
			}
		}
		if len(ids) < pageSize {
			return nil
		}
		after = next
	}
}

// bySale parts ids by the sale that each belongs to.
func bySale(ids []sale.OrderID) [][]sale.OrderID {
	slices.SortFunc(ids, order.CompareIDs) // an id begins with the sale's number
	var out [][]sale.OrderID
	for i, id := range ids {
		if i == 0 || id.Number() != ids[i-1].Number() {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], id)
	}
	return out
}

// again does in halves what was put aside. When that takes more time than there is, the next call begins with others: every minute it is
// the turn of the next ones.
func (x *expiry) again(ctx context.Context, now time.Time) error {
	if len(x.aside) == 0 {
		return nil
	}
	first := int(now.Unix()/60) % len(x.aside)
	for _, page := range slices.Concat(x.aside[first:], x.aside[:first]) {
		n, err := x.c.inHalves(ctx, page, func(ids []sale.OrderID) (int, error) {
			n, err := x.c.expirePage(ctx, ids)
			if err != nil && len(ids) == 1 && liesInRows(ctx, err) {
				x.blame(ctx, ids[0], err)
				return 0, nil
			}
			return n, err
		})
		x.cancelled += n
		if err != nil {
			return err
		}
	}
	return nil
}

// blame counts an order that cannot be cancelled, and has a person look at it; not when somebody only holds its rows.
func (x *expiry) blame(ctx context.Context, id sale.OrderID, cause error) {
	if x.failed++; x.failed <= toldInFull {
		x.causes = append(x.causes, fmt.Errorf("order %s: %w", id, cause))
	}
	if sqltx.Retryable(cause) {
		return
	}
	x.c.log.Error("an unpaid order that is overdue cannot be cancelled", "orderId", id, "error", cause)
	x.c.alertStuck(ctx, id.String(), id, "EXPIRE_ORDER")
}

// alertStuck has a person look at something of an order that repair tries again and again in vain.
func (c *Checkout) alertStuck(ctx context.Context, subject string, id sale.OrderID, missing string) {
	a, err := catalog.ByNumber(ctx, c.db, id.Number())
	if err == nil {
		var now time.Time
		if now, err = c.db.Now(ctx, c.db); err == nil {
			err = alert.Raise(ctx, c.db, alert.Alert{Kind: alert.CompensationStuck, Subject: subject, ActivityID: a.ID,
				Evidence: map[string]any{"missing": missing}}, now)
		}
	}
	if err != nil {
		c.log.Warn("an alert is not written down", "alert", alert.CompensationStuck, "subject", subject, "error", err)
	}
}

// expirePage cancels those of these orders that are still overdue, in one transaction, and gives their units back.
func (c *Checkout) expirePage(ctx context.Context, ids []sale.OrderID) (int, error) {
	var expired []order.Order
	err := c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		if expired, err = order.LockOverdue(ctx, tx, ids, now); err != nil || len(expired) == 0 {
			return err
		}
		return cancelLocked(ctx, tx, expired, order.PayTimeout, now)
	})
	if err != nil {
		return 0, err
	}
	if err := c.Settle(ctx, Outcome{Cancelled: expired}); err != nil {
		c.log.Warn("the units of expired orders are left to repair", "orders", len(expired), "error", err)
	}
	if len(expired) > 0 {
		c.ring(ctx)
	}
	return len(expired), nil
}

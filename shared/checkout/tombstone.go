package checkout

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"holdfast/shared/order"
	"holdfast/shared/sale"
)

// Tombstone puts a CANCELLED row in the place of a reservation that shall not become an order, unless its id has a row: then that
// one is returned as it stands, whatever it says. The caller releases the order when it is CANCELLED. It returns an error for a
// reservation that does not fit its activity.
func (c *Checkout) Tombstone(ctx context.Context, r sale.Reservation, reason order.Reason) (order.Order, error) {
	return c.tombstone(ctx, r, reason, nil, func(context.Context, *sql.Tx, *order.Order) error { return nil })
}

// tombstone runs also in the transaction when the row is its own. A wish is kept once there is a CANCELLED row, whoever made it; while
// there is a live one the call has not ended yet.
func (c *Checkout) tombstone(ctx context.Context, r sale.Reservation, reason order.Reason, wish *Wish,
	also func(ctx context.Context, tx *sql.Tx, o *order.Order) error) (o order.Order, err error) {
	err = c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		answered, err := wish.begin(ctx, tx, now)
		if err != nil {
			return err
		}
		if o, err = c.writeTombstone(ctx, tx, r, reason, also); err != nil || answered || o.Status.Live() {
			return err
		}
		return wish.finish(ctx, tx, &o, now)
	})
	return o, err
}

func (c *Checkout) writeTombstone(ctx context.Context, tx *sql.Tx, r sale.Reservation, reason order.Reason,
	also func(ctx context.Context, tx *sql.Tx, o *order.Order) error) (order.Order, error) {
	activities, err := c.catalog.LockShared(ctx, tx, []string{r.ActivityID})
	if err != nil {
		return order.Order{}, err
	}
	now, err := c.db.Now(ctx, tx)
	if err != nil {
		return order.Order{}, err
	}
	if why := unfit(Message{Reservation: r}, activities[r.ActivityID]); why != "" {
		return order.Order{}, fmt.Errorf("checkout: no tombstone for %s: %s", r.OrderID, why)
	}
	dead := []order.Order{deadOrder(activities[r.ActivityID], r, reason, now)}
	mine, known, err := order.Claim(ctx, tx, dead, newBatchID())
	if err != nil {
		return order.Order{}, err
	}
	if !mine[r.OrderID] {
		return known[r.OrderID], nil
	}
	if err := writeFresh(ctx, tx, dead, nil, now); err != nil {
		return order.Order{}, err
	}
	return dead[0], also(ctx, tx, &dead[0])
}

func deadOrder(a *sale.Activity, r sale.Reservation, reason order.Reason, now time.Time) order.Order {
	t, _ := a.Type(r.TicketType)
	o := order.New(a, t, r, order.FromCancel, "", now)
	o.Cancel(reason, now)
	return o
}

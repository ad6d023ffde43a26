package bench

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// perOrder makes orders in the straightforward way: one transaction per order. It writes the rows that checkout.CreateOrders
// writes, by plain statements of one row each, and asks for nothing that a new order does not need: no lock on the activity, no
// look at what is known, no clock of the database.
type perOrder struct {
	db       *sqltx.DB
	activity *sale.Activity
}

// Refusals of the baseline.
var (
	errSoldOut = errors.New("no bucket has enough units")
	errNotOpen = errors.New("the sale is not open")
)

// create writes one order. The reservation's allocation is one bucket; where that is short, the others are tried in turn.
func (p *perOrder) create(ctx context.Context, r sale.Reservation, messageID string) error {
	return p.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error { return p.write(ctx, tx, r, messageID) })
}

// sell is create for a buyer who waits: it first looks whether the sale is on, under a lock that keeps it so.
func (p *perOrder) sell(ctx context.Context, r sale.Reservation, messageID string) error {
	return p.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var status sale.Status
		var opens, closes time.Time
		err := tx.QueryRowContext(ctx, `SELECT status, opens_at, closes_at FROM activity WHERE activity_id = ? LOCK IN SHARE MODE`,
			r.ActivityID).Scan(&status, &opens, &closes)
		if err != nil {
			return err
		}
		if status != sale.Published || r.At.Before(opens) || !r.At.Before(closes) {
			return errNotOpen
		}
		return p.write(ctx, tx, r, messageID)
	})
}

func (p *perOrder) write(ctx context.Context, tx *sql.Tx, r sale.Reservation, messageID string) error {
	t, found := p.activity.Type(r.TicketType)
	if !found {
		return fmt.Errorf("there is no ticket type %q", r.TicketType)
	}
	now := time.Now().UTC()
	o := order.New(p.activity, t, r, order.FromSale, messageID, now)
	o.Await(now.Add(p.activity.PayWindow))
	bucket, err := p.takeBucket(ctx, tx, &o, t.Buckets, now)
	if err != nil {
		return err
	}
	o.Allocations = sale.Allocations{{Bucket: bucket, Count: o.Quantity}}
	return p.insert(ctx, tx, &o, now)
}

// insert writes the order's rows.
func (p *perOrder) insert(ctx context.Context, tx *sql.Tx, o *order.Order, now time.Time) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO trade_order (id, reference, activity_id, ticket_type, user_id, quantity, allocations,
 unit_price, amount, currency, mode, source, status, pay_deadline, seq, reserved_at, created_at, updated_at, message_id)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		o.ID[:], o.Reference, o.ActivityID, o.TicketType, o.UserID, o.Quantity, o.Allocations.Compact(), o.UnitPrice.Value.StringFixed(2),
		o.Amount.Value.StringFixed(2), o.Amount.Currency, string(o.Mode), string(o.Source), string(o.Status), *o.PayDeadline, o.Seq,
		o.ReservedAt, now, now, o.MessageID)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO purchase_limit (activity_id, user_id, quantity, max_quantity, updated_at)
 VALUES (?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE quantity = quantity + VALUES(quantity), updated_at = VALUES(updated_at)`,
		o.ActivityID, o.UserID, o.Quantity, p.activity.PerUserLimit, now)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO order_router (order_id, user_id, activity_id, created_at) VALUES (?, ?, ?, ?)`,
		o.ID[:], o.UserID, o.ActivityID, now)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO stock_log (order_id, direction, action, activity_id, ticket_type, user_id, allocations,
 before_quantity, change_quantity, after_quantity, seq, business_type, message_id, created_at, updated_at)
 VALUES (?, -1, 'FREEZE', ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?)`,
		o.ID[:], o.ActivityID, o.TicketType, o.UserID, o.Allocations.Compact(), o.Before, -o.Quantity, o.Before-o.Quantity, o.Seq,
		o.MessageID, now, now)
	if err != nil {
		return err
	}
	return p.tell(ctx, tx, o, now)
}

// tell writes the notice that the order was created.
func (p *perOrder) tell(ctx context.Context, tx *sql.Tx, o *order.Order, now time.Time) error {
	data, err := json.Marshal(map[string]any{"revision": o.Revision, "status": o.Status, "ticketType": o.TicketType, "quantity": o.Quantity,
		"amount": o.Amount, "payDeadline": o.PayDeadline})
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO notice (subject, kind, user_id, activity_id, order_id, mode, data, status, due_at, created_at, updated_at)
 VALUES (?, 'ORDER_CREATED', ?, ?, ?, ?, ?, 'WAITING', ?, ?, ?)`, o.ID.String(), o.UserID, o.ActivityID, o.ID[:], string(o.Mode), data, now, now, now)
	return err
}

// takeBucket freezes the units in one conditional statement, which is the gate against selling twice.
func (p *perOrder) takeBucket(ctx context.Context, tx *sql.Tx, o *order.Order, n int, now time.Time) (int, error) {
	for step := range n {
		bucket := (o.Allocations[0].Bucket + step) % n
		result, err := tx.ExecContext(ctx, `UPDATE stock_bucket SET frozen = frozen + ?, updated_at = ?
 WHERE activity_id = ? AND ticket_type = ? AND bucket = ? AND frozen + sold + ? <= capacity + adjusted`,
			o.Quantity, now, o.ActivityID, o.TicketType, bucket, o.Quantity)
		if err != nil {
			return 0, err
		}
		changed, err := result.RowsAffected()
		if err != nil || changed == 1 {
			return bucket, err
		}
	}
	return 0, errSoldOut
}

package order

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// Refundable is what of the order's payment has not gone back yet.
func (o *Order) Refundable() money.Amount { return o.Paid.Minus(o.Refunded) }

// Refund notes that an amount of a locked order's payment goes back, whatever its state, which stays. The order is changed alike in
// memory. The database refuses more than was paid (sqltx.CheckViolated).
func Refund(ctx context.Context, tx *sql.Tx, o *Order, amount money.Amount, now time.Time) error {
	after := o.Refunded.Plus(amount)
	result, err := tx.ExecContext(ctx, `UPDATE trade_order SET refunded = ?, updated_at = ?, revision = revision + 1
 WHERE id = ? AND refunded = ?`, decimalText(after), now, o.ID[:], decimalText(o.Refunded))
	if err != nil {
		return fmt.Errorf("order: refund: %w", err)
	}
	if err := expectChanged(result, 1); err != nil {
		return err
	}
	o.Refunded, o.UpdatedAt = after, now
	o.Revision++
	return nil
}

// StandIn notes of two locked orders that a new one stands in for a CANCELLED one. Both are changed alike in memory.
func StandIn(ctx context.Context, tx *sql.Tx, old, stand *Order, now time.Time) error {
	result, err := tx.ExecContext(ctx, `UPDATE trade_order SET replaced_by = ?, updated_at = ?, revision = revision + 1
 WHERE id = ? AND status = 'CANCELLED' AND replaced_by IS NULL`, stand.ID[:], now, old.ID[:])
	if err != nil {
		return fmt.Errorf("order: stand in: %w", err)
	}
	if err := expectChanged(result, 1); err != nil {
		return err
	}
	result, err = tx.ExecContext(ctx, `UPDATE trade_order SET replaces = ?, updated_at = ? WHERE id = ? AND replaces IS NULL`,
		old.ID[:], now, stand.ID[:])
	if err != nil {
		return fmt.Errorf("order: stand in: %w", err)
	}
	if err := expectChanged(result, 1); err != nil {
		return err
	}
	oldID, newID := old.ID, stand.ID
	old.ReplacedBy, old.UpdatedAt, stand.Replaces, stand.UpdatedAt = &newID, now, &oldID, now
	old.Revision++
	return nil
}

// Postpone gives a locked UNPAID order a later deadline, which is cut to whole seconds. The order is changed alike in memory.
func Postpone(ctx context.Context, tx *sql.Tx, o *Order, deadline, now time.Time) error {
	deadline = deadline.UTC().Truncate(time.Second)
	result, err := tx.ExecContext(ctx, `UPDATE trade_order SET pay_deadline = ?, updated_at = ?, revision = revision + 1
 WHERE id = ? AND status = 'UNPAID' AND pay_deadline < ?`, deadline, now, o.ID[:], deadline)
	if err != nil {
		return fmt.Errorf("order: postpone: %w", err)
	}
	if err := expectChanged(result, 1); err != nil {
		return err
	}
	o.PayDeadline, o.UpdatedAt = &deadline, now
	o.Revision++
	return nil
}

// Standing lists ids of the orders in a state of the activity with this number, in order of id, after an id (zero: from the start), as
// last committed.
func Standing(ctx context.Context, q sqltx.Querier, number int64, status Status, after sale.OrderID, limit int) ([]sale.OrderID, error) {
	low, high := boundary(number), boundary(number+1)
	if CompareIDs(after, low) > 0 {
		low = after
	}
	return queryIDs(ctx, q, `SELECT id FROM trade_order WHERE id > ? AND id < ? AND status = ? ORDER BY id LIMIT ?`,
		low[:], high[:], string(status), limit)
}

// CountLive counts the live orders of the activity with this number, as last committed.
func CountLive(ctx context.Context, q sqltx.Querier, number int64) (int64, error) {
	return countOf(ctx, q, `SELECT COUNT(*) FROM trade_order WHERE id > ? AND id < ? AND status IN ('UNPAID', 'PAID')`, number)
}

// CountUnpaid counts the UNPAID orders of the activity with this number, as last committed.
func CountUnpaid(ctx context.Context, q sqltx.Querier, number int64) (int64, error) {
	return countOf(ctx, q, `SELECT COUNT(*) FROM trade_order WHERE id > ? AND id < ? AND status = 'UNPAID'`, number)
}

func countOf(ctx context.Context, q sqltx.Querier, statement string, number int64) (int64, error) {
	low, high := boundary(number), boundary(number+1)
	var n int64
	if err := q.QueryRowContext(ctx, statement, low[:], high[:]).Scan(&n); err != nil {
		return 0, fmt.Errorf("order: count: %w", err)
	}
	return n, nil
}

package order

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// The values of stock_log.business_type.
const (
	businessCreated = 1
	businessTimeout = 2
	businessFailed  = 3
)

const stockLogHead = `INSERT INTO stock_log (order_id, direction, action, activity_id, ticket_type, user_id, allocations,
 before_quantity, change_quantity, after_quantity, seq, business_type, message_id, created_at, updated_at) VALUES `

// LogTaken writes the -1 row of new orders: FREEZE, or DEDUCT for one that is PAID already. Before and after are the figures that
// the counter in Redis had at the taking, where the order knows them.
func LogTaken(ctx context.Context, tx *sql.Tx, orders []Order) error {
	rows := make([][]any, len(orders))
	for i := range orders {
		o := &orders[i]
		action := "FREEZE"
		if o.Status == Paid {
			action = "DEDUCT"
		}
		var before, after, seq any
		if o.Before >= 0 {
			before, after = o.Before, o.Before-o.Quantity
		}
		if o.Seq > 0 {
			seq = o.Seq
		}
		rows[i] = []any{o.ID[:], -1, action, o.ActivityID, o.TicketType, o.UserID, o.Allocations.Compact(),
			before, -o.Quantity, after, seq, businessCreated, orNull(o.MessageID), o.CreatedAt, o.CreatedAt}
	}
	return insertStockLog(ctx, tx, rows)
}

// LogGivenBack writes the +1 row of orders that this transaction cancels. Its figures stay empty until release has answered.
func LogGivenBack(ctx context.Context, tx *sql.Tx, orders []Order, now time.Time) error {
	rows := make([][]any, len(orders))
	for i := range orders {
		o := &orders[i]
		business := businessFailed
		if o.Reason == PayTimeout {
			business = businessTimeout
		}
		rows[i] = []any{o.ID[:], 1, "FREEZE_ROLLED_BACK", o.ActivityID, o.TicketType, o.UserID, o.Allocations.Compact(),
			nil, o.Quantity, nil, nil, business, orNull(o.MessageID), now, now}
	}
	return insertStockLog(ctx, tx, rows)
}

func insertStockLog(ctx context.Context, tx *sql.Tx, rows [][]any) error {
	if _, err := sqltx.ExecRows(ctx, tx, stockLogHead, rows, ""); err != nil {
		return fmt.Errorf("order: stock log: %w", err)
	}
	return nil
}

// LogDeducted turns the -1 row of an order that was paid from FREEZE into DEDUCT.
func LogDeducted(ctx context.Context, tx *sql.Tx, id sale.OrderID, now time.Time) error {
	result, err := tx.ExecContext(ctx, `UPDATE stock_log SET action = 'DEDUCT', updated_at = ?
 WHERE order_id = ? AND direction = -1 AND action = 'FREEZE'`, now, id[:])
	if err != nil {
		return fmt.Errorf("order: stock log: %w", err)
	}
	return expectChanged(result, 1)
}

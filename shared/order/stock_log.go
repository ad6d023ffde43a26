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
	return insertStockLog(ctx, tx, orders, func(o *Order) movement {
		m := movement{direction: -1, action: "FREEZE", before: o.Before, known: o.Before >= 0, seq: o.Seq, business: businessCreated, at: o.CreatedAt}
		if o.Status == Paid {
			m.action = "DEDUCT"
		}
		return m
	})
}

// LogGivenBack writes the +1 row of orders that this transaction cancels. Its figures stay empty until release has answered.
func LogGivenBack(ctx context.Context, tx *sql.Tx, orders []Order, now time.Time) error {
	return insertStockLog(ctx, tx, orders, func(o *Order) movement {
		m := movement{direction: 1, action: "FREEZE_ROLLED_BACK", business: businessFailed, at: now}
		if o.Reason == PayTimeout {
			m.business = businessTimeout
		}
		return m
	})
}

// movement is what the two rows of an order do not have in common.
type movement struct {
	direction int
	action    string
	before    int // units left in Redis just before, if known
	known     bool
	seq       int64 // 0: not known
	business  int
	at        time.Time
}

func insertStockLog(ctx context.Context, tx *sql.Tx, orders []Order, of func(*Order) movement) error {
	_, err := sqltx.WriteRows(ctx, tx, stockLogHead, len(orders), func(i int, r *sqltx.Row) {
		o := &orders[i]
		of(o).write(r, o)
	}, "")
	if err != nil {
		return fmt.Errorf("order: stock log: %w", err)
	}
	return nil
}

// write gives the values of stockLogHead's columns.
func (m movement) write(r *sqltx.Row, o *Order) {
	change := m.direction * o.Quantity
	r.Bytes(o.ID[:])
	r.Int(int64(m.direction))
	r.Text(m.action)
	r.Text(o.ActivityID)
	r.Text(o.TicketType)
	r.Text(o.UserID)
	r.Text(o.Allocations.Compact())
	if m.known {
		r.Int(int64(m.before))
		r.Int(int64(change))
		r.Int(int64(m.before + change))
	} else {
		r.Null()
		r.Int(int64(change))
		r.Null()
	}
	if m.seq > 0 {
		r.Int(m.seq)
	} else {
		r.Null()
	}
	r.Int(int64(m.business))
	r.TextOrNull(o.MessageID)
	r.Instant(m.at)
	r.Instant(m.at)
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

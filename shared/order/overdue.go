package order

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// Overdue pages through the ids of UNPAID orders whose deadline is reached, longest overdue first, as last committed.
func Overdue(ctx context.Context, q sqltx.Querier, now time.Time, after Cursor, limit int) ([]sale.OrderID, Cursor, error) {
	if after.At.IsZero() {
		after.At = time.Unix(0, 0)
	}
	found, err := sqltx.Collect(ctx, q, scanDeadline, `SELECT pay_deadline, id FROM trade_order WHERE status = 'UNPAID' AND pay_deadline <= ?
 AND pay_deadline >= ? AND (pay_deadline > ? OR id > ?) ORDER BY pay_deadline, id LIMIT ?`, now, after.At, after.At, after.ID[:], limit)
	if err != nil {
		return nil, after, fmt.Errorf("order: read ids: %w", err)
	}
	ids := make([]sale.OrderID, len(found))
	for i := range found {
		ids[i], after = found[i].ID, found[i]
	}
	return ids, after, nil
}

func scanDeadline(row sqltx.Scanner) (c Cursor, err error) {
	err = row.Scan(&c.At, &c.ID)
	return c, err
}

// LockOverdue locks those of the orders that are still UNPAID with their deadline reached, in order of id, and passes over rows
// that somebody else has locked: whoever has them is deciding about them.
func LockOverdue(ctx context.Context, tx *sql.Tx, ids []sale.OrderID, now time.Time) ([]Order, error) {
	var out []Order
	for _, page := range pages(sorted(ids), idBytes) {
		found, err := query(ctx, tx, `SELECT `+columns+` FROM trade_order WHERE id IN `+sqltx.In(len(page))+
			` AND status = 'UNPAID' AND pay_deadline <= ? ORDER BY id FOR UPDATE SKIP LOCKED`, append(idArgs(page), now)...)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// Unreleased lists CANCELLED orders that Redis is not yet known to have released, in order of id, after an id (zero: from the
// start), cancelled at an instant or before.
func Unreleased(ctx context.Context, q sqltx.Querier, after sale.OrderID, until time.Time, limit int) ([]Order, error) {
	return query(ctx, q, `SELECT `+columns+` FROM trade_order WHERE status = 'CANCELLED' AND released_at IS NULL AND id > ?
 AND cancelled_at <= ? ORDER BY id LIMIT ?`, after[:], until, limit)
}

// OfActivity pages through all orders of the activity with this number, in order of id, after an id (zero: from the start).
func OfActivity(ctx context.Context, q sqltx.Querier, number int64, after sale.OrderID, limit int) ([]Order, error) {
	low, high := boundary(number), boundary(number+1)
	if CompareIDs(after, low) > 0 {
		low = after
	}
	return query(ctx, q, `SELECT `+columns+` FROM trade_order WHERE id > ? AND id < ? ORDER BY id LIMIT ?`, low[:], high[:], limit)
}

// ChangedSince pages through the activity's orders whose row changed at an instant or later, in order of change and id.
func ChangedSince(ctx context.Context, q sqltx.Querier, activityID string, since time.Time, after Cursor, limit int) ([]Order, Cursor, error) {
	if after.At.Before(since) {
		after = Cursor{At: since}
	}
	found, err := query(ctx, q, `SELECT `+columns+` FROM trade_order WHERE activity_id = ? AND updated_at >= ?
 AND (updated_at > ? OR id > ?) ORDER BY updated_at, id LIMIT ?`, activityID, after.At, after.At, after.ID[:], limit)
	if err != nil || len(found) == 0 {
		return nil, after, err
	}
	last := found[len(found)-1]
	return found, Cursor{At: last.UpdatedAt, ID: last.ID}, nil
}

// Cursor is where a walk through orders by an instant of theirs and their id stands; zero: at the start.
type Cursor struct {
	At time.Time
	ID sale.OrderID
}

// Range gives bounds of the ids of the activity with this number: all of them lie between the two, and neither is an order's.
func Range(number int64) (above, below sale.OrderID) { return boundary(number), boundary(number + 1) }

// boundary is the lowest id that a number can make; no order has it, for its version bits are 0.
func boundary(number int64) sale.OrderID {
	var id sale.OrderID
	for i := 5; i >= 0; i-- {
		id[i] = byte(number)
		number >>= 8
	}
	return id
}

func queryIDs(ctx context.Context, q sqltx.Querier, statement string, args ...any) ([]sale.OrderID, error) {
	ids, err := sqltx.Collect(ctx, q, sqltx.Column[sale.OrderID], statement, args...)
	if err != nil {
		return nil, fmt.Errorf("order: read ids: %w", err)
	}
	return ids, nil
}

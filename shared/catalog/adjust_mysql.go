package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

const (
	selectAdjustment = `SELECT activity_id, adjustment_id, ticket_type, delta, split, reason, operator, status, refusal, created_at,
		updated_at FROM stock_adjustment`
	insertAdjustment = `INSERT INTO stock_adjustment (activity_id, adjustment_id, ticket_type, delta, reason, status, operator,
		created_at, updated_at) VALUES (?, ?, ?, ?, ?, 'PENDING', ?, ?, ?)`
	selectAdjusted = `SELECT COALESCE(SUM(delta), 0) FROM stock_adjustment
		WHERE activity_id = ? AND ticket_type = ? AND (status = 'APPLIED' OR status = 'PENDING' AND delta > 0)`
	settleAdjustment = `UPDATE stock_adjustment SET status = ?, split = ?, refusal = ?, updated_at = ?
		WHERE activity_id = ? AND adjustment_id = ? AND status = 'PENDING'`
	updateBucket = `UPDATE stock_bucket SET adjusted = adjusted + ?, updated_at = ?
		WHERE activity_id = ? AND ticket_type = ? AND bucket = ? AND frozen + sold <= capacity + adjusted + ?`
)

// GetAdjustment reads one adjustment as last committed. It returns ErrAdjustmentNotFound and the errors of the driver.
func GetAdjustment(ctx context.Context, q sqltx.Querier, activityID, id string) (Adjustment, error) {
	return adjustment(ctx, q, activityID, id, "")
}

// UnfinishedAdjustments reads adjustments that are PENDING since before an instant, the oldest first, limit at most: whoever began
// them may have died. It returns the errors of the driver.
func UnfinishedAdjustments(ctx context.Context, q sqltx.Querier, before time.Time, limit int) ([]Adjustment, error) {
	return adjustments(ctx, q, ` WHERE status = 'PENDING' AND created_at < ? ORDER BY created_at, activity_id, adjustment_id LIMIT ?`,
		before, limit)
}

// AppliedAdjustments reads a page of an activity's applied adjustments in the order of their ids, from behind the id after ("" for the
// first page), limit at most: what a loading of Redis adopts. It returns the errors of the driver.
func AppliedAdjustments(ctx context.Context, q sqltx.Querier, activityID, after string, limit int) ([]Adjustment, error) {
	return adjustments(ctx, q, ` WHERE activity_id = ? AND adjustment_id > ? AND status = 'APPLIED' ORDER BY adjustment_id LIMIT ?`,
		activityID, after, limit)
}

// adjustment reads one; lock is "" or the words of a lock.
func adjustment(ctx context.Context, q sqltx.Querier, activityID, id, lock string) (Adjustment, error) {
	found, err := adjustments(ctx, q, ` WHERE activity_id = ? AND adjustment_id = ?`+lock, activityID, id)
	if err != nil {
		return Adjustment{}, err
	}
	if len(found) == 0 {
		return Adjustment{}, ErrAdjustmentNotFound
	}
	return found[0], nil
}

func adjustments(ctx context.Context, q sqltx.Querier, where string, args ...any) ([]Adjustment, error) {
	rows, err := q.QueryContext(ctx, selectAdjustment+where, args...)
	if err != nil {
		return nil, fmt.Errorf("reading adjustments: %w", err)
	}
	defer rows.Close()
	var found []Adjustment
	for rows.Next() {
		var (
			a              Adjustment
			split, refusal sql.NullString
		)
		err := rows.Scan(&a.ActivityID, &a.ID, &a.TicketType, &a.Delta, &split, &a.Reason, &a.Operator, &a.Status, &refusal,
			&a.CreatedAt, &a.UpdatedAt)
		if err != nil {
			return nil, fmt.Errorf("reading adjustments: %w", err)
		}
		a.Refusal = refusal.String
		if split.Valid {
			if a.Split, err = sale.ParseSplit(split.String); err != nil {
				return nil, fmt.Errorf("reading adjustment %s: %w", a.ID, err)
			}
		}
		found = append(found, a)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading adjustments: %w", err)
	}
	return found, nil
}

// settle moves a locked PENDING adjustment to its last state; split or refusal is nil for NULL.
func settle(ctx context.Context, tx *sql.Tx, a Adjustment, to AdjustmentStatus, split, refusal any, now time.Time) error {
	res, err := tx.ExecContext(ctx, settleAdjustment, to, split, refusal, now, a.ActivityID, a.ID)
	if err != nil {
		return fmt.Errorf("settling an adjustment: %w", err)
	}
	if err := oneRow(res); err != nil {
		return fmt.Errorf("settling an adjustment: %w", err)
	}
	return nil
}

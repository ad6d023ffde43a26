package waitlist

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"holdfast/shared/sqltx"
)

// leaseLength is longer than a walk over a waitlist takes. Two who walk at once are no harm, only work done twice.
const leaseLength = 30 * time.Second

func leaseName(activityID string) string { return "waitlist:" + activityID }

// Lease takes the right to walk over an activity's waitlist, unless somebody else has it: then got is false. holder must be of this
// walk alone.
func Lease(ctx context.Context, tx *sql.Tx, activityID, holder string, now time.Time) (got bool, err error) {
	// A new row counts 1, one that is there 0: the insert changes nothing but locks it.
	result, err := tx.ExecContext(ctx, `INSERT INTO lease (name, holder, token, acquired_at, expires_at) VALUES (?, ?, 1, ?, ?)
 ON DUPLICATE KEY UPDATE name = name`, leaseName(activityID), holder, now, now.Add(leaseLength))
	if err != nil {
		return false, fmt.Errorf("waitlist: lease: %w", err)
	}
	if n, err := changed(result); err != nil || n == 1 {
		return n == 1, err
	}
	result, err = tx.ExecContext(ctx, `UPDATE lease SET holder = ?, token = token + 1, acquired_at = ?, expires_at = ?
 WHERE name = ? AND expires_at <= ?`, holder, now, now.Add(leaseLength), leaseName(activityID), now)
	if err != nil {
		return false, fmt.Errorf("waitlist: lease: %w", err)
	}
	n, err := changed(result)
	return n == 1, err
}

// EndLease gives the right back. If it fails the lease just runs out.
func EndLease(ctx context.Context, q sqltx.Querier, activityID, holder string, now time.Time) error {
	_, err := q.ExecContext(ctx, `UPDATE lease SET expires_at = ? WHERE name = ? AND holder = ?`, now, leaseName(activityID), holder)
	if err != nil {
		return fmt.Errorf("waitlist: end lease: %w", err)
	}
	return nil
}

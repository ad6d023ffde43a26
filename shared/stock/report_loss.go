package stock

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"holdfast/shared/sqltx"
)

// ReportLoss asks for a full reconcile of an activity, because there is evidence that Redis lost something of it. It is one conditional
// insert: while a run of the activity is queued or running, reporting again changes nothing. It returns the errors of the driver.
func ReportLoss(ctx context.Context, q sqltx.Querier, activityID string, now time.Time) error {
	_, err := q.ExecContext(ctx, `INSERT INTO reconcile_run (run_id, mode, cause, activity_id, status, created_at, updated_at)
 VALUES (?, 'REPAIR', 'EVIDENCE', ?, 'QUEUED', ?, ?) ON DUPLICATE KEY UPDATE run_id = run_id`, rand.Text(), activityID, now, now)
	if err != nil {
		return fmt.Errorf("stock: report a loss: %w", err)
	}
	return nil
}

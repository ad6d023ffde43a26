package waitlist

import (
	"context"
	"database/sql"
	"time"

	"holdfast/shared/sqltx"
)

// leaseLength is longer than a walk over a waitlist takes. Two who walk at once are no harm, only work done twice.
const leaseLength = 30 * time.Second

// Lease takes the right to walk over an activity's waitlist, to be ended after the walk. holder must be of this walk alone. It returns
// sqltx.ErrLeased when somebody else has it, and the errors of the driver.
func Lease(ctx context.Context, tx *sql.Tx, activityID, holder string, now time.Time) (sqltx.Lease, error) {
	return sqltx.TakeLease(ctx, tx, "waitlist:"+activityID, holder, now, leaseLength)
}

package order

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// StopClock takes the deadline off a locked UNPAID order, because a deposit holds its units from now on. The order is changed alike in
// memory. It returns ErrChanged when the row is not UNPAID with a deadline.
func StopClock(ctx context.Context, tx *sql.Tx, o *Order, now time.Time) error {
	result, err := tx.ExecContext(ctx, `UPDATE trade_order SET pay_deadline = NULL, updated_at = ?, revision = revision + 1
 WHERE id = ? AND status = 'UNPAID' AND pay_deadline IS NOT NULL`, now, o.ID[:])
	if err != nil {
		return fmt.Errorf("order: stop clock: %w", err)
	}
	if err := expectChanged(result, 1); err != nil {
		return err
	}
	o.PayDeadline, o.UpdatedAt = nil, now
	o.Revision++
	return nil
}

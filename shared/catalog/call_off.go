package catalog

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/fault"
	"holdfast/shared/sale"
)

const (
	updateCalledOff = `UPDATE activity SET status = 'CLOSED', cancelled_at = ?, rules_version = rules_version + 1, revision = revision + 1,
		updated_at = ? WHERE activity_id = ? AND cancelled_at IS NULL`
	updateCancelled = `UPDATE activity SET status = 'CANCELLED', rules_version = rules_version + 1, revision = revision + 1, updated_at = ?
		WHERE activity_id = ? AND status = 'CLOSED' AND cancelled_at IS NOT NULL`
)

// CallOff closes an activity for good and marks it as called off: from the commit on no order of it becomes live or paid, and every
// deposit goes back in full. One that is called off already gives changed false. It locks the row for writing, so that whatever writes
// orders of the activity has ended.
//
// It returns, as faults, ErrNotFound, and ErrIllegalTransition for a DRAFT; and the errors of the driver.
func (c *Catalog) CallOff(ctx context.Context, tx *sql.Tx, id string, entry audit.Entry, now time.Time) (a *sale.Activity, changed bool, err error) {
	a, err = one(ctx, tx, ` WHERE activity_id = ? FOR UPDATE`, id)
	if err != nil || a.CancelledAt != nil {
		return a, false, err
	}
	if a.Status == sale.Draft {
		return nil, false, fault.Wrap(fault.IllegalTransition, ErrIllegalTransition,
			"a draft has sold nothing that could be called off").With("status", a.Status)
	}
	res, err := tx.ExecContext(ctx, updateCalledOff, now, now, id)
	if err != nil {
		return nil, false, fmt.Errorf("calling an activity off: %w", err)
	}
	if err := oneRow(res); err != nil {
		return nil, false, fmt.Errorf("calling an activity off: %w", err)
	}
	if err := audit.Add(ctx, tx, complete(entry, "activity.call-off", id, now)); err != nil {
		return nil, false, err
	}
	a, err = Get(ctx, tx, id)
	return a, true, err
}

// FinishCallOff makes an activity that was called off CANCELLED, once no order of it is live any more. One that is CANCELLED stays.
func (c *Catalog) FinishCallOff(ctx context.Context, tx *sql.Tx, id string, now time.Time) error {
	if _, err := tx.ExecContext(ctx, updateCancelled, now, id); err != nil {
		return fmt.Errorf("cancelling an activity: %w", err)
	}
	return nil
}

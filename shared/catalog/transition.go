package catalog

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/fault"
	"holdfast/shared/sale"
)

// Transition takes an activity to another status, along the edges of the diagram in package sale. from names the states that it may
// come from, where the call means only some of them (a publication comes from DRAFT, a resumption from SUSPENDED); none: all that
// have an edge. A transition already in effect gives changed false and writes nothing. Orders that are being written finish first:
// they hold a shared lock on the row, so once CLOSED is committed no further order becomes live.
//
// It returns, as faults, ErrNotFound and ErrIllegalTransition (with the present status); and the errors of the transaction runner.
func (c *Catalog) Transition(ctx context.Context, id string, to sale.Status, entry audit.Entry, from ...sale.Status) (a *sale.Activity, changed bool, err error) {
	err = c.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		before, err := one(ctx, tx, ` WHERE activity_id = ? FOR UPDATE`, id)
		if err != nil {
			return err
		}
		a, changed = before, false
		if before.Status == to {
			return nil
		}
		if !before.Status.CanBecome(to) || len(from) > 0 && !slices.Contains(from, before.Status) {
			return fault.Wrap(fault.IllegalTransition, ErrIllegalTransition,
				fmt.Sprintf("an activity that is %s cannot become %s this way", before.Status, to)).With("status", before.Status)
		}
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		if err := setStatus(ctx, tx, before, to, now, entry); err != nil {
			return err
		}
		changed = true
		a, err = Get(ctx, tx, id)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return a, changed, nil
}

// setStatus moves a locked row and adds the audit row.
func setStatus(ctx context.Context, tx *sql.Tx, before *sale.Activity, to sale.Status, now time.Time, entry audit.Entry) error {
	res, err := tx.ExecContext(ctx, updateStatus, to, now, before.ID, before.Status)
	if err != nil {
		return fmt.Errorf("changing a status: %w", err)
	}
	if err := oneRow(res); err != nil {
		return fmt.Errorf("changing a status: %w", err)
	}
	entry = complete(entry, "activity.transition", before.ID, now)
	if entry.Detail == nil {
		detail, err := json.Marshal(map[string]any{"from": before.Status, "to": to})
		if err != nil {
			return fmt.Errorf("writing an audit entry: %w", err)
		}
		entry.Detail = detail
	}
	return audit.Add(ctx, tx, entry)
}

// NextEpoch raises the epoch from the given one and returns the new one: whoever gets it loads Redis, nobody else. It returns ErrEpoch
// when the epoch is another one by now, ErrNotFound as a fault, and the errors of the driver; after an unanswered statement the epoch
// may have risen, and the caller reads it again.
func (c *Catalog) NextEpoch(ctx context.Context, id string, from int64) (int64, error) {
	now, err := c.db.Now(ctx, c.db)
	if err != nil {
		return 0, err
	}
	res, err := c.db.ExecContext(ctx, updateEpoch, now, id, from)
	if err != nil {
		return 0, fmt.Errorf("raising an epoch: %w", err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("raising an epoch: %w", err)
	}
	if n == 1 {
		return from + 1, nil
	}
	if _, err := Get(ctx, c.db, id); err != nil {
		return 0, err
	}
	return 0, ErrEpoch
}

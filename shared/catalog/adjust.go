package catalog

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/fault"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// AdjustmentStatus is how far an adjustment has come; the diagram stands in the package comment.
type AdjustmentStatus string

// The states of an adjustment.
const (
	Pending AdjustmentStatus = "PENDING"
	Applied AdjustmentStatus = "APPLIED"
	Refused AdjustmentStatus = "REFUSED"
)

// Adjustment is a change of a type's capacity, named by the operator.
type Adjustment struct {
	ActivityID string
	ID         string // unique in its activity
	TicketType string
	Delta      int        // units added or, negative, taken away; never 0
	Split      sale.Split // Delta by bucket; nil while PENDING
	Reason     string     // in the operator's words, 1..500 characters
	Operator   string
	Status     AdjustmentStatus
	Refusal    string // code of the refusal; "" unless REFUSED
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// BeginAdjustment writes down what an operator wants as PENDING, with an audit row. Of w it takes ActivityID, ID, TicketType, Delta and
// Reason. The same again gives the adjustment as it stands and created false.
//
// It returns, as faults, ErrNotFound; ErrAdjustmentExists when the id asked for something else; ErrIllegalTransition for an activity
// that is neither PUBLISHED nor SUSPENDED (the capacity of a draft is changed itself); ErrRefused for an unknown type and for more
// units than MaxUnits of one type, with its violation, and for values that break a rule of the database; and the errors of the transaction
// runner.
func (c *Catalog) BeginAdjustment(ctx context.Context, w Adjustment, entry audit.Entry) (a Adjustment, created bool, err error) {
	err = c.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		created = false
		// Exclusively, so that adjustments at once do not share the same room below MaxUnits.
		activity, err := one(ctx, tx, ` WHERE activity_id = ? FOR UPDATE`, w.ActivityID)
		if err != nil {
			return err
		}
		a, err = adjustment(ctx, tx, w.ActivityID, w.ID, "")
		switch {
		case err == nil:
			return sameAdjustment(a, w)
		case !errors.Is(err, ErrAdjustmentNotFound):
			return err
		}
		if err := adjustable(activity, w.TicketType); err != nil {
			return err
		}
		if err := fits(ctx, tx, activity, w); err != nil {
			return err
		}
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		if err := insertPending(ctx, tx, w, now, entry); err != nil {
			return err
		}
		created = true
		a, err = adjustment(ctx, tx, w.ActivityID, w.ID, "")
		return err
	})
	if _, raced := sqltx.DuplicateKey(err); raced {
		// Somebody else asked for the same at the same time and was first: their row is there to be read now.
		a, err = adjustment(ctx, c.db, w.ActivityID, w.ID, "")
		if err == nil {
			err = sameAdjustment(a, w)
		}
		return a, false, err
	}
	return a, created, refused(err)
}

func sameAdjustment(a, w Adjustment) error {
	if a.TicketType != w.TicketType || a.Delta != w.Delta || a.Reason != w.Reason {
		return fault.Wrap(fault.AdjustmentExists, ErrAdjustmentExists, "an adjustment with this id asked for something else")
	}
	return nil
}

func adjustable(a *sale.Activity, ticketType string) error {
	if a.Status != sale.Published && a.Status != sale.Suspended {
		return fault.Wrap(fault.IllegalTransition, ErrIllegalTransition,
			fmt.Sprintf("stock is adjusted while a sale is PUBLISHED or SUSPENDED; it is %s", a.Status)).With("status", a.Status)
	}
	if _, known := a.Type(ticketType); !known {
		f := fault.Wrap(fault.ValidationFailed, ErrRefused, "the activity has no such ticket type")
		f.Violations = []fault.Violation{{Pointer: "/ticketType", Code: "UNKNOWN", Message: "name a ticket type of the activity"}}
		return f
	}
	return nil
}

// MaxUnits is the most units that there are of a type, adjustments included: its figures are written down as INT.
const MaxUnits = 1<<31 - 1

// fits refuses an adjustment by which there would be more units than MaxUnits, if all that are PENDING and add units are applied and those
// that take units away are not.
func fits(ctx context.Context, tx *sql.Tx, activity *sale.Activity, w Adjustment) error {
	if w.Delta <= 0 {
		return nil
	}
	t, _ := activity.Type(w.TicketType)
	var adjusted int64
	if err := tx.QueryRowContext(ctx, selectAdjusted, w.ActivityID, w.TicketType).Scan(&adjusted); err != nil {
		return fmt.Errorf("summing up adjustments: %w", err)
	}
	if room := MaxUnits - int64(t.Capacity) - adjusted; int64(w.Delta) > room {
		f := fault.Wrap(fault.ValidationFailed, ErrRefused, "the type would have more units than can be counted")
		f.Violations = []fault.Violation{{Pointer: "/delta", Code: "OUT_OF_RANGE",
			Message: fmt.Sprintf("at most %d: a type has up to %d units", max(room, 0), MaxUnits)}}
		return f
	}
	return nil
}

// ApplyAdjustment puts exactly this split, which Redis has picked, into the buckets and sets the adjustment APPLIED, in one
// transaction. The same again changes nothing.
//
// It returns ErrAdjustmentNotFound; ErrAdjustmentRefused when it was refused before; ErrBelowSold, as a fault, when a bucket has more
// units frozen and sold than it would hold, and ErrRefused, as a fault, when the sum outgrows its column: nothing is changed then, and
// the caller refuses the adjustment; and the errors of the transaction runner.
func (c *Catalog) ApplyAdjustment(ctx context.Context, activityID, id string, split sale.Split) (a Adjustment, err error) {
	err = c.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		a, err = adjustment(ctx, tx, activityID, id, ` FOR UPDATE`)
		if err != nil {
			return err
		}
		switch {
		case a.Status == Refused:
			return ErrAdjustmentRefused
		case split.Delta() != a.Delta:
			return fmt.Errorf("the split %q of adjustment %s is not its delta %d", split.Compact(), id, a.Delta)
		case a.Status == Applied && a.Split.Compact() != split.Compact():
			return fmt.Errorf("adjustment %s was applied as %q and cannot be applied as %q", id, a.Split.Compact(), split.Compact())
		case a.Status == Applied:
			return nil
		}
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		if err := applySplit(ctx, tx, a, split, now); err != nil {
			return err
		}
		if err := settle(ctx, tx, a, Applied, split.Compact(), nil, now); err != nil {
			return err
		}
		a, err = adjustment(ctx, tx, activityID, id, "")
		return err
	})
	return a, refused(err)
}

// applySplit adds the split to the buckets, in ascending order, each only where its units allow it.
func applySplit(ctx context.Context, tx *sql.Tx, a Adjustment, split sale.Split, now time.Time) error {
	for _, share := range split {
		res, err := tx.ExecContext(ctx, updateBucket, share.Delta, now, a.ActivityID, a.TicketType, share.Bucket, share.Delta)
		if err != nil {
			return fmt.Errorf("adjusting a bucket: %w", err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return fmt.Errorf("adjusting a bucket: %w", err)
		}
		if n != 1 {
			return fault.Wrap(fault.StockBelowSold, ErrBelowSold, fmt.Sprintf("bucket %d has not that many units left", share.Bucket))
		}
	}
	return nil
}

// RefuseAdjustment sets a PENDING adjustment REFUSED; refusal is the code of the reason, "STOCK_BELOW_SOLD". The same again changes
// nothing. It returns ErrAdjustmentNotFound, an error for one that is APPLIED, and the errors of the transaction runner.
func (c *Catalog) RefuseAdjustment(ctx context.Context, activityID, id, refusal string) (a Adjustment, err error) {
	err = c.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		a, err = adjustment(ctx, tx, activityID, id, ` FOR UPDATE`)
		switch {
		case err != nil:
			return err
		case a.Status == Refused:
			return nil
		case a.Status == Applied:
			return fmt.Errorf("adjustment %s was applied and cannot be refused", id)
		}
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		if err := settle(ctx, tx, a, Refused, nil, refusal, now); err != nil {
			return err
		}
		a, err = adjustment(ctx, tx, activityID, id, "")
		return err
	})
	return a, err
}

// insertPending inserts the row and its audit row.
func insertPending(ctx context.Context, tx *sql.Tx, w Adjustment, now time.Time, entry audit.Entry) error {
	_, err := tx.ExecContext(ctx, insertAdjustment, w.ActivityID, w.ID, w.TicketType, w.Delta, w.Reason, entry.Operator, now, now)
	if err != nil {
		return fmt.Errorf("inserting an adjustment: %w", err)
	}
	detail, err := json.Marshal(map[string]any{"adjustmentId": w.ID, "ticketType": w.TicketType, "delta": w.Delta, "reason": w.Reason})
	if err != nil {
		return fmt.Errorf("writing an audit entry: %w", err)
	}
	entry = complete(entry, "activity.adjust-stock", w.ActivityID, now)
	entry.Detail = detail
	return audit.Add(ctx, tx, entry)
}

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

// Change edits an activity: change gets it as it is, locked, and sets fields; its own error ends the call as it is. What it may set
// depends on the status: of a DRAFT everything but the mode; of a published or suspended activity title, metadata, closesAt, the limit
// upward, and opensAt while it is still ahead by the clock of the database; of a closed one title and metadata. Fields that operators
// do not set (number, salt, status, counters) keep their values, whatever change does to them. When nothing differs, nothing is
// written. Otherwise the revision rises, and the rules' version too when window or limit changed: the caller then tells Redis.
//
// It returns, as faults, ErrNotFound; ErrStale when revision is not the present one; ErrNotChangeable with one violation per field;
// ErrRefused; and the errors of the transaction runner.
func (c *Catalog) Change(ctx context.Context, id string, revision int64, change func(*sale.Activity) error, entry audit.Entry) (*sale.Activity, error) {
	var after *sale.Activity
	err := c.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		before, err := one(ctx, tx, ` WHERE activity_id = ? FOR UPDATE`, id)
		if err != nil {
			return err
		}
		if before.Revision != revision {
			return fault.Wrap(fault.PreconditionFailed, ErrStale, "the activity has changed since it was read; read it again")
		}
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		next, changed, err := edited(before, change, now)
		if err != nil {
			return err
		}
		if len(changed) > 0 {
			if err := c.write(ctx, tx, next, changed, now, entry); err != nil {
				return err
			}
		}
		after, err = Get(ctx, tx, id)
		return err
	})
	if err != nil {
		return nil, refused(err)
	}
	return after, nil
}

// edited is the activity after the change, and what differs. It returns ErrNotChangeable as a fault.
func edited(before *sale.Activity, change func(*sale.Activity) error, now time.Time) (*sale.Activity, []edit, error) {
	next := *before
	next.TicketTypes = slices.Clone(before.TicketTypes)
	if err := change(&next); err != nil {
		return nil, nil, err
	}
	normalize(&next)
	next.ID, next.Number, next.Salt, next.Status = before.ID, before.Number, before.Salt, before.Status
	next.Epoch, next.RulesVersion, next.Revision = before.Epoch, before.RulesVersion, before.Revision
	next.CancelledAt, next.CreatedAt = before.CancelledAt, before.CreatedAt
	changed, err := edits(before, &next)
	if err != nil {
		return nil, nil, err
	}
	if broken := forbidden(before, &next, changed, now); len(broken) > 0 {
		f := fault.Wrap(fault.ValidationFailed, ErrNotChangeable, "some of these fields cannot be changed in this state")
		f.Violations = broken
		return nil, nil, f
	}
	for _, e := range changed {
		if e.Field == "opensAt" || e.Field == "closesAt" || e.Field == "perUserLimit" {
			next.RulesVersion = before.RulesVersion + 1
		}
	}
	return &next, changed, nil
}

// forbidden lists the edits that the activity's state does not allow.
func forbidden(before, next *sale.Activity, changed []edit, now time.Time) (broken []fault.Violation) {
	for _, e := range changed {
		if why := whyNot(before, next, e.Field, now); why != "" {
			broken = append(broken, fault.Violation{Pointer: "/" + e.Field, Code: "NOT_CHANGEABLE", Message: why})
		}
	}
	return broken
}

// whyNot says why a field cannot be changed; "" when it can.
func whyNot(before, next *sale.Activity, name string, now time.Time) string {
	over := before.Status == sale.Closed || before.Status == sale.Cancelled
	switch {
	case name == "mode":
		return "the mode is set at creation, for life"
	case before.Status == sale.Draft, name == "title", name == "metadata":
		return ""
	case over:
		return "the sale is over: title and metadata can be changed"
	case name == "closesAt":
		return ""
	case name == "perUserLimit" && next.PerUserLimit < before.PerUserLimit:
		return fmt.Sprintf("after publication the limit can only be raised; it is %d", before.PerUserLimit)
	case name == "perUserLimit":
		return ""
	case name == "opensAt" && !now.Before(before.OpensAt):
		return "the sale has opened: its opening cannot be moved any more"
	case name == "opensAt":
		return ""
	}
	return "after publication title, metadata, closesAt, a higher perUserLimit, and opensAt while it is ahead can be changed"
}

// write stores an edited activity, locked by its caller, and the audit row.
func (c *Catalog) write(ctx context.Context, tx *sql.Tx, a *sale.Activity, changed []edit, now time.Time, entry audit.Entry) error {
	res, err := tx.ExecContext(ctx, updateActivity, a.Kind, a.Title, a.Lang, a.TimeZone, textOrNull(a.Metadata), a.OpensAt, a.ClosesAt,
		a.PerUserLimit, int64(a.PayWindow/time.Second), a.Currency, textOrNull(a.RefundRule), a.SaleTokenRequired, a.RulesVersion, now,
		a.ID, a.Revision)
	if err != nil {
		return fmt.Errorf("changing an activity: %w", err)
	}
	if err := oneRow(res); err != nil {
		return fmt.Errorf("changing an activity: %w", err)
	}
	if slices.ContainsFunc(changed, func(e edit) bool { return e.Field == "ticketTypes" }) {
		if err := dropStock(ctx, tx, a.ID); err != nil {
			return err
		}
		if err := addStock(ctx, tx, a, now); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(changed, func(e edit) bool { return e.Field == "deposit" }) {
		if err := addPolicy(ctx, tx, a, now); err != nil {
			return err
		}
	}
	detail, err := json.Marshal(map[string]any{"revision": a.Revision + 1, "edits": changed})
	if err != nil {
		return fmt.Errorf("writing an audit entry: %w", err)
	}
	entry = complete(entry, "activity.change", a.ID, now)
	entry.Detail = detail
	return audit.Add(ctx, tx, entry)
}

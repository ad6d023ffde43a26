package reconcile

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/sqltx"
)

// Resolution is what a person wants done about a difference.
type Resolution struct {
	ID       int64
	Revision int64 // of the difference as the person saw it
	Action   Action
	Note     string      // why; 1..500 characters
	Entry    audit.Entry // its operator decides; At is filled in
}

// effect is what an action did: what would undo it; nil when nothing was changed.
type effect map[string]any

// Resolve does what a person decided about a difference and closes it, with an audit row in the transaction that closes it and with what
// would undo the action. No run of the activity goes on meanwhile. What is done in Redis is done before, and may be done again: a call that
// failed can be repeated. It returns ErrDifferenceNotFound, ErrDifferenceClosed, ErrDifferenceChanged, ErrActionUnfit, ErrActionImpossible,
// ErrBusy, and the errors of both stores.
func (r *Reconciler) Resolve(ctx context.Context, w Resolution) (Difference, error) {
	d, err := r.resolvable(ctx, w)
	if err != nil {
		return Difference{}, err
	}
	l, err := r.acquireSoon(ctx, fullLeaseName(d.ActivityID))
	if errors.Is(err, errLeased) {
		return Difference{}, ErrBusy
	}
	if err != nil {
		return Difference{}, err
	}
	defer l.release(ctx)
	if d, err = r.resolvable(ctx, w); err != nil { // a run may have ended just before
		return Difference{}, err
	}
	undo, err := r.actInRedis(ctx, d, w, l)
	if err != nil {
		return Difference{}, err
	}
	closing := func(ctx context.Context, tx *sql.Tx) error { return r.closeDifference(ctx, tx, d, w, undo) }
	err = r.db.Run(ctx, closing)
	if errors.Is(err, sqltx.ErrCommitUnclear) {
		return r.resolvedAnyway(ctx, w, closing)
	}
	if err != nil {
		return Difference{}, err
	}
	return GetDifference(ctx, r.db, w.ID)
}

// resolvedAnyway finds out what became of a COMMIT without answer, and closes the difference if it was not closed.
func (r *Reconciler) resolvedAnyway(ctx context.Context, w Resolution, closing func(context.Context, *sql.Tx) error) (Difference, error) {
	err := r.db.Run(ctx, closing)
	d, readErr := GetDifference(ctx, r.db, w.ID)
	if errors.Is(err, ErrDifferenceChanged) && d.Status == DifferenceResolved && d.Revision == w.Revision+1 && d.Operator == w.Entry.Operator {
		err = nil
	}
	return d, errors.Join(err, readErr)
}

// resolvable reads the difference and says whether this can be done about it.
func (r *Reconciler) resolvable(ctx context.Context, w Resolution) (Difference, error) {
	d, err := GetDifference(ctx, r.db, w.ID)
	switch {
	case err != nil:
		return d, err
	case d.Revision != w.Revision:
		return d, ErrDifferenceChanged
	case d.Status != DifferenceOpen:
		return d, ErrDifferenceClosed
	case !slices.Contains(actions[d.Kind], w.Action):
		return d, ErrActionUnfit
	}
	return d, nil
}

// closeDifference does what is done in MySQL, closes the difference, and writes the audit row.
func (r *Reconciler) closeDifference(ctx context.Context, tx *sql.Tx, d Difference, w Resolution, undo effect) error {
	now, err := r.db.Now(ctx, tx)
	if err != nil {
		return err
	}
	switch w.Action {
	case ActBucket:
		undo, err = correctBucket(ctx, tx, d, now)
	case ActLimit:
		undo, err = correctLimit(ctx, tx, d, now)
	}
	if err != nil {
		return err
	}
	var inverse any
	if undo != nil {
		text, err := json.Marshal(undo)
		if err != nil {
			return fmt.Errorf("reconcile: resolve difference %d: %w", d.ID, err)
		}
		inverse = string(text)
	}
	result, err := tx.ExecContext(ctx, `UPDATE difference SET status = 'RESOLVED', revision = revision + 1, action = ?, note = ?, inverse = ?,
 operator = ?, resolved_at = ? WHERE difference_id = ? AND status = 'OPEN' AND revision = ?`,
		string(w.Action), w.Note, inverse, w.Entry.Operator, now, d.ID, w.Revision)
	if err != nil {
		return fmt.Errorf("reconcile: resolve difference %d: %w", d.ID, err)
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, ErrDifferenceChanged)
	}
	return audit.Add(ctx, tx, resolutionEntry(d, w, undo, now))
}

// resolutionEntry says what was done; it names no user.
func resolutionEntry(d Difference, w Resolution, undo effect, now time.Time) audit.Entry {
	e := w.Entry
	e.At = now
	detail, err := json.Marshal(map[string]any{"kind": d.Kind, "activityId": d.ActivityID, "action": w.Action, "note": w.Note,
		"changed": undo != nil})
	if err == nil {
		e.Detail = detail
	}
	return e
}

package reconcile

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/shared/sqltx"
)

// maxDifferences bounds how many differences of an activity a run records; beyond it something is wrong as a whole, and the alert says
// how many there are.
const maxDifferences = 5000

// differenceKey names what a difference is about, within its activity.
type differenceKey struct {
	kind    DifferenceKind
	subject string
}

// standing is a difference as the database has it.
type standing struct {
	id     int64
	digest string
}

// known are the differences of an activity that a run may find again: the open ones, and those that a person wants left alone.
type known struct {
	open map[differenceKey]standing
	left map[differenceKey]string // digest
}

func readKnown(ctx context.Context, q sqltx.Querier, activityID string) (known, error) {
	k := known{open: make(map[differenceKey]standing), left: make(map[differenceKey]string)}
	rows, err := q.QueryContext(ctx, `SELECT difference_id, kind, subject, digest, status FROM difference WHERE activity_id = ?
 AND (status = 'OPEN' OR (status = 'RESOLVED' AND action = 'NONE')) ORDER BY difference_id`, activityID)
	if err != nil {
		return k, fmt.Errorf("reading differences: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var key differenceKey
		var s standing
		var status DifferenceStatus
		if err := rows.Scan(&s.id, &key.kind, &key.subject, &s.digest, &status); err != nil {
			return k, fmt.Errorf("reading differences: %w", err)
		}
		if status == DifferenceOpen {
			k.open[key] = s
		} else {
			k.left[key] = s.digest
		}
	}
	return k, rows.Err()
}

// recordDifferences writes what a complete run has found: new ones are inserted, those found again counted, and those not found any more
// GONE. whole says that the list is not cut off.
func recordDifferences(ctx context.Context, db *sqltx.DB, activityID string, found []finding, k known, whole bool, now time.Time) error {
	return db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var again []any
		var fresh [][]any
		for i := range found {
			f := &found[i]
			digest, err := f.digest()
			if err != nil {
				return err
			}
			text, err := json.Marshal(f.evidence)
			if err != nil {
				return fmt.Errorf("reconcile: difference %s: %w", f.kind, err)
			}
			switch s, open := k.open[differenceKey{f.kind, f.subject}]; {
			case open && s.digest == string(digest):
				again = append(again, s.id)
			case open:
				_, err = tx.ExecContext(ctx, `UPDATE difference SET revision = revision + 1, digest = ?, evidence = ?,
 occurrences = occurrences + 1, seen_at = ? WHERE difference_id = ? AND status = 'OPEN'`, digest, string(text), now, s.id)
				if err != nil {
					return fmt.Errorf("writing differences: %w", err)
				}
			default:
				fresh = append(fresh, []any{activityID, string(f.kind), f.subject, "OPEN", digest, string(text),
					string(actions[f.kind][0]), now, now})
			}
		}
		if err := countAgain(ctx, tx, again, now); err != nil {
			return err
		}
		_, err := sqltx.ExecRows(ctx, tx, `INSERT INTO difference (activity_id, kind, subject, status, digest, evidence, proposed_action,
 found_at, seen_at) VALUES `, fresh, ` ON DUPLICATE KEY UPDATE occurrences = occurrences + 1, seen_at = VALUES(seen_at)`)
		if err == nil && whole {
			others := MoneyKinds() // of which this run knows nothing
			_, err = tx.ExecContext(ctx, `UPDATE difference SET status = 'GONE', resolved_at = ?, revision = revision + 1
 WHERE activity_id = ? AND status = 'OPEN' AND seen_at < ? AND kind NOT IN `+sqltx.In(len(others)),
				append([]any{now, activityID, now}, sqltx.Args(others)...)...)
		}
		if err != nil {
			return fmt.Errorf("writing differences: %w", err)
		}
		return nil
	})
}

// countAgain counts differences that were found again and say the same.
func countAgain(ctx context.Context, tx *sql.Tx, ids []any, now time.Time) error {
	for len(ids) > 0 {
		page := ids[:min(len(ids), 500)]
		ids = ids[len(page):]
		_, err := tx.ExecContext(ctx, `UPDATE difference SET occurrences = occurrences + 1, seen_at = ? WHERE status = 'OPEN'
 AND difference_id IN `+sqltx.In(len(page)), append([]any{now}, page...)...)
		if err != nil {
			return fmt.Errorf("writing differences: %w", err)
		}
	}
	return nil
}

const selectDifferences = `SELECT difference_id, revision, activity_id, kind, subject, status, evidence, proposed_action, occurrences, action,
 note, inverse, operator, found_at, seen_at, resolved_at FROM difference`

// DifferenceFilter says which differences a list holds; an empty member filters nothing.
type DifferenceFilter struct {
	Status     DifferenceStatus
	ActivityID string
}

// ListDifferences reads differences, newest first, that are older than the one with id before. It returns the errors of the driver.
func ListDifferences(ctx context.Context, q sqltx.Querier, f DifferenceFilter, before int64, limit int) ([]Difference, error) {
	where, args := []string{"difference_id < ?"}, []any{before}
	if f.Status != "" {
		where, args = append(where, "status = ?"), append(args, string(f.Status))
	}
	if f.ActivityID != "" {
		where, args = append(where, "activity_id = ?"), append(args, f.ActivityID)
	}
	out, err := sqltx.Collect(ctx, q, scanDifference, selectDifferences+` WHERE `+strings.Join(where, " AND ")+
		` ORDER BY difference_id DESC LIMIT ?`, append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("reconcile: list differences: %w", err)
	}
	return out, nil
}

// GetDifference reads a difference. It returns ErrDifferenceNotFound and the errors of the driver.
func GetDifference(ctx context.Context, q sqltx.Querier, id int64) (Difference, error) {
	return scanDifference(q.QueryRowContext(ctx, selectDifferences+` WHERE difference_id = ?`, id))
}

func scanDifference(row sqltx.Scanner) (Difference, error) {
	var d Difference
	var evidence string
	var action, note, inverse, operator sql.NullString
	var resolved sql.NullTime
	err := row.Scan(&d.ID, &d.Revision, &d.ActivityID, &d.Kind, &d.Subject, &d.Status, &evidence, &d.Proposed, &d.Occurrences, &action,
		&note, &inverse, &operator, &d.FoundAt, &d.SeenAt, &resolved)
	if errors.Is(err, sql.ErrNoRows) {
		return Difference{}, ErrDifferenceNotFound
	}
	if err != nil {
		return Difference{}, fmt.Errorf("reconcile: read a difference: %w", err)
	}
	d.Evidence, d.Action, d.Note, d.Operator = json.RawMessage(evidence), Action(action.String), note.String, operator.String
	if inverse.Valid {
		d.Inverse = json.RawMessage(inverse.String)
	}
	if resolved.Valid {
		d.ResolvedAt = &resolved.Time
	}
	return d, nil
}

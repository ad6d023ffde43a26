package money

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"holdfast/shared/reconcile"
	"holdfast/shared/sqltx"
)

// stalest is the kind that has a metric of its own.
const stalest = reconcile.DepositStale

// finding is a difference that a round has seen.
type finding struct {
	kind       reconcile.DifferenceKind
	activityID string // "": of no activity
	subject    string
	says       any              // what it says apart from figures that move while it stays the same
	evidence   any              // {"mysql": {...}}
	proposed   reconcile.Action // "": the first that its kind can be answered by
	test       bool             // of a rehearsal: it is written down and left out of the metrics
}

func (f *finding) digest() ([]byte, error) {
	text, err := json.Marshal([]any{f.kind, f.subject, f.says})
	if err != nil {
		return nil, fmt.Errorf("money: difference %s: %w", f.kind, err)
	}
	sum := sha256.Sum256(text)
	return sum[:], nil
}

// recordHead writes a difference; recordTail makes of one that is open already the same with one occurrence more, and with a higher
// revision when it says something else. Assignments are done from left to right, so the revision comes before the digest.
const (
	recordHead = `INSERT INTO difference (activity_id, kind, subject, status, digest, evidence, proposed_action, found_at, seen_at) VALUES `
	recordTail = ` ON DUPLICATE KEY UPDATE revision = revision + CASE WHEN digest = VALUES(digest) THEN 0 ELSE 1 END,
 evidence = VALUES(evidence), digest = VALUES(digest), proposed_action = VALUES(proposed_action), occurrences = occurrences + 1,
 seen_at = VALUES(seen_at)`
)

// record writes what a page has found, and gives it, apart from what a person wants left alone while it says the same.
func (r *round) record(ctx context.Context, found []finding) (open []finding, err error) {
	if len(found) == 0 {
		return nil, nil
	}
	err = r.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now, err := r.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		open = nil // for the transaction may be repeated
		var rows [][]any
		for i := range found {
			f := &found[i]
			digest, err := f.digest()
			if err != nil {
				return err
			}
			left, err := leftAlone(ctx, tx, f, digest)
			if err != nil {
				return err
			}
			if left {
				continue
			}
			open = append(open, *f)
			text, err := json.Marshal(f.evidence)
			if err != nil {
				return fmt.Errorf("money: difference %s: %w", f.kind, err)
			}
			proposed := string(cmp.Or(f.proposed, f.kind.Actions()[0]))
			rows = append(rows, []any{f.activityID, string(f.kind), f.subject, "OPEN", digest, string(text), proposed, now, now})
		}
		if _, err := sqltx.ExecRows(ctx, tx, recordHead, rows, recordTail); err != nil {
			return fmt.Errorf("money: write differences: %w", err)
		}
		return nil
	})
	return open, err
}

// leftAlone says whether a person has decided to leave a difference that says just this.
func leftAlone(ctx context.Context, tx *sql.Tx, f *finding, digest []byte) (bool, error) {
	var last []byte
	err := tx.QueryRowContext(ctx, `SELECT digest FROM difference WHERE activity_id = ? AND kind = ? AND subject = ? AND status = 'RESOLVED'
 AND action = 'NONE' ORDER BY difference_id DESC LIMIT 1`, f.activityID, string(f.kind), f.subject).Scan(&last)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("money: read differences: %w", err)
	}
	return string(last) == string(digest), nil
}

// forget marks as GONE what a complete round has not found again. Done twice it changes nothing more. A round sees little of the provider's
// list, so differences with that are looked at one by one.
func (r *round) forget(ctx context.Context) error {
	now, err := r.db.Now(ctx, r.db)
	if err != nil {
		return err
	}
	kinds := slices.DeleteFunc(reconcile.MoneyKinds(), func(kind string) bool { return kind == string(reconcile.ProviderDiffers) })
	args := append([]any{now, r.startedAt}, sqltx.Args(kinds)...)
	_, err = r.db.ExecContext(ctx, `UPDATE difference SET status = 'GONE', resolved_at = ?, revision = revision + 1
 WHERE status = 'OPEN' AND seen_at < ? AND kind IN `+sqltx.In(len(kinds)), args...)
	if err != nil {
		return fmt.Errorf("money: write differences: %w", err)
	}
	return nil
}

package reconcile

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/sqltx"
)

// insertRun inserts a run that waits, unless one for the same is active, and says whether it did.
func insertRun(ctx context.Context, tx *sql.Tx, w RunRequest, now time.Time) (made bool, err error) {
	var by any
	if w.RequestedBy != "" {
		by = w.RequestedBy
	}
	result, err := tx.ExecContext(ctx, `INSERT INTO reconcile_run (run_id, mode, cause, activity_id, status, requested_by, created_at, updated_at)
 VALUES (?, ?, ?, ?, 'QUEUED', ?, ?, ?) ON DUPLICATE KEY UPDATE run_id = run_id`,
		rand.Text(), string(w.Mode), string(w.Cause), w.ActivityID, by, now, now)
	if err != nil {
		return false, fmt.Errorf("asking for a run: %w", err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return false, fmt.Errorf("asking for a run: %w", err)
	}
	return n == 1, nil
}

const selectRuns = `SELECT run_id, activity_id, mode, cause, status, activities, skipped, checked, consistent, in_flight, differences,
 repaired, reached, problem, requested_by, created_at, started_at, finished_at FROM reconcile_run`

// activeRun reads the run of an activity, or of all, that is queued or running. The transaction's own insert has locked it.
func activeRun(ctx context.Context, tx *sql.Tx, activityID string) (Run, error) {
	return scanRun(tx.QueryRowContext(ctx, selectRuns+` WHERE activity_id = ? AND active = 1`, activityID))
}

// GetRun reads a run. It returns ErrRunNotFound.
func GetRun(ctx context.Context, q sqltx.Querier, id string) (Run, error) {
	return scanRun(q.QueryRowContext(ctx, selectRuns+` WHERE run_id = ?`, id))
}

// waitingRuns lists runs that wait, and running ones without a sign of life since an instant, oldest first.
func waitingRuns(ctx context.Context, q sqltx.Querier, staleAt time.Time, limit int) ([]Run, error) {
	out, err := sqltx.Collect(ctx, q, scanRun, selectRuns+` WHERE status IN ('QUEUED', 'RUNNING') AND (status = 'QUEUED' OR updated_at <= ?)
 ORDER BY created_at, run_id LIMIT ?`, staleAt, limit)
	if err != nil {
		return nil, fmt.Errorf("reading runs: %w", err)
	}
	return out, nil
}

func scanRun(row sqltx.Scanner) (Run, error) {
	var run Run
	var repaired, problem, by sql.NullString
	var started, finished sql.NullTime
	err := row.Scan(&run.ID, &run.ActivityID, &run.Mode, &run.Cause, &run.Status, &run.Activities, &run.Skipped, &run.Checked,
		&run.Consistent, &run.InFlight, &run.Differences, &repaired, &run.reached, &problem, &by, &run.CreatedAt, &started, &finished)
	if errors.Is(err, sql.ErrNoRows) {
		return Run{}, ErrRunNotFound
	}
	if err == nil && repaired.Valid {
		err = json.Unmarshal([]byte(repaired.String), &run.Repaired)
	}
	if err != nil {
		return Run{}, fmt.Errorf("reading a run: %w", err)
	}
	run.Problem, run.RequestedBy = problem.String, by.String
	if started.Valid {
		run.StartedAt = &started.Time
	}
	if finished.Valid {
		run.FinishedAt = &finished.Time
	}
	return run, nil
}

// claimRun takes up a run that waits, or whose runner has died, and says whether it did.
func claimRun(ctx context.Context, q sqltx.Querier, id string, now, staleAt time.Time) (bool, error) {
	result, err := q.ExecContext(ctx, `UPDATE reconcile_run SET status = 'RUNNING', started_at = ?, updated_at = ? WHERE run_id = ?
 AND (status = 'QUEUED' OR (status = 'RUNNING' AND updated_at <= ?))`, now, now, id, staleAt)
	if err != nil {
		return false, fmt.Errorf("taking up run %s: %w", id, err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return false, fmt.Errorf("taking up run %s: %w", id, err)
	}
	return n == 1, nil
}

// errRunLost is returned when somebody else has taken the run over.
var errRunLost = errors.New("reconcile: the run was taken over by somebody else")

// save writes how the run stands. It returns errRunLost when the claim is another one by now.
func (x *runner) save(ctx context.Context, status RunStatus, finished *time.Time) error {
	now, err := x.r.db.Now(ctx, x.r.db)
	if err != nil {
		return err
	}
	repaired, err := json.Marshal(x.run.Repaired)
	if err != nil {
		return fmt.Errorf("writing run %s: %w", x.run.ID, err)
	}
	var problem any
	if x.run.Problem != "" {
		problem = x.run.Problem
	}
	result, err := x.r.db.ExecContext(ctx, `UPDATE reconcile_run SET status = ?, activities = ?, skipped = ?, checked = ?, consistent = ?,
 in_flight = ?, differences = ?, repaired = ?, reached = ?, problem = ?, finished_at = ?, updated_at = ?
 WHERE run_id = ? AND status = 'RUNNING' AND started_at = ?`, string(status), x.run.Activities, x.run.Skipped, x.run.Checked,
		x.run.Consistent, x.run.InFlight, x.run.Differences, string(repaired), x.run.reached, problem, finished, now, x.run.ID, x.claim)
	if err != nil {
		return fmt.Errorf("writing run %s: %w", x.run.ID, err)
	}
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		mine := 0 // a row that stood like this already counts as unchanged
		err = x.r.db.QueryRowContext(ctx, `SELECT COUNT(*) FROM reconcile_run WHERE run_id = ? AND started_at = ? AND status = ?`,
			x.run.ID, x.claim, string(status)).Scan(&mine)
		if err == nil && mine == 0 {
			err = errRunLost
		}
	}
	if err != nil {
		return fmt.Errorf("writing run %s: %w", x.run.ID, err)
	}
	x.run.Status = status
	return nil
}

// mendedBytes is what one repair takes in a statement at most.
const mendedBytes = 240

// appendDetail adds single repairs to a run's list, a few at a time so that no statement grows long.
func appendDetail(ctx context.Context, q sqltx.Querier, runID string, list []Mended) error {
	const most = (sqltx.MaxStatement - 1024) / mendedBytes
	for len(list) > 0 {
		page := list[:min(len(list), most)]
		list = list[len(page):]
		text, err := json.Marshal(page)
		if err != nil {
			return fmt.Errorf("writing the repairs of run %s: %w", runID, err)
		}
		tail := string(text[1:])
		_, err = q.ExecContext(ctx, `UPDATE reconcile_run SET detail =
 CONCAT(COALESCE(CONCAT(LEFT(detail, CHAR_LENGTH(detail) - 1), ','), '['), ?) WHERE run_id = ?`, tail, runID)
		if err != nil {
			return fmt.Errorf("writing the repairs of run %s: %w", runID, err)
		}
	}
	return nil
}

// RunDetail reads the single repairs of a run, as far as they are kept: the first ten thousand. It returns ErrRunNotFound.
func RunDetail(ctx context.Context, q sqltx.Querier, id string) ([]Mended, error) {
	var text sql.NullString
	err := q.QueryRowContext(ctx, `SELECT detail FROM reconcile_run WHERE run_id = ?`, id).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrRunNotFound
	}
	var list []Mended
	if err == nil && text.Valid {
		err = json.Unmarshal([]byte(text.String), &list)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the repairs of run %s: %w", id, err)
	}
	return list, nil
}

// caredActivities lists ids after one, in order, of activities on sale and of those that were closed after an instant.
func caredActivities(ctx context.Context, q sqltx.Querier, after string, closedAfter time.Time, limit int) ([]string, error) {
	rows, err := q.QueryContext(ctx, `SELECT activity_id FROM activity WHERE activity_id > ? AND (status IN ('PUBLISHED', 'SUSPENDED')
 OR (status IN ('CLOSED', 'CANCELLED') AND updated_at > ?)) ORDER BY activity_id LIMIT ?`, after, closedAfter, limit)
	if err != nil {
		return nil, fmt.Errorf("reading activities: %w", err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("reading activities: %w", err)
		}
		out = append(out, id)
	}
	return out, rows.Err()
}

package reconcile

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// RequestLoad asks for the activity to be loaded, unless it is by the time that somebody comes to it. It is one conditional insert: while
// a load of the activity is asked for or running, asking again changes nothing. It returns the errors of the database.
func (r *Reconciler) RequestLoad(ctx context.Context, activityID string) error {
	return r.request(ctx, activityID, `INSERT INTO job (job_id, kind, activity_id, status, created_at, updated_at)
 VALUES (?, 'LOAD', ?, 'QUEUED', ?, ?) ON DUPLICATE KEY UPDATE job_id = job_id`)
}

// requestRebuild asks for the activity to be loaded anew also though it is loaded. A load that is asked for already becomes one.
func (r *Reconciler) requestRebuild(ctx context.Context, activityID string) error {
	return r.request(ctx, activityID, `INSERT INTO job (job_id, kind, activity_id, status, created_at, updated_at, parameters)
 VALUES (?, 'LOAD', ?, 'QUEUED', ?, ?, '{"rebuild":true}') ON DUPLICATE KEY UPDATE parameters = '{"rebuild":true}'`)
}

func (r *Reconciler) request(ctx context.Context, activityID, insert string) error {
	now, err := r.db.Now(ctx, r.db)
	if err != nil {
		return err
	}
	if _, err = r.db.ExecContext(ctx, insert, rand.Text(), activityID, now, now); err != nil {
		return fmt.Errorf("asking for a load: %w", err)
	}
	return nil
}

// loadJob is a load that was asked for.
type loadJob struct {
	id, activityID string
	rebuild        bool // also of what is loaded
}

// jobStale is when a job that is RUNNING is taken for abandoned: its runner has at most a minute, and so has the lease of a load.
const jobStale = 2 * time.Minute

// waitingLoads lists loads that are asked for, and those whose runner has died, oldest first.
func (r *Reconciler) waitingLoads(ctx context.Context, limit int) ([]loadJob, error) {
	now, err := r.db.Now(ctx, r.db)
	if err != nil {
		return nil, err
	}
	rows, err := r.db.QueryContext(ctx, `SELECT job_id, activity_id, parameters IS NOT NULL FROM job WHERE kind = 'LOAD' AND status IN ('QUEUED', 'RUNNING')
 AND (status = 'QUEUED' OR updated_at <= ?) ORDER BY created_at, job_id LIMIT ?`, now.Add(-jobStale), limit)
	if err != nil {
		return nil, fmt.Errorf("reading loads asked for: %w", err)
	}
	defer rows.Close()
	var out []loadJob
	for rows.Next() {
		var j loadJob
		if err := rows.Scan(&j.id, &j.activityID, &j.rebuild); err != nil {
			return nil, fmt.Errorf("reading loads asked for: %w", err)
		}
		out = append(out, j)
	}
	return out, rows.Err()
}

// runLoad does a load that was asked for and writes down how it ended. A load that somebody else is doing, or that failed, stays
// asked for, and the next pass tries again; one that can never be done is over. A set that is loaded by now stays as it is: to build it anew
// would turn buyers away, and lose the reservations that Redis alone knows, for a request that has been answered.
func (r *Reconciler) runLoad(ctx context.Context, j loadJob) error {
	if err := r.markJob(ctx, j.id, "RUNNING", ""); err != nil {
		return err
	}
	loaded, err := false, error(nil)
	if !j.rebuild {
		loaded, err = r.isLoaded(ctx, j.activityID)
	}
	if err == nil && !loaded {
		err = r.Load(ctx, j.activityID)
	}
	status, problem := "SUCCEEDED", ""
	if err != nil {
		status, problem = "QUEUED", cut(err.Error(), 500)
		if hopeless(err) {
			status = "FAILED"
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseBudget)
	defer cancel()
	return errors.Join(err, r.markJob(ctx, j.id, status, problem))
}

// markJob moves an active job; the states of jobs are drawn at the table.
func (r *Reconciler) markJob(ctx context.Context, id, status, problem string) error {
	now, err := r.db.Now(ctx, r.db)
	if err != nil {
		return err
	}
	var started, finished, text any
	attempts := 0
	switch status {
	case "RUNNING":
		started, attempts = now, 1
	case "SUCCEEDED", "FAILED":
		finished = now
	}
	if problem != "" {
		text = problem
	}
	_, err = r.db.ExecContext(ctx, `UPDATE job SET status = ?, problem = ?, started_at = COALESCE(?, started_at), finished_at = ?,
 attempts = attempts + ?, updated_at = ? WHERE job_id = ? AND status IN ('QUEUED', 'RUNNING')`,
		status, text, started, finished, attempts, now, id)
	if err != nil {
		return fmt.Errorf("writing job %s: %w", id, err)
	}
	return nil
}

// cut keeps a text within a column of so many characters.
func cut(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most])
}

package certificate

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/reconcile"
	"holdfast/shared/reconcile/invariant"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
)

// kind is the kind of these jobs.
const kind = "CERTIFICATE"

// Bounds of jobs.
const (
	jobStale    = 10 * time.Minute // a job that is RUNNING for longer has lost its runner
	maxAttempts = 5                // then it has FAILED; whoever still wants the certificate asks for it again
	markBudget  = 2 * time.Second  // for writing down how a job ended, also when the time of the run is over
)

// Active gives the job for this activity that is waiting or running, or reconcile.ErrNoJob. It returns the errors of the driver.
func Active(ctx context.Context, q sqltx.Querier, activityID string) (*reconcile.Job, error) {
	return reconcile.ActiveJob(ctx, q, kind, activityID)
}

// Request asks for a certificate that Run makes; while one is waiting or running for the activity it gives that one. It returns the errors
// of the driver.
func Request(ctx context.Context, db *sqltx.DB, activityID, by string) (*reconcile.Job, error) {
	now, err := db.Now(ctx, db)
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, `INSERT INTO job (job_id, kind, activity_id, status, requested_by, created_at, updated_at)
 VALUES (?, ?, ?, 'QUEUED', ?, ?, ?) ON DUPLICATE KEY UPDATE job_id = job_id`, rand.Text(), kind, activityID, by, now, now)
	if err != nil {
		return nil, fmt.Errorf("certificate: request: %w", err)
	}
	return Active(ctx, db, activityID)
}

// RunSummary says what a run of jobs did.
type RunSummary struct {
	Made    int `json:"made"`
	Failed  int `json:"failed"`  // jobs that are over without a certificate
	Waiting int `json:"waiting"` // jobs that could not be done now and are tried again
}

// Run makes the certificates that were asked for, oldest first, until none is left or the budget is over. It is safe side by side: a job
// is claimed by its row. It returns the errors of both stores; why a certificate could not be made stands in its job, too.
func Run(ctx context.Context, db *sqltx.DB, st *stock.Store, budget time.Duration) (sum RunSummary, err error) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	jobs, err := waiting(ctx, db)
	if err != nil {
		return sum, err
	}
	var errs []error
	for _, j := range jobs {
		if ctx.Err() != nil {
			break
		}
		mine, err := claim(ctx, db, j)
		if err != nil {
			return sum, errors.Join(append(errs, err)...)
		}
		if !mine {
			continue
		}
		failure := certify(ctx, db, st, &j)
		if failure != nil && !errors.Is(failure, invariant.ErrNotChecked) {
			errs = append(errs, fmt.Errorf("certificate of %s: %w", j.activityID, failure))
		}
		if err := finish(ctx, db, j, &sum, failure); err != nil {
			return sum, errors.Join(append(errs, err)...)
		}
	}
	return sum, errors.Join(errs...)
}

// job is one that was asked for.
type job struct {
	id, activityID string
	attempts       int
	result         []byte
}

func waiting(ctx context.Context, db *sqltx.DB) ([]job, error) {
	now, err := db.Now(ctx, db)
	if err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, `SELECT job_id, activity_id, attempts FROM job WHERE kind = ? AND status IN ('QUEUED', 'RUNNING')
 AND (status = 'QUEUED' OR updated_at <= ?) ORDER BY created_at, job_id LIMIT 100`, kind, now.Add(-jobStale))
	if err != nil {
		return nil, fmt.Errorf("certificate: read jobs: %w", err)
	}
	defer rows.Close()
	var out []job
	for rows.Next() {
		var j job
		if err := rows.Scan(&j.id, &j.activityID, &j.attempts); err != nil {
			return nil, fmt.Errorf("certificate: read jobs: %w", err)
		}
		out = append(out, j)
	}
	return out, rows.Err()
}

// claim makes a job RUNNING for this caller alone: attempts is what the caller read, and rises.
func claim(ctx context.Context, db *sqltx.DB, j job) (bool, error) {
	now, err := db.Now(ctx, db)
	if err != nil {
		return false, err
	}
	result, err := db.ExecContext(ctx, `UPDATE job SET status = 'RUNNING', started_at = ?, attempts = attempts + 1, updated_at = ?
 WHERE job_id = ? AND status IN ('QUEUED', 'RUNNING') AND attempts = ?`, now, now, j.id, j.attempts)
	if err != nil {
		return false, fmt.Errorf("certificate: claim a job: %w", err)
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// certify makes and keeps one certificate.
func certify(ctx context.Context, db *sqltx.DB, st *stock.Store, j *job) error {
	c, err := Make(ctx, db, st, j.activityID)
	if err != nil {
		return err
	}
	if err := Keep(ctx, db, c); err != nil {
		return err
	}
	j.result, err = json.Marshal(c)
	return err
}

// finish writes down how a job ended. A set that is not whole, a store that was away, and time that was over may be otherwise at the next
// try.
func finish(ctx context.Context, db *sqltx.DB, j job, sum *RunSummary, failure error) error {
	status, problem, result, finished := "SUCCEEDED", any(nil), any(nil), true
	switch {
	case failure == nil:
		sum.Made++
		result = string(j.result)
	case j.attempts+1 < maxAttempts && !errors.Is(failure, catalog.ErrNotFound):
		sum.Waiting++
		status, problem, finished = "QUEUED", whyNot(failure), false
	default:
		sum.Failed++
		status, problem = "FAILED", whyNot(failure)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markBudget)
	defer cancel()
	now, err := db.Now(ctx, db)
	if err != nil {
		return err
	}
	end := any(nil)
	if finished {
		end = now
	}
	_, err = db.ExecContext(ctx, `UPDATE job SET status = ?, problem = ?, result = ?, finished_at = ?, updated_at = ?
 WHERE job_id = ? AND status = 'RUNNING' AND attempts = ?`, status, problem, result, end, now, j.id, j.attempts+1)
	if err != nil {
		return fmt.Errorf("certificate: write a job: %w", err)
	}
	return nil
}

// whyNot says why there is no certificate, in words for operators: what a driver says stays in the log.
func whyNot(err error) string {
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return "there is no such activity"
	case errors.Is(err, invariant.ErrNotChecked):
		return "the activity is not whole in Redis; it is being loaded, or waits for it"
	case errors.Is(err, context.DeadlineExceeded):
		return "the time of one run was not enough"
	}
	return "a store could not be read"
}

package reconcile

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/sqltx"
)

// ErrNoJob is returned for an id that no job has, and for an activity without an active job of the kind.
var ErrNoJob = errors.New("reconcile: no such job")

// Job is work that outlasts a request, as it stands in the database.
type Job struct {
	ID         string
	Kind       string // LOAD, CERTIFICATE
	ActivityID string // "" of a job for no activity
	Status     string // QUEUED, RUNNING, SUCCEEDED or FAILED
	Done       int64  // steps
	Total      *int64 // steps in all; nil: not known
	Result     json.RawMessage
	Problem    string // what went wrong last
	CreatedAt  time.Time
	StartedAt  *time.Time
	FinishedAt *time.Time
}

const jobColumns = `SELECT job_id, kind, activity_id, status, done, total, result, problem, created_at, started_at, finished_at FROM job`

// GetJob reads a job. It returns ErrNoJob and the errors of the driver.
func GetJob(ctx context.Context, q sqltx.Querier, id string) (*Job, error) {
	return scanJob(q.QueryRowContext(ctx, jobColumns+` WHERE job_id = ?`, id))
}

// ActiveJob reads the job of a kind that is waiting or running for an activity: there is one at most. It returns ErrNoJob and the errors of
// the driver.
func ActiveJob(ctx context.Context, q sqltx.Querier, kind, activityID string) (*Job, error) {
	return scanJob(q.QueryRowContext(ctx, jobColumns+` WHERE kind = ? AND activity_id = ? AND active = 1`, kind, activityID))
}

func scanJob(row *sql.Row) (*Job, error) {
	var j Job
	var activityID, problem sql.NullString
	var total sql.NullInt64
	var result []byte
	var started, finished sql.NullTime
	err := row.Scan(&j.ID, &j.Kind, &activityID, &j.Status, &j.Done, &total, &result, &problem, &j.CreatedAt, &started, &finished)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrNoJob
	}
	if err != nil {
		return nil, fmt.Errorf("reconcile: read a job: %w", err)
	}
	j.ActivityID, j.Problem, j.Result = activityID.String, problem.String, json.RawMessage(result)
	if total.Valid {
		j.Total = &total.Int64
	}
	if started.Valid {
		j.StartedAt = &started.Time
	}
	if finished.Valid {
		j.FinishedAt = &finished.Time
	}
	return &j, nil
}

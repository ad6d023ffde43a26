package export

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/catalog"
	"holdfast/shared/reconcile"
	"holdfast/shared/sqltx"
)

// jobKind is the kind of these jobs.
const jobKind = "EXPORT"

// Bounds of jobs.
const (
	jobStale    = 3 * time.Minute // a job that is RUNNING without a sign of life for so long has lost its runner
	maxFailures = 10              // runs in a row without a part written; then it has FAILED, and whoever still wants the file asks again
	maxIdle     = 10              // runs in a row that came no further though each had enough time; then it has FAILED, too
	enoughTime  = 10 * time.Second
	markBudget  = 2 * time.Second // for writing down how a run ended, also when its time is over
	linkLasts   = time.Hour       // how long the link in a result can be used
)

// ErrUnknownActivity is returned for an export of an activity that there is not.
var ErrUnknownActivity = catalog.ErrNotFound

// Wish is what somebody wants to have written.
type Wish struct {
	Kind       Kind       `json:"kind"`
	ActivityID string     `json:"activityId,omitempty"` // "": of all
	From       *time.Time `json:"from,omitempty"`       // inclusive; nil: from the beginning
	To         *time.Time `json:"to,omitempty"`         // exclusive; nil: to the end
}

// state is what a job's parameters keep: the wish, and how far the file is.
type state struct {
	Wish
	After    []byte   `json:"after,omitempty"`    // key of the last row that was read into a finished part or the lines held
	Held     []byte   `json:"held,omitempty"`     // lines that are in no part yet
	Upload   string   `json:"upload,omitempty"`   // of the store
	Parts    []string `json:"parts,omitempty"`    // what the store answered for each finished part
	Rows     int64    `json:"rows"`               // in finished parts and held
	Hash     []byte   `json:"hash,omitempty"`     // state of the SHA-256 over them
	Whole    bool     `json:"whole,omitempty"`    // the last part is among them
	Failures int      `json:"failures,omitempty"` // in a row
	Idle     int      `json:"idle,omitempty"`     // runs in a row that came no further
}

// Result is what a finished export gives.
type Result struct {
	URL       string `json:"url"`
	ExpiresAt string `json:"expiresAt"`
	Rows      int64  `json:"rows"` // without the first line, which names the columns
	SHA256    string `json:"sha256"`
}

// Request asks for an export that Run writes, with an audit row in the same transaction. It returns ErrUnknownActivity and the errors of
// the database.
func Request(ctx context.Context, db *sqltx.DB, w Wish, by audit.Entry) (*reconcile.Job, error) {
	if w.ActivityID != "" {
		if _, err := catalog.Get(ctx, db, w.ActivityID); err != nil {
			return nil, err
		}
	}
	parameters, err := json.Marshal(state{Wish: w})
	if err != nil {
		return nil, fmt.Errorf("export: request: %w", err)
	}
	id := rand.Text()
	insert := func(ctx context.Context, tx *sql.Tx) error {
		now, err := db.Now(ctx, tx)
		if err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, `INSERT INTO job (job_id, kind, status, parameters, requested_by, created_at, updated_at)
 VALUES (?, ?, 'QUEUED', ?, ?, ?, ?) ON DUPLICATE KEY UPDATE job_id = job_id`, id, jobKind, string(parameters), by.Operator, now, now)
		if err != nil {
			return fmt.Errorf("export: request: %w", err)
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return err // it was committed before
		}
		entry := by
		entry.At = now
		return audit.Add(ctx, tx, entry)
	}
	err = db.Run(ctx, insert)
	if errors.Is(err, sqltx.ErrCommitUnclear) {
		err = db.Run(ctx, insert)
	}
	if err != nil {
		return nil, err
	}
	return reconcile.GetJob(ctx, db, id)
}

// job is one that is claimed by this run: attempts tells its claim from a later one.
type job struct {
	id        string
	attempts  int
	claimedAt time.Time
	begun     []byte // After as it was then
	state
}

// waiting lists the ids of jobs that nobody is at, those first that were left alone for longest.
func waiting(ctx context.Context, db *sqltx.DB) ([]string, error) {
	now, err := db.Now(ctx, db)
	if err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, `SELECT job_id FROM job WHERE kind = ? AND status IN ('QUEUED', 'RUNNING')
 AND (status = 'QUEUED' OR updated_at <= ?) ORDER BY updated_at, job_id LIMIT 100`, jobKind, now.Add(-jobStale))
	if err != nil {
		return nil, fmt.Errorf("export: read jobs: %w", err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("export: read jobs: %w", err)
		}
		out = append(out, id)
	}
	return out, rows.Err()
}

// claim makes a job RUNNING for this run alone; nil when somebody else was faster.
func claim(ctx context.Context, db *sqltx.DB, id string) (*job, error) {
	j := &job{id: id}
	var text string
	err := db.QueryRowContext(ctx, `SELECT attempts, parameters FROM job WHERE job_id = ?`, id).Scan(&j.attempts, &text)
	if err == nil {
		err = json.Unmarshal([]byte(text), &j.state)
	}
	if err != nil {
		return nil, fmt.Errorf("export: read job %s: %w", id, err)
	}
	now, err := db.Now(ctx, db)
	if err != nil {
		return nil, err
	}
	result, err := db.ExecContext(ctx, `UPDATE job SET status = 'RUNNING', started_at = COALESCE(started_at, ?), attempts = attempts + 1,
 updated_at = ? WHERE job_id = ? AND attempts = ? AND (status = 'QUEUED' OR (status = 'RUNNING' AND updated_at <= ?))`,
		now, now, id, j.attempts, now.Add(-jobStale))
	if err != nil {
		return nil, fmt.Errorf("export: claim job %s: %w", id, err)
	}
	j.attempts++
	j.claimedAt, j.begun = now, j.After
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return nil, err
	}
	return j, nil
}

// errLost is returned when somebody else has taken the job over.
var errLost = errors.New("export: the job was taken over by somebody else")

// save writes how far the job is. It returns errLost when the claim is another one by now.
func (j *job) save(ctx context.Context, db *sqltx.DB, status string, result *Result, problem string) error {
	now, err := db.Now(ctx, db)
	if err != nil {
		return err
	}
	text, err := json.Marshal(j.state)
	if err != nil {
		return fmt.Errorf("export: write job %s: %w", j.id, err)
	}
	var finished, outcome, why any
	if status == "SUCCEEDED" || status == "FAILED" {
		finished = now
	}
	if result != nil {
		body, err := json.Marshal(result)
		if err != nil {
			return fmt.Errorf("export: write job %s: %w", j.id, err)
		}
		outcome = string(body)
	}
	if problem != "" {
		why = problem
	}
	changed, err := db.ExecContext(ctx, `UPDATE job SET status = ?, parameters = ?, done = ?, result = ?, problem = ?, finished_at = ?,
 updated_at = GREATEST(updated_at + INTERVAL 1000 MICROSECOND, ?) WHERE job_id = ? AND status = 'RUNNING' AND attempts = ?`,
		status, string(text), j.Rows, outcome, why, finished, now, j.id, j.attempts)
	if err != nil {
		return fmt.Errorf("export: write job %s: %w", j.id, err)
	}
	if n, err := changed.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, errLost)
	}
	return nil
}

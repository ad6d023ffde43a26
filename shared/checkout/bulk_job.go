package checkout

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// Kinds of jobs that go through a sale's orders.
const (
	JobCallOff = "CALL_OFF"
	JobExtend  = "EXTEND_DEADLINES"
)

// bulkPage is how many orders one transaction of a job takes.
const bulkPage = 50

// bulkJob is a job that goes through the orders of a sale page by page. Its row is locked by the transaction of each page and says where
// the next begins, so that a page is done once, whoever runs the job and however often it is killed.
type bulkJob struct {
	id, kind, activityID, status string
	parameters                   json.RawMessage
	at                           progress
	createdAt                    time.Time
}

// progress is how far a job has come; its first two members are left out of the result of one that has ended.
type progress struct {
	Status    order.Status  `json:"status,omitempty"` // of the orders that it goes through now
	After     *sale.OrderID `json:"after,omitempty"`  // the last one of them that is done
	Cancelled int64         `json:"cancelled,omitempty"`
	Refunds   int64         `json:"refunds,omitempty"`
	Extended  int64         `json:"extended,omitempty"`
	Skipped   int64         `json:"skipped,omitempty"` // were ended, or moved, by somebody else
	Failed    int64         `json:"failed,omitempty"`  // could not be done, and a person was alerted
}

// bulkJobID names the job that a cause brings about in a sale, once.
func bulkJobID(kind, activityID, cause string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + activityID + "\x00" + cause))
	return "job_" + hex.EncodeToString(sum[:20])
}

// errJobBeside is returned when another job of the kind is waiting or running for the sale.
var errJobBeside = errors.New("checkout: another job of this kind is under way for the sale")

// addBulkJob asks for a job, in the transaction that makes it necessary. One that is there stays as it is: then it is not added. It returns
// errJobBeside.
func addBulkJob(ctx context.Context, tx *sql.Tx, j bulkJob, total int64, requestedBy string, now time.Time) (added bool, err error) {
	at, err := json.Marshal(j.at)
	if err != nil {
		return false, fmt.Errorf("checkout: write a job: %w", err)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO job (job_id, kind, activity_id, status, parameters, total, result, requested_by, created_at,
 updated_at) VALUES (?, ?, ?, 'QUEUED', ?, ?, ?, ?, ?, ?)`, j.id, j.kind, j.activityID, string(j.parameters), total, string(at),
		requestedBy, now, now)
	switch key, duplicate := sqltx.DuplicateKey(err); {
	case duplicate && key == "job_active":
		return false, errJobBeside
	case duplicate:
		return false, nil
	case err != nil:
		return false, fmt.Errorf("checkout: ask for a job: %w", err)
	}
	return true, nil
}

// lockBulkJob reads a job and locks its row. It returns sql.ErrNoRows for an id without one.
func lockBulkJob(ctx context.Context, tx *sql.Tx, id string) (*bulkJob, error) {
	j := bulkJob{id: id}
	var parameters, at []byte
	err := tx.QueryRowContext(ctx, `SELECT kind, activity_id, status, parameters, result, created_at FROM job WHERE job_id = ? FOR UPDATE`,
		id).Scan(&j.kind, &j.activityID, &j.status, &parameters, &at, &j.createdAt)
	if err != nil {
		return nil, fmt.Errorf("checkout: read a job: %w", err)
	}
	j.parameters = parameters
	if err := json.Unmarshal(at, &j.at); err != nil {
		return nil, fmt.Errorf("checkout: read job %s: %w", id, err)
	}
	return &j, nil
}

// save writes how far a locked job has come, n orders further, and whether it has ended.
func (j *bulkJob) save(ctx context.Context, tx *sql.Tx, n int64, ended bool, now time.Time) error {
	status, finished := "RUNNING", any(nil)
	if ended {
		status, finished = "SUCCEEDED", now
		j.at.Status, j.at.After = "", nil
	}
	at, err := json.Marshal(j.at)
	if err != nil {
		return fmt.Errorf("checkout: write job %s: %w", j.id, err)
	}
	// What was added since the total was counted counts as well. Assignments take effect from left to right.
	_, err = tx.ExecContext(ctx, `UPDATE job SET done = done + ?, total = GREATEST(total, done), status = ?, result = ?, problem = NULL,
 started_at = COALESCE(started_at, ?), finished_at = ?, updated_at = ? WHERE job_id = ? AND status IN ('QUEUED', 'RUNNING')`,
		n, status, string(at), now, finished, now, j.id)
	if err != nil {
		return fmt.Errorf("checkout: write job %s: %w", j.id, err)
	}
	j.status = status
	return nil
}

// ended says whether nothing is left to do for a job.
func (j *bulkJob) ended() bool { return j.status == "SUCCEEDED" || j.status == "FAILED" }

// after is the last order that is done; zero for none.
func (p *progress) after() (id sale.OrderID) {
	if p.After != nil {
		id = *p.After
	}
	return id
}

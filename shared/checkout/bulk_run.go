package checkout

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/alert"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// bulkWork is what a kind of job does, in a transaction that has locked the job and its sale.
type bulkWork struct {
	// page does orders that are in the job's state, behind its last one, and moves that one. n is how many are done; follow, which may be
	// nil, comes after the commit.
	page func(ctx context.Context, tx *sql.Tx, a *sale.Activity, j *bulkJob, ids []sale.OrderID) (n int64, follow func(context.Context), err error)
	// end is called when no such order is left.
	end func(ctx context.Context, tx *sql.Tx, a *sale.Activity, j *bulkJob, now time.Time) (bulkEnd, error)
}

// bulkEnd says what comes after the last order of a state.
type bulkEnd int

const (
	bulkGoesOn bulkEnd = iota // with those of another state
	bulkEnded                 // nothing
	bulkStuck                 // the next pass begins again
)

// workOf gives what a job does; nil once nothing is left to do.
func (c *Checkout) workOf(a *sale.Activity, j *bulkJob) (*bulkWork, error) {
	if j.kind == JobCallOff {
		return &bulkWork{page: c.callOffPage, end: c.endCallOff}, nil
	}
	if a.CancelledAt != nil { // the call-off's job gives all back
		return nil, nil
	}
	return c.extending(j)
}

// RunBulkJobs goes on with every job that was asked for, a page of each in turn, until they have ended or ctx does, which is no error. It
// returns how many have ended by it, with the errors; a job that failed stays where it is, and the next pass goes on.
func (c *Checkout) RunBulkJobs(ctx context.Context) (ended int, err error) {
	ids, err := sqltx.Collect(ctx, c.db, sqltx.Column[string], `SELECT job_id FROM job WHERE kind IN ('CALL_OFF', 'EXTEND_DEADLINES')
 AND status IN ('QUEUED', 'RUNNING') ORDER BY created_at, job_id LIMIT 100`)
	if err != nil {
		return 0, fmt.Errorf("checkout: read jobs: %w", err)
	}
	var errs []error
	for len(ids) > 0 {
		var left []string
		for _, id := range ids {
			over, err := c.bulkStep(ctx, id)
			switch {
			case ctx.Err() != nil: // the time is up
				if over && err == nil {
					ended++
				}
				return ended, errors.Join(errs...)
			case err != nil:
				errs = append(errs, fmt.Errorf("job %s: %w", id, err), c.noteProblem(ctx, id))
			case over:
				ended++
			default:
				left = append(left, id)
			}
		}
		ids = left
	}
	return ended, errors.Join(errs...)
}

// noteProblem keeps that a job could not go on; why stands in the log.
func (c *Checkout) noteProblem(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteBudget)
	defer cancel()
	_, err := c.db.ExecContext(ctx, `UPDATE job SET problem = 'a page could not be done; the next pass goes on'
 WHERE job_id = ? AND status IN ('QUEUED', 'RUNNING')`, id)
	return err
}

// RunBulkJob goes on with one job until it has ended. Several may run the same job: their pages follow each other.
func (c *Checkout) RunBulkJob(ctx context.Context, id string) error {
	for {
		ended, err := c.bulkStep(ctx, id)
		if err != nil || ended {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// bulkStep does one page of a job, or half of it, and so on, so that an order whose rows are to blame is found. That one is passed by.
func (c *Checkout) bulkStep(ctx context.Context, id string) (ended bool, err error) {
	for limit := bulkPage; ; {
		ended, tried, err := c.bulkPage(ctx, id, limit)
		switch n := len(tried.ids); {
		case err == nil || n == 0 || !liesInRows(ctx, err):
			return ended, err
		case n > 1:
			limit = n / 2
		case sqltx.Retryable(err): // somebody else holds its rows
			return false, err
		default:
			c.log.Error("a job passes an order by", "jobId", id, "orderId", tried.ids[0], "error", err)
			return false, c.passBy(ctx, id, tried)
		}
	}
}

// triedPage is a page that a job went to do, and where the job stood.
type triedPage struct {
	ids  []sale.OrderID
	from progress
}

// bulkPage does up to limit orders of a job and what follows their commit. After an error tried holds those that it went to do.
func (c *Checkout) bulkPage(ctx context.Context, id string, limit int) (ended bool, tried triedPage, err error) {
	var follow func(context.Context)
	end := bulkGoesOn
	err = c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		ended, follow, end, tried = false, nil, bulkGoesOn, triedPage{}
		j, err := lockBulkJob(ctx, tx, id)
		if err != nil || j.ended() {
			ended = err == nil
			return err
		}
		a, err := c.lockActivity(ctx, tx, j.activityID)
		if err != nil {
			return err
		}
		work, err := c.workOf(a, j)
		if err != nil {
			return err
		}
		var ids []sale.OrderID
		if work != nil {
			if ids, err = order.Standing(ctx, tx, a.Number, j.at.Status, j.at.after(), limit); err != nil {
				return err
			}
		}
		var n int64
		if len(ids) > 0 {
			tried = triedPage{ids, j.at}
			if n, follow, err = work.page(ctx, tx, a, j, ids); err != nil {
				return err
			}
		}
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		switch {
		case work == nil:
			end = bulkEnded
		case len(ids) == 0:
			if end, err = work.end(ctx, tx, a, j, now); err != nil {
				return err
			}
		}
		ended = end == bulkEnded
		return j.save(ctx, tx, n, ended, now)
	})
	if err == nil && follow != nil {
		follow(ctx)
	}
	if err == nil && end == bulkStuck {
		return false, triedPage{}, errStillLive
	}
	return ended, tried, err
}

// jobOrderFailed is raised for an order that a job could not do and has passed by.
const jobOrderFailed alert.Kind = "JOB_ORDER_FAILED"

// passBy has a job leave out the one order that it tried, and a person look at it; unless whoever runs the job beside has moved it on.
func (c *Checkout) passBy(ctx context.Context, id string, tried triedPage) error {
	failed := tried.ids[0]
	return c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		j, err := lockBulkJob(ctx, tx, id)
		if err != nil || j.ended() || j.at.Status != tried.from.Status || j.at.after() != tried.from.after() {
			return err
		}
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		j.at.After = &failed
		j.at.Failed++
		if err := alert.Raise(ctx, tx, alert.Alert{Kind: jobOrderFailed, Subject: failed.String(), ActivityID: j.activityID,
			Evidence: map[string]any{"jobId": j.id, "kind": j.kind}}, now); err != nil {
			return err
		}
		return j.save(ctx, tx, 0, false, now)
	})
}

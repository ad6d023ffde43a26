package reconcile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/catalog"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// Mode says whether a run mends what it can.
type Mode string

// The modes there are. A dry run reads only: it lists what a repairing run would do.
const (
	DryRun    Mode = "DRY_RUN"
	Repairing Mode = "REPAIR"
)

// Cause is why there is a run.
type Cause string

// The causes there are. A scheduled run passes over activities that have not moved since they were last found consistent.
const (
	BySchedule Cause = "SCHEDULE"
	ByOperator Cause = "OPERATOR"
	ByEvidence Cause = "EVIDENCE" // of a loss in Redis
)

// RunStatus is where a run stands: QUEUED -> RUNNING -> SUCCEEDED or FAILED; RUNNING -> QUEUED when its time is over, to be gone on with.
type RunStatus string

// The states there are.
const (
	StatusQueued    RunStatus = "QUEUED"
	StatusRunning   RunStatus = "RUNNING"
	StatusSucceeded RunStatus = "SUCCEEDED"
	StatusFailed    RunStatus = "FAILED"
)

// RunRequest asks for a full reconcile.
type RunRequest struct {
	ActivityID  string // "" for all that are cared for
	Mode        Mode
	Cause       Cause
	RequestedBy string       // the operator; "" for a function
	Entry       *audit.Entry // of that operator, written in the transaction that makes the run; At is filled in
}

// MendKind is what a run mends.
type MendKind string

// The kinds there are.
const (
	MendRelease    MendKind = "RELEASE"    // a CANCELLED order whose units Redis still holds
	MendAdopt      MendKind = "ADOPT"      // a live order that Redis lost
	MendAck        MendKind = "ACK"        // a live order that Redis has in other buckets
	MendCreate     MendKind = "CREATE"     // a reservation without a row that is past its grace
	MendAdjustment MendKind = "ADJUSTMENT" // a change of capacity, or its taking back, that Redis lost
	MendSuspend    MendKind = "SUSPEND"    // the sale, because MySQL disagrees with itself
)

// Mended is one thing that a run mended, or would mend.
type Mended struct {
	Kind         MendKind      `json:"kind"`
	ActivityID   string        `json:"activityId"`
	OrderID      *sale.OrderID `json:"orderId,omitempty"`
	AdjustmentID string        `json:"adjustmentId,omitempty"`
}

// Run is one run of the full reconcile.
type Run struct {
	ID          string
	ActivityID  string // "" for all
	Mode        Mode
	Cause       Cause
	Status      RunStatus
	Activities  int // looked at
	Skipped     int // had not moved since they were last found consistent
	Checked     int64
	Consistent  int64
	InFlight    int64
	Differences int
	Repaired    map[MendKind]int
	Problem     string // what went wrong last; "" nothing
	RequestedBy string
	CreatedAt   time.Time
	StartedAt   *time.Time
	FinishedAt  *time.Time

	reached string // the activity that a run of all has done last
}

// ErrRunNotFound is returned for an id that no run has.
var ErrRunNotFound = errors.New("reconcile: there is no such run")

// Reconcile runs the full reconcile of one activity, or of all that are cared for, until it is done or the time of ctx is over; then the
// run stays QUEUED and RunQueued goes on with it. While a run for the same is queued or running there is no second one: that one is gone
// on with, or, if somebody else is at it, answered as it stands. It returns the run as it stands in the end, with an error
// only when there is none: catalog.ErrNotFound for an unknown activity, ErrNotPublished for a draft, and the errors of the database.
func (r *Reconciler) Reconcile(ctx context.Context, w RunRequest) (Run, error) {
	if w.ActivityID != "" {
		a, err := catalog.Get(ctx, r.db, w.ActivityID)
		if err != nil {
			return Run{}, err
		}
		if a.Status == sale.Draft {
			return Run{}, ErrNotPublished
		}
	}
	run, err := r.ask(ctx, w)
	if err != nil {
		return Run{}, err
	}
	return r.execute(ctx, run)
}

// ask inserts a run unless there is an active one for the same, and gives the one that is there.
func (r *Reconciler) ask(ctx context.Context, w RunRequest) (run Run, err error) {
	insert := func(ctx context.Context, tx *sql.Tx) error {
		now, err := r.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		made, err := insertRun(ctx, tx, w, now)
		if err != nil {
			return err
		}
		if run, err = activeRun(ctx, tx, w.ActivityID); err != nil || !made || w.Entry == nil {
			return err
		}
		entry := *w.Entry
		entry.At = now
		return audit.Add(ctx, tx, entry)
	}
	err = r.db.Run(ctx, insert)
	if errors.Is(err, sqltx.ErrCommitUnclear) { // it finds out whether the first one was committed
		err = r.db.Run(ctx, insert)
	}
	return run, err
}

// runStale is when a run that is RUNNING is taken for abandoned: its runner gives a sign of life far more often.
const runStale = 2 * time.Minute

// maxQueued bounds how many runs one call takes up.
const maxQueued = 100

// RunQueued does the runs of the full reconcile that wait, and those whose runner has died, oldest first, for as long as the budget
// lasts, and counts those that ended. It returns the errors of the database; what a run could not do stands in its row.
func (r *Reconciler) RunQueued(ctx context.Context, budget time.Duration) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	now, err := r.db.Now(ctx, r.db)
	if err != nil {
		return 0, err
	}
	waiting, err := waitingRuns(ctx, r.db, now.Add(-runStale), maxQueued)
	if err != nil {
		return 0, err
	}
	for _, run := range waiting {
		if ctx.Err() != nil {
			return n, nil
		}
		done, err := r.execute(ctx, run)
		if err != nil {
			return n, err
		}
		if done.Status == StatusSucceeded || done.Status == StatusFailed {
			n++
		}
	}
	return n, nil
}

// runner executes one run. Its claim is the instant at which it started: whoever takes the run over starts later.
type runner struct {
	r        *Reconciler
	run      Run
	claim    time.Time
	beatAt   time.Time
	problems []error
	again    bool // some of it could not be judged now and must be looked at again
}

// execute takes a waiting run up, does as much of it as the time of ctx allows, and gives it as it stands then.
func (r *Reconciler) execute(ctx context.Context, run Run) (Run, error) {
	now, err := r.db.Now(ctx, r.db)
	if err != nil {
		return run, err
	}
	claimed, err := claimRun(ctx, r.db, run.ID, now, now.Add(-runStale))
	if err != nil {
		return run, err
	}
	if run, err = GetRun(ctx, r.db, run.ID); err != nil || !claimed {
		return run, err
	}
	if run.Repaired == nil {
		run.Repaired = make(map[MendKind]int)
	}
	run.Problem = ""
	x := &runner{r: r, run: run, claim: now, beatAt: now}
	x.work(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseBudget)
	defer cancel()
	if err := x.finish(ctx); err != nil {
		return x.run, err
	}
	return GetRun(ctx, r.db, run.ID)
}

// work does the activities of the run, as far as the time of ctx allows.
func (x *runner) work(ctx context.Context) {
	if x.run.ActivityID != "" {
		x.again = x.one(ctx, x.run.ActivityID)
		return
	}
	for {
		page, err := x.nextActivities(ctx)
		if err != nil {
			x.fail(err)
			x.again = true
			return
		}
		if len(page) == 0 {
			return
		}
		for _, id := range page {
			left := x.one(ctx, id)
			if ctx.Err() != nil {
				x.again = true // the run goes on at this activity
				return
			}
			if left && x.run.Mode == Repairing {
				x.note(x.reportAgain(ctx, id))
			}
			x.run.reached = id
			if err := x.save(ctx, StatusRunning, nil); err != nil {
				x.fail(err)
				x.again = true
				return
			}
		}
	}
}

// reportAgain asks for a run of its own for an activity that a run of all could not judge.
func (x *runner) reportAgain(ctx context.Context, activityID string) error {
	_, err := x.r.ask(ctx, RunRequest{ActivityID: activityID, Mode: Repairing, Cause: x.run.Cause})
	return err
}

// one does one activity; again says that it must be looked at once more.
func (x *runner) one(ctx context.Context, activityID string) (again bool) {
	err := x.reconcile(ctx, activityID)
	switch {
	case errors.Is(err, errLeased):
		x.note(fmt.Errorf("%s: somebody else is at it", activityID))
		return x.run.ActivityID != "" // a run of all leaves it to that one
	case errors.Is(err, errMoved):
		x.note(fmt.Errorf("%s: %w", activityID, errMoved))
		return true
	case err != nil:
		x.fail(fmt.Errorf("%s: %w", activityID, err))
		return true
	}
	return false
}

// note keeps something that does not make the run a failure.
func (x *runner) note(err error) {
	if err != nil {
		x.run.Problem = cut(err.Error(), 500)
	}
}

// fail keeps what makes it one.
func (x *runner) fail(err error) {
	x.note(err)
	x.problems = append(x.problems, err)
	x.r.log.Error("a full reconcile met an error", "run", x.run.ID, "error", err)
}

// runGivenUp is how long a run that meets errors is gone on with. The schedule looks again anyway.
const runGivenUp = 6 * time.Minute

// finish writes how the run stands now: done, or waiting to be gone on with.
func (x *runner) finish(ctx context.Context) error {
	now, err := x.r.db.Now(ctx, x.r.db)
	if err != nil {
		return err
	}
	hopeless := len(x.problems) > 0 && now.Sub(x.run.CreatedAt) > runGivenUp
	switch {
	case x.again && !hopeless:
		return x.save(ctx, StatusQueued, nil)
	case len(x.problems) > 0:
		return x.save(ctx, StatusFailed, &now)
	}
	return x.save(ctx, StatusSucceeded, &now)
}

// beatEvery is how often a runner shows that it lives.
const beatEvery = 10 * time.Second

// beat shows that the runner lives. It returns errRunLost when the run is somebody else's by now.
func (x *runner) beat(ctx context.Context) error {
	now, err := x.r.db.Now(ctx, x.r.db)
	if err != nil || now.Sub(x.beatAt) < beatEvery {
		return err
	}
	x.beatAt = now
	return x.save(ctx, StatusRunning, nil)
}

// mended keeps what was mended, or would be.
func (x *runner) mended(ctx context.Context, list []Mended) error {
	room := maxListed - x.kept()
	for _, m := range list {
		x.run.Repaired[m.Kind]++
	}
	return appendDetail(ctx, x.r.db, x.run.ID, list[:min(len(list), max(0, room))])
}

// maxListed is how many single repairs a run lists; all are counted.
const maxListed = 10_000

func (x *runner) kept() int {
	n := 0
	for _, count := range x.run.Repaired {
		n += count
	}
	return min(n, maxListed)
}

// Cared says whether repair still looks at the activity by itself: it is on sale, or was closed within the last thirty days. now is the
// clock of the database.
func Cared(a *sale.Activity, now time.Time) bool {
	return a.Status != sale.Draft && (onSale(a) || a.UpdatedAt.After(now.Add(-closedCare)))
}

// nextActivities gives the ids of the next page of activities that are cared for, in order of id.
func (x *runner) nextActivities(ctx context.Context) ([]string, error) {
	now, err := x.r.db.Now(ctx, x.r.db)
	if err != nil {
		return nil, err
	}
	return caredActivities(ctx, x.r.db, x.run.reached, now.Add(-closedCare), activityPage)
}

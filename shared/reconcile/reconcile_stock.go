package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// ReconcileConfig sets bounds of the job; a zero field takes its default.
type ReconcileConfig struct {
	Budget time.Duration // how long a pass may take; 45 s
}

// ReconcileSummary says what a pass did. The counts are those of the scheduled run, which another pass may have begun.
type ReconcileSummary struct {
	RunID       string           `json:"runId"`
	Status      RunStatus        `json:"status"`
	Activities  int              `json:"activities"`
	Skipped     int              `json:"skipped"`
	Checked     int64            `json:"checked"`
	Consistent  int64            `json:"consistent"`
	InFlight    int64            `json:"inFlight"`
	Repaired    map[MendKind]int `json:"repaired"`
	Differences int              `json:"differences"`
	Others      int              `json:"others"` // other runs that waited and were done
}

// ReconcileStock is the scheduled job of the full reconcile.
type ReconcileStock struct {
	r   *Reconciler
	cfg ReconcileConfig
}

// NewReconcileStock makes the job.
func NewReconcileStock(r *Reconciler, cfg ReconcileConfig) *ReconcileStock {
	cfg.Budget = cmp.Or(cfg.Budget, 45*time.Second)
	return &ReconcileStock{r: r, cfg: cfg}
}

// Run makes one pass over all activities that are cared for, then does the runs that wait. What its time does not suffice for waits for
// the next one. It returns the errors of the database, and those that the run itself met.
func (j *ReconcileStock) Run(ctx context.Context) (ReconcileSummary, error) {
	ctx, cancel := context.WithTimeout(ctx, j.cfg.Budget)
	defer cancel()
	ends := time.Now().Add(j.cfg.Budget)
	var sum ReconcileSummary
	policy := InTimeLeft(ctx, func() error { return j.r.watchEviction(ctx) })
	err := InTimeLeft(ctx, func() error {
		run, err := j.r.Reconcile(ctx, RunRequest{Mode: Repairing, Cause: BySchedule})
		sum = ReconcileSummary{RunID: run.ID, Status: run.Status, Activities: run.Activities, Skipped: run.Skipped, Checked: run.Checked,
			Consistent: run.Consistent, InFlight: run.InFlight, Repaired: run.Repaired, Differences: run.Differences}
		if err == nil && run.Status == StatusFailed {
			err = fmt.Errorf("the run %s failed: %s", run.ID, run.Problem)
		}
		return err
	})
	err2 := InTimeLeft(ctx, func() (err error) { sum.Others, err = j.r.RunQueued(ctx, max(0, time.Until(ends))); return err })
	return sum, errors.Join(policy, err, err2)
}

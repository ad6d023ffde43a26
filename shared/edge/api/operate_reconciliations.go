package api

import (
	"context"
	"net/http"
	"time"

	"holdfast/shared/reconcile"
)

// runBudget is how long a reconciliation may take before the answer says that it goes on by itself.
const runBudget = 20 * time.Second

// runView is a reconciliation as operators see it.
type runView struct {
	ReconciliationID string              `json:"reconciliationId"`
	ActivityID       string              `json:"activityId,omitempty"`
	Mode             reconcile.Mode      `json:"mode"`
	Cause            reconcile.Cause     `json:"cause"`
	Status           reconcile.RunStatus `json:"status"`
	Activities       int                 `json:"activities"`
	Skipped          int                 `json:"skipped"`
	Checked          int64               `json:"checked"`
	Consistent       int64               `json:"consistent"`
	InFlight         int64               `json:"inFlight"`
	Repaired         map[string]int      `json:"repaired"`
	Repairs          []reconcile.Mended  `json:"repairs"`
	Differences      int                 `json:"differences"`
	Problem          string              `json:"problem,omitempty"`
	CreatedAt        string              `json:"createdAt"`
	StartedAt        string              `json:"startedAt,omitempty"`
	FinishedAt       string              `json:"finishedAt,omitempty"`
}

// startReconciliation answers POST /ops/v1/reconciliations: 200 with the run that is over, 202 with one that is not. While a run for the
// same is on its way there is no second one, and the answer is that one.
func (o *operate) startReconciliation(ctx context.Context, r *Request, by caller) (*Response, error) {
	f, err := r.Fields()
	if err != nil {
		return nil, err
	}
	w := reconcile.RunRequest{Cause: reconcile.ByOperator, RequestedBy: by.id}
	if f.Has("activityId") {
		w.ActivityID = readID(f, "activityId")
	}
	w.Mode = reconcile.Mode(f.OneOf("mode", string(reconcile.DryRun), string(reconcile.Repairing)))
	if err := f.Finish(); err != nil {
		return nil, err
	}
	subject := w.ActivityID
	if subject == "" {
		subject = "all activities"
	}
	entry := by.entry("reconciliation.start", subject, map[string]any{"mode": w.Mode})
	w.Entry = &entry
	inTime, cancel := context.WithTimeout(ctx, runBudget)
	defer cancel()
	run, err := o.Reconcile.Reconcile(inTime, w)
	if err != nil {
		return nil, err
	}
	return o.answerRun(ctx, run)
}

// readReconciliation answers GET /ops/v1/reconciliations/{reconciliationId}.
func (o *operate) readReconciliation(ctx context.Context, r *Request, _ caller) (*Response, error) {
	run, err := reconcile.GetRun(ctx, o.DB, r.Param("reconciliationId"))
	if err != nil {
		return nil, err
	}
	response, err := o.answerRun(ctx, run)
	if err == nil {
		response.Status = http.StatusOK
	}
	return response, err
}

func (o *operate) answerRun(ctx context.Context, run reconcile.Run) (*Response, error) {
	repairs, err := reconcile.RunDetail(ctx, o.DB, run.ID)
	if err != nil {
		return nil, err
	}
	if repairs == nil {
		repairs = []reconcile.Mended{}
	}
	v := runView{ReconciliationID: run.ID, ActivityID: run.ActivityID, Mode: run.Mode, Cause: run.Cause, Status: run.Status,
		Activities: run.Activities, Skipped: run.Skipped, Checked: run.Checked, Consistent: run.Consistent, InFlight: run.InFlight,
		Repaired: make(map[string]int, len(run.Repaired)), Repairs: repairs, Differences: run.Differences, Problem: run.Problem,
		CreatedAt: stamp(run.CreatedAt), StartedAt: optStamp(run.StartedAt), FinishedAt: optStamp(run.FinishedAt)}
	for kind, n := range run.Repaired {
		v.Repaired[string(kind)] = n
	}
	status := http.StatusOK
	if run.FinishedAt == nil {
		status = http.StatusAccepted
	}
	response, err := JSON(status, v)
	if err == nil && status == http.StatusAccepted {
		response.Header["Location"] = "/ops/v1/reconciliations/" + run.ID
	}
	return response, err
}

package workflow

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/alert"
	"holdfast/shared/deposit"
	"holdfast/shared/edge"
	"holdfast/shared/metric"
	"holdfast/shared/sale"
)

// alertWorkflowFailed: an execution gave a deposit up; the minute pass has it.
const alertWorkflowFailed alert.Kind = "DEPOSIT_WORKFLOW_FAILED"

// longestCause is how much of a cause is kept, in bytes.
const longestCause = 1000

// statusRecorded is what record-workflow-failure answers.
const statusRecorded = "RECORDED"

// NewRecordWorkflowFailure builds record-workflow-failure: what an execution could not do is counted, and raised as an alert about the
// order. It takes DB, Metrics and Log. The count is made first, for the database may be what failed.
func NewRecordWorkflowFailure(d edge.Deps) lambda.Handler {
	return &step{Deps: d, name: "record-workflow-failure", run: func(ctx context.Context, id sale.OrderID, e event) (outcome, error) {
		d.Metrics.Count(metric.DepositWorkflowFailed, 1)
		found, err := deposit.GetMany(ctx, d.DB, []sale.OrderID{id})
		if err != nil {
			return outcome{}, err
		}
		now, err := d.DB.Now(ctx, d.DB)
		if err != nil {
			return outcome{}, err
		}
		evidence := map[string]any{"execution": e.Execution, "error": e.Error, "cause": e.Cause[:min(len(e.Cause), longestCause)],
			"deposit": found[id].Status}
		raised := alert.Alert{Kind: alertWorkflowFailed, Subject: id.String(), ActivityID: found[id].ActivityID, Evidence: evidence}
		return outcome{Status: statusRecorded}, alert.Raise(ctx, d.DB, raised, now)
	}}
}

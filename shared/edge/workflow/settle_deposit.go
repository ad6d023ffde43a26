package workflow

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/checkout"
	"holdfast/shared/edge"
	"holdfast/shared/sale"
)

// statusTooFar is answered instead of NOT_DUE when the deadline was moved beyond the life of the execution: it ends, and the minute pass
// settles the deposit.
const statusTooFar = "TOO_FAR"

// NewSettleDeposit builds settle-deposit: a deposit whose deadline is reached is settled, once. It answers NOT_DUE with the seconds that
// are left when it was woken early or the deadline was moved. It takes DB, Checkout and Log.
func NewSettleDeposit(d edge.Deps) lambda.Handler {
	return &step{Deps: d, name: "settle-deposit", run: func(ctx context.Context, id sale.OrderID, e event) (outcome, error) {
		result, err := d.Checkout.SettleDeposit(ctx, id)
		if err != nil || result.Step != checkout.StepNotDue || e.StartedAt.IsZero() {
			return outcome{string(result.Step), result.Seconds}, err
		}
		now, err := d.DB.Now(ctx, d.DB)
		if err != nil {
			return outcome{}, err
		}
		wait := time.Duration(result.Seconds) * time.Second
		if now.Add(wait).After(e.StartedAt.Add(longestExecution)) {
			return outcome{Status: statusTooFar}, nil
		}
		return outcome{string(result.Step), result.Seconds}, nil
	}}
}

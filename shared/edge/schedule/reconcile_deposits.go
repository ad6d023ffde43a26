package schedule

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge"
	"holdfast/shared/reconcile/money"
)

// NewReconcileDeposits builds reconcile-deposits: once a day all that is written about money is held against each other, and what
// contradicts is left to a person as a difference; the payment provider is asked for what it did. A round that takes longer than one run is
// gone on with by the next, and by reconcile-stock. It takes DB, Provider, Metrics and Log.
func NewReconcileDeposits(d edge.Deps) lambda.Handler {
	run := func(ctx context.Context) (money.Summary, error) {
		return money.Run(ctx, d.DB, d.Metrics, money.Config{Provider: d.Provider})
	}
	return &job[money.Summary]{Deps: d, name: "reconcile-deposits", run: run}
}

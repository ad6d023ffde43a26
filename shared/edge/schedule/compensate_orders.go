package schedule

import (
	"context"
	"errors"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge"
	"holdfast/shared/reconcile"
	"holdfast/shared/reconcile/export"
)

// compensateSummary is what a pass did, with the exports that were written in the time that was left.
type compensateSummary struct {
	reconcile.CompensateSummary
	Exports export.Summary `json:"exports"`
}

// NewCompensateOrders builds compensate-orders: loads that were asked for, rules and adjustments that Redis missed, reservations that
// are pending for too long, what the first layer of repair gave up, CANCELLED orders whose units are not known to be back, recent orders
// that Redis has lost, and full reconciles that were asked for; at last exports. It takes DB, Reconcile, Exports and Log.
func NewCompensateOrders(d edge.Deps) lambda.Handler {
	pass := reconcile.NewCompensate(d.Reconcile, reconcile.CompensateConfig{})
	run := func(ctx context.Context) (sum compensateSummary, err error) {
		sum.CompensateSummary, err = pass.Run(ctx)
		if d.Exports == nil {
			return sum, err
		}
		written, exportErr := export.Run(ctx, d.DB, d.Exports, passBudget)
		sum.Exports = written
		return sum, errors.Join(err, exportErr)
	}
	return &job[compensateSummary]{Deps: d, name: "compensate-orders", run: run}
}

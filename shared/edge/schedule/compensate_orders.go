package schedule

import (
	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge"
	"holdfast/shared/reconcile"
)

// NewCompensateOrders builds compensate-orders: loads that were asked for, rules and adjustments that Redis missed, reservations that
// are pending for too long, what the first layer of repair gave up, CANCELLED orders whose units are not known to be back, recent orders
// that Redis has lost, and full reconciles that were asked for. It takes Reconcile and Log.
func NewCompensateOrders(d edge.Deps) lambda.Handler {
	pass := reconcile.NewCompensate(d.Reconcile, reconcile.CompensateConfig{})
	return &job[reconcile.CompensateSummary]{Deps: d, name: "compensate-orders", run: pass.Run}
}

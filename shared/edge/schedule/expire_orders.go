package schedule

import (
	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge"
	"holdfast/shared/reconcile"
)

// NewExpireOrders builds expire-orders: unpaid orders past their deadline are cancelled and their units given back, and
// expired idempotency keys deleted. It takes DB, Checkout and Log.
func NewExpireOrders(d edge.Deps) lambda.Handler {
	pass := reconcile.NewExpireOrders(d.DB, d.Checkout, reconcile.ExpireConfig{})
	return &job[reconcile.ExpireSummary]{Deps: d, name: "expire-orders", run: pass.Run}
}

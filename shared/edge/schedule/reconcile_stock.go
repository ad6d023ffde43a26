package schedule

import (
	"context"
	"errors"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge"
	"holdfast/shared/reconcile"
	"holdfast/shared/reconcile/certificate"
	"holdfast/shared/reconcile/money"
)

// stockSummary is what a run did: the pass, and the certificates that were waiting for a function with more time than a request has.
type stockSummary struct {
	reconcile.ReconcileSummary
	Certificates certificate.RunSummary `json:"certificates"`
	Money        *money.Summary         `json:"money,omitempty"` // of a daily round that was gone on with
}

// NewReconcileStock builds reconcile-stock: every log in Redis is held against the rows of MySQL, what has an explanation is mended, and
// what has none is left to a person as a difference. Runs that wait are done too, and in the time that is left certificates that were
// asked for, and the daily round over money where it is not complete. It takes DB, Stock, Reconcile, Provider and Log.
func NewReconcileStock(d edge.Deps) lambda.Handler {
	pass := reconcile.NewReconcileStock(d.Reconcile, reconcile.ReconcileConfig{})
	run := func(ctx context.Context) (sum stockSummary, err error) {
		sum.ReconcileSummary, err = pass.Run(ctx)
		certifyErr := reconcile.InTimeLeft(ctx, func() (err error) {
			sum.Certificates, err = certificate.Run(ctx, d.DB, d.Stock, passBudget)
			return err
		})
		moneyErr := reconcile.InTimeLeft(ctx, func() error {
			resumed, err := money.Resume(ctx, d.DB, d.Metrics, money.Config{Provider: d.Provider})
			if resumed.RoundID != "" {
				sum.Money = &resumed
			}
			return err
		})
		return sum, errors.Join(err, certifyErr, moneyErr)
	}
	return &job[stockSummary]{Deps: d, name: "reconcile-stock", run: run}
}

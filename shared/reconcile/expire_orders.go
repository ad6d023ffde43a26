package reconcile

import (
	"cmp"
	"context"
	"time"

	"holdfast/shared/checkout"
)

// ExpireConfig sets bounds of the job; a zero field takes its default.
type ExpireConfig struct {
	Budget   time.Duration // how long a pass may take; 45 s
	PageSize int           // orders per transaction; 200
}

// ExpireSummary says what a pass did.
type ExpireSummary struct {
	Expired int `json:"expired"` // unpaid orders cancelled
}

// ExpireOrders is the job that cancels unpaid orders past their deadline.
type ExpireOrders struct {
	checkout *checkout.Checkout
	cfg      ExpireConfig
}

// NewExpireOrders makes the job.
func NewExpireOrders(ck *checkout.Checkout, cfg ExpireConfig) *ExpireOrders {
	cfg.Budget = cmp.Or(cfg.Budget, 45*time.Second)
	cfg.PageSize = cmp.Or(cfg.PageSize, 200)
	return &ExpireOrders{checkout: ck, cfg: cfg}
}

// Run cancels overdue orders page by page until none is left, the budget is spent, or a page brings nothing because others have its
// rows. It returns the errors of the database, with what was done before.
func (e *ExpireOrders) Run(ctx context.Context) (ExpireSummary, error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Budget)
	defer cancel()
	var sum ExpireSummary
	for {
		cancelled, overdue, err := e.checkout.Expire(ctx, e.cfg.PageSize)
		sum.Expired += cancelled
		if err != nil || cancelled == 0 || overdue < e.cfg.PageSize {
			return sum, err
		}
	}
}

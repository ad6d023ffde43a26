package reconcile

import (
	"cmp"
	"context"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/idempotency"
	"holdfast/shared/sqltx"
)

// ExpireConfig sets bounds of the job; a zero field takes its default.
type ExpireConfig struct {
	Budget   time.Duration // how long a pass may take; 45 s
	PageSize int           // orders, and keys, per transaction; 200
}

// ExpireSummary says what a pass did.
type ExpireSummary struct {
	Expired   int `json:"expired"`   // unpaid orders cancelled
	Forgotten int `json:"forgotten"` // idempotency keys deleted whose life was over
}

// ExpireOrders is the job that cancels unpaid orders past their deadline, and then deletes idempotency keys that nobody may rely on any
// more.
type ExpireOrders struct {
	db       *sqltx.DB
	checkout *checkout.Checkout
	cfg      ExpireConfig
}

// NewExpireOrders makes the job.
func NewExpireOrders(db *sqltx.DB, ck *checkout.Checkout, cfg ExpireConfig) *ExpireOrders {
	cfg.Budget = cmp.Or(cfg.Budget, 45*time.Second)
	cfg.PageSize = cmp.Or(cfg.PageSize, 200)
	return &ExpireOrders{db: db, checkout: ck, cfg: cfg}
}

// Run cancels overdue orders page by page until none is left, the budget is spent, or a page brings nothing because others have its
// rows; then it deletes expired keys the same way. It returns the errors of the database, with what was done before.
func (e *ExpireOrders) Run(ctx context.Context) (ExpireSummary, error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Budget)
	defer cancel()
	var sum ExpireSummary
	for {
		cancelled, overdue, err := e.checkout.Expire(ctx, e.cfg.PageSize)
		sum.Expired += cancelled
		if err != nil {
			return sum, err
		}
		if cancelled == 0 || overdue < e.cfg.PageSize {
			return sum, e.forget(ctx, &sum)
		}
	}
}

// forget deletes expired keys.
func (e *ExpireOrders) forget(ctx context.Context, sum *ExpireSummary) error {
	now, err := e.db.Now(ctx, e.db)
	if err != nil {
		return err
	}
	for {
		n, err := idempotency.Forget(ctx, e.db, now, e.cfg.PageSize)
		sum.Forgotten += n
		if err != nil || n < e.cfg.PageSize {
			return err
		}
	}
}

package reconcile

import (
	"cmp"
	"context"
	"errors"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/idempotency"
	"holdfast/shared/sqltx"
)

// ExpireConfig sets bounds of the job; a zero field takes its default.
type ExpireConfig struct {
	Budget   time.Duration // how long a pass may take; 45 s
	PageSize int           // orders, and keys, per page; 200
}

// ExpireSummary says what a pass did.
type ExpireSummary struct {
	Expired   int `json:"expired"`   // unpaid orders cancelled
	Failed    int `json:"failed"`    // unpaid orders that could not be cancelled; a person was alerted of each
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

// Run cancels overdue orders until none is left or three quarters of the budget are spent; then it deletes expired keys, whatever came of
// the orders. It returns the errors of the database and those of orders that could not be cancelled, with what was done. Where the time is
// up, the next pass goes on.
func (e *ExpireOrders) Run(ctx context.Context) (ExpireSummary, error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Budget)
	defer cancel()
	var sum ExpireSummary
	err := within(ctx, e.cfg.Budget*3/4, func(ctx context.Context) (err error) {
		sum.Expired, sum.Failed, err = e.checkout.Expire(ctx, e.cfg.PageSize)
		return err
	})
	return sum, errors.Join(err, InTimeLeft(ctx, func() error { return e.forget(ctx, &sum) }))
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

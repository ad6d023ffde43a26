package crowd

import (
	"context"
	"io"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/infra/local"
	"holdfast/shared/reconcile/invariant"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
)

// Prove checks the invariants of one activity against both stores and the promises. While something is still on its way between
// the stores an equation may fail for a moment, so it asks again until all hold and nothing is in flight, or patience is over;
// the last report is returned either way.
func Prove(ctx context.Context, at local.Addresses, activityID string, promises []Promise, patience time.Duration) (*invariant.Report, error) {
	db, err := sqltx.Open(at.MySQL)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	cache := redis.NewClient(&redis.Options{Addr: at.Redis})
	defer func() { _ = cache.Close() }()
	clock, err := readClock(ctx, at)
	if err != nil {
		return nil, err
	}
	offset := func() time.Duration { return clock }
	for deadline := time.Now().Add(patience); ; {
		report, err := invariant.Check(ctx, sqltx.New(db, offset), stock.New(cache, offset), activityID, asInvariant(promises))
		if err != nil {
			return nil, err
		}
		if (report.Pass() && report.InFlight == 0) || time.Now().After(deadline) {
			return report, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// readClock asks the stack how far its clock was moved.
func readClock(ctx context.Context, at local.Addresses) (time.Duration, error) {
	var clock struct {
		Now time.Time `json:"now"`
	}
	if err := newClient(at.API).must(ctx, "GET", "/local/clock", "", nil, &clock); err != nil {
		return 0, err
	}
	offset := time.Until(clock.Now)
	if offset < time.Second {
		return 0, nil // a stack whose clock was not moved
	}
	return offset, nil
}

// ProveMoney checks the money of all sales together, once: wallets and accounts against the ledger, and the ledger against orders,
// deposits, payments and refunds. It returns nil when no money has ever moved.
func ProveMoney(ctx context.Context, at local.Addresses) (*invariant.Report, error) {
	db, err := sqltx.Open(at.MySQL)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	report, err := invariant.CheckLedger(ctx, sqltx.New(db, nil))
	if err != nil {
		return nil, err
	}
	for _, e := range report.Equations {
		if e.Left != 0 || e.Right != 0 {
			return report, nil
		}
	}
	return nil, nil
}

// Verify proves a sale, and all money, and writes the proof. The error is *ErrBroken when an invariant does not hold.
func Verify(ctx context.Context, at local.Addresses, activityID string, promises []Promise, patience time.Duration, out io.Writer) error {
	report, err := Prove(ctx, at, activityID, promises, patience)
	if err != nil {
		return err
	}
	money, err := ProveMoney(ctx, at)
	if err != nil {
		return err
	}
	if money != nil {
		report.Equations = append(report.Equations, money.Equations...)
	}
	if err := report.Write(out); err != nil {
		return err
	}
	if !report.Pass() {
		return &ErrBroken{"an invariant is broken"}
	}
	return nil
}

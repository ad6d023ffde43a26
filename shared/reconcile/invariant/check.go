package invariant

import (
	"context"
	"errors"
	"fmt"

	"holdfast/shared/catalog"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
)

// Check reads both stores and checks every equation for one activity. promises may be empty: then L says so by 0 = 0. It returns
// catalog.ErrNotFound for an unknown activity, ErrNotChecked while Redis is not loaded, and the stores' own errors.
func Check(ctx context.Context, db *sqltx.DB, st *stock.Store, activityID string, promises []Promise) (*Report, error) {
	activity, err := catalog.Get(ctx, db, activityID)
	if err != nil {
		return nil, err
	}
	facts := activity.Facts()
	redis, err := readCache(ctx, st, &facts)
	if errors.Is(err, stock.ErrNotLoaded) {
		return nil, fmt.Errorf("%w: %w", ErrNotChecked, err)
	}
	if err != nil {
		return nil, err
	}
	// MySQL is read after Redis: whatever the log had up to its seq has had time to become a row.
	mysql, err := readRows(ctx, db, activity)
	if err != nil {
		return nil, err
	}
	report := &Report{ActivityID: activityID, At: mysql.now, Seq: redis.seq}
	stores, inFlight := ofStores(mysql, redis)
	report.InFlight = inFlight
	for _, equations := range [][]Equation{ofStock(mysql), ofPromises(mysql, promises), ofEffects(mysql), stores, ofStates(mysql, redis)} {
		report.Equations = append(report.Equations, equations...)
	}
	return report, nil
}

package reconcile

import (
	"context"

	"holdfast/shared/catalog"
)

// ApplyRules brings the activity's present window, limit and status from MySQL to Redis, which takes them only if their version is
// higher than the one it has. It returns catalog.ErrNotFound, the errors of the database, and those of stock; the minute pass tries
// again.
func (r *Reconciler) ApplyRules(ctx context.Context, activityID string) error {
	a, err := catalog.Get(ctx, r.db, activityID)
	if err != nil {
		return err
	}
	_, err = r.stock.ChangeRules(ctx, a.ID, a.Rules())
	return err
}

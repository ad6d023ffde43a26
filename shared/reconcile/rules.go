package reconcile

import (
	"context"
	"fmt"

	"holdfast/shared/catalog"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
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

// sameRules says whether a set has the rules of the activity, as far as a snapshot shows them.
func sameRules(a *sale.Activity, s stock.Snapshot) bool {
	return s.RulesVersion == a.RulesVersion && s.Status == a.Status
}

// outrank makes MySQL's rules win over those in Redis, and says whether anything had to change. Redis may be behind, after a failover
// or a change that it was not told of, or ahead, when the database is an older copy of itself: then MySQL's version is raised above
// that of Redis first, since Redis takes higher ones only. The activity is read again: what differs may have been the older reading.
func (r *Reconciler) outrank(ctx context.Context, activityID string, s stock.Snapshot) (changed bool, err error) {
	a, err := catalog.Get(ctx, r.db, activityID)
	if err != nil || sameRules(a, s) {
		return false, err
	}
	if a.RulesVersion <= s.RulesVersion {
		if err := r.raiseVersion(ctx, a, s.RulesVersion+1); err != nil {
			return false, err
		}
	}
	return r.stock.ChangeRules(ctx, a.ID, a.Rules())
}

// raiseVersion gives an activity's rules a version. It changes nothing when they were changed meanwhile, by somebody who tells Redis.
func (r *Reconciler) raiseVersion(ctx context.Context, a *sale.Activity, version int64) error {
	now, err := r.db.Now(ctx, r.db)
	if err != nil {
		return err
	}
	result, err := r.db.ExecContext(ctx, `UPDATE activity SET rules_version = ?, updated_at = ? WHERE activity_id = ? AND rules_version = ?`,
		version, now, a.ID, a.RulesVersion)
	if err != nil {
		return fmt.Errorf("raising the version of %s's rules: %w", a.ID, err)
	}
	raised, err := result.RowsAffected()
	if err != nil {
		return fmt.Errorf("raising the version of %s's rules: %w", a.ID, err)
	}
	if raised > 0 {
		a.RulesVersion = version
	}
	return nil
}

package reconcile

import (
	"context"

	"holdfast/shared/alert"
	"holdfast/shared/stock"
)

// alertEviction: Redis may drop parts of a sale when it is full. Its subject is the policy.
const alertEviction alert.Kind = "REDIS_EVICTS"

// watchEviction raises an alert when Redis is set up to drop keys.
func (r *Reconciler) watchEviction(ctx context.Context) error {
	policy, err := r.stock.EvictionPolicy(ctx)
	if err != nil || policy == stock.KeepsAll {
		return err
	}
	r.log.Error("redis drops keys when it is full; its policy must be noeviction", "policy", policy)
	now, err := r.db.Now(ctx, r.db)
	if err != nil {
		return err
	}
	return alert.Raise(ctx, r.db, alert.Alert{Kind: alertEviction, Subject: policy, Evidence: map[string]any{"policy": policy, "wanted": stock.KeepsAll}}, now)
}

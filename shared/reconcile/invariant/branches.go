package invariant

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"holdfast/shared/order"
	"holdfast/shared/sqltx"
)

// Branches counts how often named branches were reached: a run that never went through one of them has proved nothing about it. It
// is for one goroutine at a time.
type Branches struct {
	wanted  []string
	reached map[string]int
}

// NewBranches starts with none reached; Missing speaks of the wanted ones alone.
func NewBranches(wanted ...string) *Branches {
	return &Branches{wanted: wanted, reached: make(map[string]int)}
}

// Branch names a branch of repair as ReadRepairs counts it: layer and kind, "2/RELEASE".
func Branch(layer order.Layer, kind order.RepairKind) string {
	return fmt.Sprintf("%d/%s", layer, kind)
}

// RepairBranches names every branch of the minute pass and of the full reconcile, and the release at once.
func RepairBranches() []string {
	branches := []string{Branch(order.AtOnce, order.RepairRelease)}
	for _, kind := range []order.RepairKind{order.RepairRelease, order.RepairAck, order.RepairCreate, order.RepairRefuse,
		order.RepairLoad, order.RepairRules, order.RepairAdjustment} {
		branches = append(branches, Branch(order.EveryMinute, kind))
	}
	return append(branches, Branch(order.InFull, order.RepairAdopt), Branch(order.InFull, order.RepairRelease))
}

// Reach counts a branch.
func (b *Branches) Reach(name string) { b.reached[name]++ }

// ReadRepairs adds what the repair rows of an activity say. It returns the errors of the driver.
func (b *Branches) ReadRepairs(ctx context.Context, q sqltx.Querier, activityID string) error {
	rows, err := q.QueryContext(ctx, `SELECT layer, kind, COUNT(*) FROM repair WHERE activity_id = ? GROUP BY layer, kind`, activityID)
	if err != nil {
		return fmt.Errorf("invariant: read repairs: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var layer, n int
		var kind string
		if err := rows.Scan(&layer, &kind, &n); err != nil {
			return fmt.Errorf("invariant: read repairs: %w", err)
		}
		b.reached[Branch(order.Layer(layer), order.RepairKind(kind))] += n
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("invariant: read repairs: %w", err)
	}
	return nil
}

// Reached gives all counts, also of branches that nobody wanted.
func (b *Branches) Reached() map[string]int { return maps.Clone(b.reached) }

// Missing lists the wanted branches that were never reached, sorted.
func (b *Branches) Missing() []string {
	missing := slices.DeleteFunc(slices.Clone(b.wanted), func(name string) bool { return b.reached[name] > 0 })
	slices.Sort(missing)
	return missing
}

package reconcile

import (
	"context"
	"time"

	"holdfast/shared/metric"
	"holdfast/shared/order"
)

// CountBy has what the minute pass mends counted by m; it is called before the first use, if at all.
func (r *Reconciler) CountBy(m *metric.Metrics) { r.metrics = m }

// repairs gathers what a layer mended.
type repairs struct {
	layer order.Layer
	list  []order.Repair
	// adopted were written down by whoever adopted them, and count all the same.
	adopted int
}

// add notes that an order was mended; since is when it broke, zero when nobody knows.
func (m *repairs) add(kind order.RepairKind, o *order.Order, since time.Time) {
	id := o.ID
	m.list = append(m.list, order.Repair{ActivityID: o.ActivityID, OrderID: &id, Layer: m.layer, Kind: kind, BrokenAt: since})
}

// record writes repairs down, which follows the effect and decides nothing: a failure is logged. Orders count as mended orphans.
func (r *Reconciler) record(ctx context.Context, m repairs) {
	orphans := m.adopted
	for i := range m.list {
		if m.list[i].OrderID != nil {
			orphans++
		}
	}
	r.metrics.Count(metric.OrphanCompensation, orphans)
	if len(m.list) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseBudget)
	defer cancel()
	now, err := r.db.Now(ctx, r.db)
	if err == nil {
		err = order.RecordRepairs(ctx, r.db, m.list, now)
	}
	if err != nil {
		r.log.Warn("repairs are not written down", "repairs", len(m.list), "error", err)
	}
}

// recordWhole writes down one repair of a whole activity by the minute pass.
func (r *Reconciler) recordWhole(ctx context.Context, activityID string, kind order.RepairKind, since time.Time) {
	r.record(ctx, repairs{list: []order.Repair{{ActivityID: activityID, Layer: order.EveryMinute, Kind: kind, BrokenAt: since}}})
}

// since is when a cancelled order began to wait for its release; zero for none.
func since(cancelledAt *time.Time) time.Time {
	if cancelledAt == nil {
		return time.Time{}
	}
	return *cancelledAt
}

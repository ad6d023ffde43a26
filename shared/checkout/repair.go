package checkout

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/shared/alert"
	"holdfast/shared/catalog"
	"holdfast/shared/metric"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
)

// noteBudget bounds writing down what became of a batch, which is tried even when the caller's time is over.
const noteBudget = time.Second

// FirstRetry is when repair takes up what the first layer gave up: long enough for a moment's trouble to pass, and before the minute
// pass comes next.
const FirstRetry = 5 * time.Second

// contradiction is a live order that Redis has otherwise, or as dead, or that it cannot have at all.
type contradiction struct {
	order   *order.Order
	outcome stock.AckOutcome // AckDead or AckConflict
}

// leaveOutUnfit gives those of one sale's orders that fit into its set. The others, whose rows a foreign hand has changed, contradict
// whatever Redis has of them: a person is alerted, and they keep nobody waiting. When the sale cannot be read, all are given.
func (c *Checkout) leaveOutUnfit(ctx context.Context, activityID string, list []order.Order, t *telling) []order.Order {
	a, err := catalog.Get(ctx, c.db, activityID)
	if err != nil {
		return list
	}
	facts := a.Facts()
	var fit []order.Order
	for i := range list {
		if o := &list[i]; o.Fits(&facts) {
			fit = append(fit, *o)
		} else {
			t.contradicted = append(t.contradicted, contradiction{o, stock.AckConflict})
		}
	}
	return fit
}

// dropCancelled leaves of the contradictions those whose order is still live: one that was cancelled and released before its
// acknowledgement came is dead in both stores, as it should be. What cannot be read is left to the full reconcile.
func (c *Checkout) dropCancelled(ctx context.Context, t *telling) {
	if len(t.contradicted) == 0 {
		return
	}
	ids := make([]sale.OrderID, len(t.contradicted))
	for i, x := range t.contradicted {
		ids[i] = x.order.ID
	}
	rows, err := order.GetMany(ctx, c.db, ids)
	if err != nil {
		t.problem(fmt.Errorf("reading %d contradicted orders: %w", len(ids), err))
	}
	t.contradicted = slices.DeleteFunc(t.contradicted, func(x contradiction) bool {
		row, found := rows[x.order.ID]
		return !found || !row.Status.Live()
	})
}

// failedKind is what Redis could not be told, as compensation_fail names it.
type failedKind string

const (
	failedAck     failedKind = "ACK"
	failedRelease failedKind = "RELEASE"
)

// failure is an order of which Redis could not be told.
type failure struct {
	id         sale.OrderID
	activityID string
	kind       failedKind
	cause      string
}

// fail notes that Redis was not told of these orders. A set that is not loaded is no failure of acknowledging: its load, which nobody
// has to be reminded of, brings every live order along.
func (t *telling) fail(orders []order.Order, kind failedKind, err error) {
	if kind == failedAck && errors.Is(err, stock.ErrNotLoaded) {
		return
	}
	for i := range orders {
		t.failed = append(t.failed, failure{orders[i].ID, orders[i].ActivityID, kind, Cause(err)})
	}
}

// Cause says in words that name nobody why Redis could not be told.
func Cause(err error) string {
	for _, known := range []error{stock.ErrUnavailable, stock.ErrNoAnswer, stock.ErrNotLoaded, stock.ErrBadReply, stock.ErrBadReason,
		stock.ErrBadQuantity, stock.ErrBadEntry} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "checkout: another failure, which the log of that time tells"
}

// noteAtOnce writes down, as well as it can, what the first layer of repair mended and what it gave up.
func (c *Checkout) noteAtOnce(ctx context.Context, t *telling) {
	repairs := append(retried(t.acknowledged, order.RepairAck), retried(t.released, order.RepairRelease)...)
	c.metrics.Count(metric.RollbackRetrySuccess, len(repairs))
	c.metrics.Count(metric.RollbackRetryGiveUp, len(t.failed))
	c.note(ctx, order.AtOnce, repairs, t)
}

// late is a repair and for how long it had been due.
type late struct {
	order.Repair
	delay time.Duration
}

// retried are the repairs among effects: what succeeded at the first try was never broken.
func retried(list []effect, kind order.RepairKind) []late {
	var out []late
	for i := range list {
		if e := &list[i]; e.delay > 0 {
			out = append(out, late{order.Repair{ActivityID: e.order.ActivityID, OrderID: &e.order.ID, Kind: kind}, e.delay})
		}
	}
	return out
}

// note writes repairs, adoptions, alerts and failures. Whatever cannot be written is logged; repair finds the work without it.
func (c *Checkout) note(ctx context.Context, layer order.Layer, repairs []late, t *telling) {
	if len(repairs)+len(t.adopted)+len(t.contradicted)+len(t.failed) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteBudget)
	defer cancel()
	lost := c.adoptedOutsideLoading(ctx, t.adopted)
	err := c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return c.writeNotes(ctx, tx, layer, repairs, lost, t)
	})
	if err != nil {
		c.log.Warn("what repair did or gave up is not written down", "repairs", len(repairs), "adopted", len(lost),
			"contradictions", len(t.contradicted), "failures", len(t.failed), "error", err)
	}
	for _, x := range t.contradicted {
		c.log.Error("a live order and its entry in redis contradict each other; a person must decide", "orderId", x.order.ID,
			"activityId", x.order.ActivityID, "dead", x.outcome == stock.AckDead)
	}
}

func (c *Checkout) writeNotes(ctx context.Context, tx *sql.Tx, layer order.Layer, repairs []late, lost []effect, t *telling) error {
	now, err := c.db.Now(ctx, tx)
	if err != nil {
		return err
	}
	rows := make([]order.Repair, 0, len(repairs)+len(lost))
	for _, l := range repairs {
		l.Layer, l.BrokenAt = layer, now.Add(-l.delay)
		rows = append(rows, l.Repair)
	}
	for _, e := range lost {
		rows = append(rows, order.Repair{ActivityID: e.order.ActivityID, OrderID: &e.order.ID, Layer: layer, Kind: order.RepairAdopt})
	}
	if err := keepFailures(ctx, tx, t.failed, now); err != nil {
		return err
	}
	if err := raiseContradictions(ctx, tx, t.contradicted, now); err != nil {
		return err
	}
	if err := reportLosses(ctx, tx, lost, now); err != nil {
		return err
	}
	return order.RecordRepairs(ctx, tx, rows, now)
}

// adoptedOutsideLoading are the orders that Redis had not, though its set was complete: it has lost them. Where it cannot be told
// whether a set was being loaded, it counts as complete: a needless look costs little.
func (c *Checkout) adoptedOutsideLoading(ctx context.Context, adopted []effect) []effect {
	loading := make(map[string]bool)
	var lost []effect
	for _, e := range adopted {
		id := e.order.ActivityID
		if _, asked := loading[id]; !asked {
			loading[id] = c.isLoading(ctx, id)
		}
		if !loading[id] {
			lost = append(lost, e)
		}
	}
	return lost
}

func (c *Checkout) isLoading(ctx context.Context, activityID string) bool {
	a, err := catalog.Get(ctx, c.db, activityID)
	if err != nil {
		return false
	}
	facts := a.Facts()
	shot, err := c.stock.Snapshot(ctx, &facts)
	return errors.Is(err, stock.ErrNotLoaded) || err == nil && shot.State == stock.Loading
}

func reportLosses(ctx context.Context, tx *sql.Tx, lost []effect, now time.Time) error {
	reported := make(map[string]bool)
	for _, e := range lost {
		id := e.order.ActivityID
		if reported[id] {
			continue
		}
		reported[id] = true
		if err := stock.ReportLoss(ctx, tx, id, now); err != nil {
			return err
		}
	}
	return nil
}

func raiseContradictions(ctx context.Context, tx *sql.Tx, list []contradiction, now time.Time) error {
	for _, x := range list {
		kind := alert.LiveButOtherwise
		if x.outcome == stock.AckDead {
			kind = alert.LiveButDead
		}
		o := x.order
		err := alert.Raise(ctx, tx, alert.Alert{Kind: kind, Subject: o.ID.String(), ActivityID: o.ActivityID, Evidence: map[string]any{
			"status": o.Status, "ticketType": o.TicketType, "quantity": o.Quantity, "allocations": o.Allocations.Compact(),
		}}, now)
		if err != nil {
			return err
		}
	}
	return nil
}

const (
	keepFailure = `INSERT INTO compensation_fail (order_id, kind, activity_id, status, attempts, due_at, last_error, created_at, updated_at)
 VALUES `
	// A row that is there goes on as it is; one that was done begins anew. Assignments take effect from left to right.
	keepFailureTail = ` ON DUPLICATE KEY UPDATE attempts = CASE WHEN status = 'DONE' THEN 0 ELSE attempts END,
 due_at = CASE WHEN status = 'DONE' THEN VALUES(due_at) ELSE due_at END, status = 'OPEN', updated_at = VALUES(updated_at)`
)

// keepFailures writes down what repair is to try again.
func keepFailures(ctx context.Context, tx *sql.Tx, failed []failure, now time.Time) error {
	slices.SortFunc(failed, func(a, b failure) int { return cmp.Or(order.CompareIDs(a.id, b.id), cmp.Compare(a.kind, b.kind)) })
	_, err := sqltx.WriteRows(ctx, tx, keepFailure, len(failed), func(i int, r *sqltx.Row) {
		f := &failed[i]
		r.Bytes(f.id[:])
		r.Text(string(f.kind))
		r.Text(f.activityID)
		r.Text("OPEN")
		r.Int(0)
		r.Instant(now.Add(FirstRetry))
		r.Text(f.cause)
		r.Instant(now)
		r.Instant(now)
	}, keepFailureTail)
	if err != nil {
		return fmt.Errorf("checkout: keep %d failures: %w", len(failed), err)
	}
	return nil
}

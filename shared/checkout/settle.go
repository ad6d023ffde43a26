package checkout

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
)

// How long Redis is told, and told again, of one batch or one order. What does not succeed within the budget is left to the next
// layer of repair.
const (
	settleBudget  = 2 * time.Second
	repairBudget  = 500 * time.Millisecond // of the minute pass and the full reconcile, which come again by themselves
	settleWorkers = 8
)

// Settle tells Redis what was committed: live orders are acknowledged, those of CANCELLED ones released, and the order cache is
// written. Every step may be repeated. It is the first layer of repair: what succeeds only when tried again is noted as a repair, what
// fails as compensation to come, and both are counted. An error says what was left to repair, and never means that the commit did not
// happen.
func (c *Checkout) Settle(ctx context.Context, out Outcome) error {
	t := c.tell(ctx, out, settleBudget, false)
	c.noteAtOnce(ctx, t)
	c.offerReleased(ctx, t)
	return t.err()
}

// ReleaseCommitted gives the units of a committed CANCELLED order back in Redis and records that it has them. It returns
// stock.ErrUnavailable, stock.ErrNoAnswer or stock.ErrNotLoaded when Redis did not do it within a small budget, and the errors of
// the database when that could not be recorded; both may be repeated.
func (c *Checkout) ReleaseCommitted(ctx context.Context, o order.Order) error {
	return c.Settle(ctx, Outcome{Cancelled: []order.Order{o}})
}

// Mended is what a repair brought about, by order id. What is in none of the lists has failed, or needed nothing.
type Mended struct {
	Acknowledged map[sale.OrderID]bool // live orders that are known to Redis as committed now
	Adopted      map[sale.OrderID]bool // live orders that Redis had lost; their repairs are recorded
	Released     map[sale.OrderID]bool // CANCELLED orders whose units came back now, or are now recorded to be back
	Contradicted map[sale.OrderID]bool // live orders that Redis contradicts: a person has been alerted, nothing was changed
}

// Repair tells Redis what was committed, as Settle does, for a later layer of repair: with a smaller budget, and it says what came of
// it. It raises alerts, records adoptions and keeps what fails; the caller records the other repairs. It returns what was left.
func (c *Checkout) Repair(ctx context.Context, layer order.Layer, out Outcome) (Mended, error) {
	t := c.tell(ctx, out, repairBudget, true)
	c.note(ctx, layer, nil, t)
	m := Mended{Acknowledged: idsOf(t.acknowledged), Adopted: idsOf(t.adopted), Released: idsOf(t.released),
		Contradicted: make(map[sale.OrderID]bool)}
	for _, x := range t.contradicted {
		m.Contradicted[x.order.ID] = true
	}
	return m, t.err()
}

func idsOf(list []effect) map[sale.OrderID]bool {
	out := make(map[sale.OrderID]bool, len(list))
	for i := range list {
		out[list[i].order.ID] = true
	}
	return out
}

// effect is an order of which Redis was told.
type effect struct {
	order *order.Order
	delay time.Duration // from the first try, when that failed; else 0
}

// telling is what came of telling Redis of a batch.
type telling struct {
	acknowledged, adopted, released []effect
	contradicted                    []contradiction
	failed                          []failure
	problems                        []error
}

func (t *telling) problem(err error) {
	if err != nil {
		t.problems = append(t.problems, err)
	}
}

func (t *telling) err() error { return errors.Join(t.problems...) }

// tell tells Redis of all orders, each within the budget. exact makes released hold those only that no one released and recorded
// before.
func (c *Checkout) tell(ctx context.Context, out Outcome, budget time.Duration, exact bool) *telling {
	t := &telling{}
	c.acknowledge(ctx, out.Live, budget, t)
	c.dropCancelled(ctx, t)
	c.release(ctx, out.Cancelled, budget, exact, t)
	t.problem(c.cache(ctx, out.Live))
	return t
}

// acknowledge takes live orders off pending, activity by activity. An order that Redis had lost is adopted by this; what contradicts
// is left as it is.
func (c *Checkout) acknowledge(ctx context.Context, live []order.Order, budget time.Duration, t *telling) {
	for activityID, list := range byActivity(live) {
		outcomes, delay, err := c.acknowledgeAll(ctx, activityID, list, budget)
		if errors.Is(err, stock.ErrBadQuantity) || errors.Is(err, stock.ErrNotLoaded) { // one order that fits nowhere may be why
			if fit := c.leaveOutUnfit(ctx, activityID, list, t); len(fit) < len(list) {
				list = fit
				outcomes, delay, err = c.acknowledgeAll(ctx, activityID, list, budget)
			}
		}
		if err != nil {
			t.problem(fmt.Errorf("acknowledging %d orders of %s: %w", len(list), activityID, err))
			t.fail(list, failedAck, err)
			continue
		}
		for i, outcome := range outcomes {
			switch e := (effect{&list[i], delay}); outcome {
			case stock.AckAdopted:
				t.adopted = append(t.adopted, e)
			case stock.AckDead, stock.AckConflict:
				t.contradicted = append(t.contradicted, contradiction{e.order, outcome})
			default:
				t.acknowledged = append(t.acknowledged, e)
			}
		}
	}
}

// acknowledgeAll acknowledges orders of one activity, again within the budget while Redis cannot be reached.
func (c *Checkout) acknowledgeAll(ctx context.Context, activityID string, list []order.Order, budget time.Duration) ([]stock.AckOutcome,
	time.Duration, error) {
	reservations := make([]sale.Reservation, len(list))
	for i := range list {
		reservations[i] = list[i].Reservation()
	}
	var outcomes []stock.AckOutcome
	delay, err := c.persist(ctx, budget, func(ctx context.Context) (err error) {
		outcomes, err = c.stock.Acknowledge(ctx, activityID, reservations)
		return err
	})
	return outcomes, delay, err
}

// release gives units back in Redis, a few orders at a time, records all that succeeded in one transaction, and writes the cache
// of the CANCELLED orders whether Redis has their units back or not.
func (c *Checkout) release(ctx context.Context, cancelled []order.Order, budget time.Duration, exact bool, t *telling) {
	if len(cancelled) == 0 {
		return
	}
	var mu sync.Mutex
	var records []order.Release
	given := make(map[sale.OrderID]bool)
	var effects []effect
	c.inParallel(cancelled, func(o *order.Order) {
		answer, delay, err := c.releaseOne(ctx, o, budget)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			t.problem(fmt.Errorf("releasing order %s: %w", o.ID, err))
			t.fail([]order.Order{*o}, failedRelease, err)
			return
		}
		records, effects = append(records, answer.record(o)), append(effects, effect{o, delay})
		given[o.ID] = answer.Outcome == stock.Given
	})
	t.problem(c.cache(ctx, cancelled))
	recorded, err := c.recordReleases(ctx, records, exact)
	t.problem(err)
	for _, e := range effects {
		if !exact || given[e.order.ID] || recorded[e.order.ID] {
			t.released = append(t.released, e)
		}
	}
}

// released is what Redis answered.
type released struct{ stock.Released }

// record is the answer as the stock log keeps it. A dead marker of an unknown id gave nothing: there was no movement whose figures
// could be known.
func (r released) record(o *order.Order) order.Release {
	known := r.Outcome != stock.Marked && r.After-r.Before == o.Quantity
	return order.Release{ID: o.ID, Before: r.Before, After: r.After, Known: known}
}

func (c *Checkout) releaseOne(ctx context.Context, o *order.Order, budget time.Duration) (released, time.Duration, error) {
	var answer stock.Released
	delay, err := c.persist(ctx, budget, func(ctx context.Context) (err error) {
		answer, err = c.stock.Release(ctx, o.ActivityID, o.ID, o.UserID, string(o.Reason))
		return err
	})
	return released{answer}, delay, err
}

// recordReleases notes in the database that units are back. With exact it says which orders were not known to be released before,
// which costs a locking read. Where that fails for the rows of one order, the others are recorded without it; and that one without the
// figures of its release, which a stock log that contradicts itself has no place for.
func (c *Checkout) recordReleases(ctx context.Context, done []order.Release, exact bool) (fresh map[sale.OrderID]bool, err error) {
	if len(done) == 0 {
		return nil, nil
	}
	fresh = make(map[sale.OrderID]bool)
	err = c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if exact {
			if err := addUnreleased(ctx, tx, done, fresh); err != nil {
				return err
			}
		}
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		return order.Released(ctx, tx, done, now)
	})
	switch {
	case err == nil:
		return fresh, nil
	case !liesInRows(ctx, err), sqltx.Retryable(err):
	case len(done) > 1:
		left, err1 := c.recordReleases(ctx, done[:len(done)/2], exact)
		right, err2 := c.recordReleases(ctx, done[len(done)/2:], exact)
		both := make(map[sale.OrderID]bool) // fresh is of a transaction that did not happen
		maps.Copy(both, left)
		maps.Copy(both, right)
		return both, errors.Join(err1, err2)
	case done[0].Known:
		bare := done[0]
		bare.Known = false
		return c.recordReleases(ctx, []order.Release{bare}, exact)
	}
	return nil, fmt.Errorf("recording %d releases: %w", len(done), err)
}

// addUnreleased locks the orders and adds those without an instant of release. A transaction that is run again after a COMMIT without
// answer adds to what its first run found, which may have been committed.
func addUnreleased(ctx context.Context, tx *sql.Tx, done []order.Release, to map[sale.OrderID]bool) error {
	ids := make([]sale.OrderID, len(done))
	for i := range done {
		ids[i] = done[i].ID
	}
	rows, err := order.LockMany(ctx, tx, ids)
	if err != nil {
		return err
	}
	for id, row := range rows {
		if row.ReleasedAt == nil {
			to[id] = true
		}
	}
	return nil
}

// cache writes orders into the order cache, each only if its state is further than the one there. It is a convenience of readers:
// what fails is read from the row instead.
func (c *Checkout) cache(ctx context.Context, orders []order.Order) error {
	var errs []error
	for activityID, list := range byActivity(orders) {
		page := make([]stock.Cached, len(list))
		for i := range list {
			body, err := json.Marshal(&list[i])
			if err != nil {
				return err
			}
			page[i] = stock.Cached{OrderID: list[i].ID, Rank: list[i].Status.Rank(), JSON: body}
		}
		if err := c.stock.CacheOrders(ctx, activityID, page); err != nil {
			errs = append(errs, fmt.Errorf("caching %d orders of %s: %w", len(list), activityID, err))
		}
	}
	return errors.Join(errs...)
}

// showChanged has readers see orders as a commit has left them, whose units are where they were.
func (c *Checkout) showChanged(ctx context.Context, orders ...order.Order) {
	if err := c.cache(ctx, orders); err != nil {
		c.log.Warn("the order cache was not written", "orders", len(orders), "error", err)
	}
}

// inParallel runs a function for each order, a few at a time.
func (c *Checkout) inParallel(orders []order.Order, do func(o *order.Order)) {
	if len(orders) == 1 {
		do(&orders[0])
		return
	}
	var g errgroup.Group
	g.SetLimit(c.workers)
	for i := range orders {
		g.Go(func() error {
			do(&orders[i])
			return nil
		})
	}
	_ = g.Wait() // each keeps its own error
}

func byActivity(orders []order.Order) map[string][]order.Order {
	out := make(map[string][]order.Order)
	for _, o := range orders {
		out[o.ActivityID] = append(out[o.ActivityID], o)
	}
	for _, list := range out {
		order.Sort(list)
	}
	return out
}

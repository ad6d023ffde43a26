package checkout

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// How Redis is told. What does not succeed within the budget is left to repair, which finds it by itself.
const (
	settleBudget  = 2 * time.Second
	firstBackoff  = 20 * time.Millisecond
	longestPause  = 300 * time.Millisecond
	settleWorkers = 8
)

// Settle tells Redis what was committed: live orders are acknowledged, those of CANCELLED ones released, and the order cache is
// written. Every step may be repeated. An error says what was left to repair, and never means that the commit did not happen.
func (c *Checkout) Settle(ctx context.Context, out Outcome) error {
	return errors.Join(
		c.acknowledge(ctx, out.Live),
		c.release(ctx, out.Cancelled),
		c.cache(ctx, out.Live),
	)
}

// ReleaseCommitted gives the units of a committed CANCELLED order back in Redis and records that it has them. It returns
// stock.ErrUnavailable, stock.ErrNoAnswer or stock.ErrNotLoaded when Redis did not do it within a small budget, and the errors of
// the database when that could not be recorded; both may be repeated.
func (c *Checkout) ReleaseCommitted(ctx context.Context, o order.Order) error {
	return c.release(ctx, []order.Order{o})
}

// acknowledge takes live orders off pending, activity by activity. An order that Redis had lost is adopted by this; a contradiction
// is logged for a person and left as it is.
func (c *Checkout) acknowledge(ctx context.Context, live []order.Order) error {
	var errs []error
	for activityID, list := range byActivity(live) {
		reservations := make([]sale.Reservation, len(list))
		for i := range list {
			reservations[i] = list[i].Reservation()
		}
		var outcomes []stock.AckOutcome
		err := persist(ctx, func(ctx context.Context) (err error) {
			outcomes, err = c.stock.Acknowledge(ctx, activityID, reservations)
			return err
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("acknowledging %d orders of %s: %w", len(list), activityID, err))
			continue
		}
		c.reportContradictions(list, outcomes)
	}
	return errors.Join(errs...)
}

func (c *Checkout) reportContradictions(acknowledged []order.Order, outcomes []stock.AckOutcome) {
	for i, outcome := range outcomes {
		switch outcome {
		case stock.AckDead:
			c.log.Error("a live order is dead in redis; a person must decide", "orderId", acknowledged[i].ID, "activityId", acknowledged[i].ActivityID)
		case stock.AckConflict:
			c.log.Error("a live order and its entry in redis contradict each other; a person must decide",
				"orderId", acknowledged[i].ID, "activityId", acknowledged[i].ActivityID)
		}
	}
}

// release gives units back in Redis, a few orders at a time, records all that succeeded in one transaction, and writes the cache
// of the CANCELLED orders whether Redis has their units back or not.
func (c *Checkout) release(ctx context.Context, cancelled []order.Order) error {
	if len(cancelled) == 0 {
		return nil
	}
	var mu sync.Mutex
	var done []order.Release
	var errs []error
	err := inParallel(cancelled, func(o *order.Order) error {
		released, err := c.releaseOne(ctx, o)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			errs = append(errs, fmt.Errorf("releasing order %s: %w", o.ID, err))
		} else {
			done = append(done, released)
		}
		return nil
	})
	errs = append(errs, err, c.cache(ctx, cancelled), c.recordReleases(ctx, done))
	return errors.Join(errs...)
}

func (c *Checkout) releaseOne(ctx context.Context, o *order.Order) (order.Release, error) {
	var answer stock.Released
	err := persist(ctx, func(ctx context.Context) (err error) {
		answer, err = c.stock.Release(ctx, o.ActivityID, o.ID, o.UserID, string(o.Reason))
		return err
	})
	// A dead marker of an unknown id gave nothing: there was no movement whose figures could be known.
	known := answer.Outcome != stock.Marked && answer.After-answer.Before == o.Quantity
	return order.Release{ID: o.ID, Before: answer.Before, After: answer.After, Known: known}, err
}

func (c *Checkout) recordReleases(ctx context.Context, done []order.Release) error {
	if len(done) == 0 {
		return nil
	}
	err := c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now, err := c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		return order.Released(ctx, tx, done, now)
	})
	if err != nil {
		return fmt.Errorf("recording %d releases: %w", len(done), err)
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

// inParallel runs a function for each order, a few at a time, and returns the first error.
func inParallel(orders []order.Order, do func(o *order.Order) error) error {
	if len(orders) == 1 {
		return do(&orders[0])
	}
	var g errgroup.Group
	g.SetLimit(settleWorkers)
	for i := range orders {
		g.Go(func() error { return do(&orders[i]) })
	}
	return g.Wait()
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

// persist calls Redis again, after pauses of capped exponential backoff with full jitter, while it cannot be reached or does not
// answer and the budget lasts. What it calls must be safe to repeat.
func persist(ctx context.Context, call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, settleBudget)
	defer cancel()
	for bound := firstBackoff; ; bound = min(2*bound, longestPause) {
		err := call(ctx)
		if !errors.Is(err, stock.ErrUnavailable) && !errors.Is(err, stock.ErrNoAnswer) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(rand.N(bound) + time.Millisecond):
		}
	}
}

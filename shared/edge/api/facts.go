package api

import (
	"context"
	"errors"
	"sync"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/edge"
	"holdfast/shared/fault"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// facts keeps the facts of activities for the life of the instance: they never change.
type facts struct {
	d        edge.Deps
	rows     *activities
	mu       sync.Mutex
	byID     map[string]*sale.Facts
	byNumber map[int64]*sale.Facts
	asked    map[string]time.Time // when a load was last asked for, by the process' monotonic clock
}

func newFacts(d edge.Deps) *facts {
	return &facts{d: d, rows: newActivities(d), byID: make(map[string]*sale.Facts), byNumber: make(map[int64]*sale.Facts),
		asked: make(map[string]time.Time)}
}

func (c *facts) keep(f *sale.Facts) *sale.Facts {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byID[f.ActivityID], c.byNumber[f.Number] = f, f
	return f
}

// get gives the facts of an activity from Redis, once. When Redis has none, MySQL says why, and get returns ActivityNotFound,
// SaleClosed, or SaleNotReady, having asked for a load.
func (c *facts) get(ctx, stockCtx context.Context, id string) (*sale.Facts, error) {
	c.mu.Lock()
	known := c.byID[id]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	f, _, err := c.d.Stock.Facts(stockCtx, id)
	switch {
	case err == nil:
		return c.keep(f), nil
	case errors.Is(err, stock.ErrNoFacts):
		return nil, c.whyMissing(ctx, id)
	}
	return nil, err
}

// ofOrder gives the facts of the activity that an order id belongs to, by the number in it. It returns order.ErrNotFound when no
// activity has the number, and the errors of the database, which is asked once per instance and activity.
func (c *facts) ofOrder(ctx context.Context, id sale.OrderID) (*sale.Facts, error) {
	c.mu.Lock()
	known := c.byNumber[id.Number()]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	a, err := catalog.ByNumber(ctx, c.d.DB, id.Number())
	if errors.Is(err, catalog.ErrNotFound) || err == nil && a.Status == sale.Draft {
		return nil, order.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	f := a.Facts()
	return c.keep(&f), nil
}

// whyMissing says, by the row, why Redis does not have an activity, and asks for a load if it should.
func (c *facts) whyMissing(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, factsBudget)
	defer cancel()
	a, err := c.rows.get(ctx, id)
	if err != nil {
		return err
	}
	if a.Status == sale.Closed || a.Status == sale.Cancelled {
		return fault.New(fault.SaleClosed, "The sale is closed.")
	}
	c.requestLoad(ctx, id)
	return notReady()
}

// whyNotLoaded says why the set of an activity whose facts are known is not in Redis: it is over and archived, or it got lost and
// a load is asked for.
func (c *facts) whyNotLoaded(ctx, stockCtx context.Context, id string) error {
	_, final, err := c.d.Stock.Facts(stockCtx, id)
	if err == nil && final != "" {
		return fault.New(fault.SaleClosed, "The sale is closed.")
	}
	c.requestLoad(ctx, id)
	return notReady()
}

func notReady() error {
	return fault.New(fault.SaleNotReady, "The stock of the sale is not loaded; loading has been asked for.")
}

// requestLoad asks for a load, at most once per instance in a while: one request is as good as a thousand. The answer does not
// depend on it, since repair asks as well.
func (c *facts) requestLoad(ctx context.Context, id string) {
	c.mu.Lock()
	recently := time.Since(c.asked[id]) < askAgain
	if !recently {
		c.asked[id] = time.Now()
	}
	c.mu.Unlock()
	if recently {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, loadBudget)
	defer cancel()
	if err := c.d.Reconcile.RequestLoad(ctx, id); err != nil {
		c.d.Log.WarnContext(ctx, "a load could not be asked for", "activityId", id, "error", edge.Loggable(err))
	}
}

// askAgain is how long one request for a load is trusted to be enough.
const askAgain = 2 * time.Second

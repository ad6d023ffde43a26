package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"holdfast/shared/catalog"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// CompensateConfig sets bounds of the minute pass; a zero field takes its default.
type CompensateConfig struct {
	Grace    time.Duration // how old a pending reservation must be before the pass takes it up; 60 s
	Budget   time.Duration // how long a pass may take; 50 s
	PageSize int           // orders per page and transaction; 100
}

// CompensateSummary says what a pass did.
type CompensateSummary struct {
	Loaded      int   `json:"loaded"`      // activities loaded into Redis
	Rules       int   `json:"rules"`       // activities whose rules were brought up to date
	Adjustments int   `json:"adjustments"` // adjustments finished
	Pending     Swept `json:"pending"`
	Released    int   `json:"released"` // CANCELLED orders whose units are now known to be back
}

// Compensate is the minute pass of repair.
type Compensate struct {
	r   *Reconciler
	cfg CompensateConfig
}

// NewCompensate makes the pass.
func NewCompensate(r *Reconciler, cfg CompensateConfig) *Compensate {
	cfg.Grace = cmp.Or(cfg.Grace, time.Minute)
	cfg.Budget = cmp.Or(cfg.Budget, 50*time.Second)
	cfg.PageSize = cmp.Or(cfg.PageSize, 100)
	return &Compensate{r: r, cfg: cfg}
}

// How much loading one pass does, and how many loads run at once: each may wait ten seconds for the queue.
const (
	maxLoads    = 100
	loadWorkers = 8
)

// adjustmentGrace leaves an adjustment to whoever began it for so long.
const adjustmentGrace = 10 * time.Second

// Run makes one pass: loads, rules and adjustments first, since the rest needs a loaded set, then pending reservations activity by
// activity, then releases. A step that fails does not keep the others from running; the errors are returned together, with what was
// done. Nothing that failed is lost: the next pass finds it again.
func (c *Compensate) Run(ctx context.Context) (CompensateSummary, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Budget)
	defer cancel()
	var sum CompensateSummary
	errs := []error{c.runLoads(ctx, &sum)}
	var pending, unloaded []string
	errs = append(errs, c.r.visit(ctx, func(a *sale.Activity, s stock.Snapshot, err error) error {
		if err == nil && s.Pending > 0 {
			pending = append(pending, a.ID)
		}
		if onSale(a) && !loadedAs(a, s, err) && (err == nil || errors.Is(err, stock.ErrNotLoaded)) {
			unloaded = append(unloaded, a.ID)
			return nil
		}
		return c.renewRules(ctx, a, s, err, &sum)
	}))
	errs = append(errs, c.load(unloaded, &sum, func(id string) error { return c.r.Load(ctx, id) }))
	errs = append(errs, c.finishAdjustments(ctx, &sum))
	for _, id := range pending {
		swept, err := c.r.SweepPending(ctx, id, c.cfg.Grace, c.cfg.PageSize)
		sum.Pending.add(swept)
		if errors.Is(err, stock.ErrNotLoaded) {
			continue // a load is under way or was asked for
		}
		errs = append(errs, err)
	}
	released, err := c.r.ReleaseUnreleased(ctx, c.cfg.PageSize)
	sum.Released = released
	return sum, errors.Join(append(errs, err)...)
}

// runLoads does the loads that were asked for.
func (c *Compensate) runLoads(ctx context.Context, sum *CompensateSummary) error {
	jobs, err := c.r.waitingLoads(ctx, maxLoads)
	if err != nil {
		return err
	}
	ids, asked := make([]string, len(jobs)), make(map[string]loadJob, len(jobs))
	for i, j := range jobs {
		ids[i], asked[j.activityID] = j.activityID, j
	}
	return c.load(ids, sum, func(id string) error { return c.r.runLoad(ctx, asked[id]) })
}

// load loads activities, a few at a time, and counts them. One that is being loaded already is no failure.
func (c *Compensate) load(ids []string, sum *CompensateSummary, one func(id string) error) error {
	errs := make([]error, len(ids))
	var g errgroup.Group
	g.SetLimit(loadWorkers)
	for i, id := range ids {
		g.Go(func() error {
			errs[i] = one(id)
			return nil
		})
	}
	_ = g.Wait() // each keeps its own error
	for i, err := range errs {
		switch {
		case err == nil:
			sum.Loaded++
		case errors.Is(err, ErrLoadRunning):
			errs[i] = nil
		default:
			errs[i] = fmt.Errorf("loading %s: %w", ids[i], err)
		}
	}
	return errors.Join(errs...)
}

// hopeless says whether a load can never be done.
func hopeless(err error) bool {
	return errors.Is(err, catalog.ErrNotFound) || errors.Is(err, ErrNotPublished)
}

// renewRules brings MySQL's rules to an activity that has older ones in Redis. One that is not loaded gets them with its load.
func (c *Compensate) renewRules(ctx context.Context, a *sale.Activity, s stock.Snapshot, err error, sum *CompensateSummary) error {
	if errors.Is(err, stock.ErrNotLoaded) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", a.ID, err)
	}
	if s.RulesVersion >= a.RulesVersion {
		return nil
	}
	if err := c.r.ApplyRules(ctx, a.ID); err != nil {
		return fmt.Errorf("changing the rules of %s: %w", a.ID, err)
	}
	sum.Rules++
	return nil
}

func (c *Compensate) finishAdjustments(ctx context.Context, sum *CompensateSummary) error {
	now, err := c.r.db.Now(ctx, c.r.db)
	if err != nil {
		return err
	}
	unfinished, err := catalog.UnfinishedAdjustments(ctx, c.r.db, now.Add(-adjustmentGrace), c.cfg.PageSize)
	if err != nil {
		return err
	}
	var errs []error
	for _, a := range unfinished {
		switch _, err := c.r.finishAdjustment(ctx, a); {
		case err == nil:
			sum.Adjustments++
		case !errors.Is(err, ErrLoadRunning):
			errs = append(errs, fmt.Errorf("finishing adjustment %s of %s: %w", a.ID, a.ActivityID, err))
		}
	}
	return errors.Join(errs...)
}

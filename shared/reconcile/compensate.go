package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"holdfast/shared/alert"
	"holdfast/shared/catalog"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
)

// CompensateConfig sets bounds of the minute pass; a zero field takes its default.
type CompensateConfig struct {
	Grace    time.Duration // how old a pending reservation must be before the pass takes it up; 10 s
	Budget   time.Duration // how long a pass may take; 50 s
	PageSize int           // orders per page and transaction; 100
	Deposits int           // deposits per page and transaction; 500
	Provider time.Duration // how long a pass may wait for the payment provider in all; 10 s
}

// CompensateSummary says what a pass did.
type CompensateSummary struct {
	Loaded      int    `json:"loaded"`      // activities loaded into Redis
	Rules       int    `json:"rules"`       // activities whose rules were brought up to date
	Adjustments int    `json:"adjustments"` // adjustments finished
	Suspected   int    `json:"suspected"`   // activities whose server has forgotten something, perhaps: a full reconcile was asked for
	Pending     Swept  `json:"pending"`
	Retried     int    `json:"retried"`  // failures of the first layer that are done with
	Released    int    `json:"released"` // CANCELLED orders whose units are now known to be back
	Adopted     int    `json:"adopted"`  // live orders that Redis had lost
	Waitlists   Waited `json:"waitlists"`

	Deposits SweptDeposits `json:"deposits"`
	Payments SweptPayments `json:"payments"`
	RolledUp int           `json:"rolledUp"` // movements of accounts that are no wallets, added to their rows

	Reconciled int  `json:"reconciled"` // runs of the full reconcile that had been asked for
	Rung       bool `json:"rung"`       // the sender of notices was woken for some that have been due too long
}

// Compensate is the minute pass of repair.
type Compensate struct {
	r   *Reconciler
	cfg CompensateConfig
}

// NewCompensate makes the pass.
func NewCompensate(r *Reconciler, cfg CompensateConfig) *Compensate {
	cfg.Grace = cmp.Or(cfg.Grace, 10*time.Second)
	cfg.Budget = cmp.Or(cfg.Budget, 50*time.Second)
	cfg.PageSize = cmp.Or(cfg.PageSize, 100)
	cfg.Deposits = cmp.Or(cfg.Deposits, 500)
	cfg.Provider = cmp.Or(cfg.Provider, 10*time.Second)
	return &Compensate{r: r, cfg: cfg}
}

// How much loading one pass does, and how many loads run at once: each may wait ten seconds for the queue.
const (
	maxLoads    = 100
	loadWorkers = 8
)

// adjustmentGrace leaves an adjustment to whoever began it for so long.
const adjustmentGrace = 10 * time.Second

// found is what a walk over the activities found to do.
type found struct {
	pending  []string // have reservations that are not known to be committed
	unloaded []string // are on sale and not in Redis, or with another epoch
	open     []string // are complete in Redis
}

// Run makes one pass: loads, rules and adjustments first, since the rest needs a loaded set; then what one store knows and the other
// does not: pending reservations activity by activity, what the first layer wrote down, releases, recent orders; then deposits, accounts,
// notices and waitlists; then what waits for the payment provider and what is long, and last, in the time that is left, runs of the full
// reconcile that were asked for. A step that fails does not keep the others from running; the errors are returned together, with what was
// done. Nothing that failed, or that the time did not suffice for, is lost: the next pass finds it again.
func (c *Compensate) Run(ctx context.Context) (CompensateSummary, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Budget)
	defer cancel()
	ends := time.Now().Add(c.cfg.Budget)
	var sum CompensateSummary
	var f found
	var errs []error
	for _, step := range []func() error{
		func() error { return c.runLoads(ctx, &sum) },
		func() error {
			return c.r.visit(ctx, func(a *sale.Activity, s stock.Snapshot, err error) error { return c.look(ctx, a, s, err, &f, &sum) })
		},
		func() error {
			return c.load(ctx, f.unloaded, &sum, func(id string) (bool, error) { return c.reload(ctx, id) })
		},
		func() error { return c.finishAdjustments(ctx, &sum) },
		func() error { return c.sweep(ctx, f.pending, &sum) },
		func() (err error) { sum.Retried, err = c.r.RetryFailures(ctx, c.cfg.PageSize); return err },
		func() (err error) { sum.Released, err = c.r.ReleaseUnreleased(ctx, c.cfg.PageSize); return err },
		func() error { return c.adoptRecent(ctx, f.open, &sum) },
		func() error { return c.sweepDeposits(ctx, &sum) },
		func() error { return c.rollUp(ctx, &sum) },
		func() error { return c.ringForNotices(ctx, &sum) },
		func() (err error) { sum.Waitlists, err = c.passWaitlists(ctx, f.open); return err },
		func() error { return c.sweepPayments(ctx, &sum) },
		func() (err error) { sum.Reconciled, err = c.r.RunQueued(ctx, max(0, time.Until(ends))); return err },
	} {
		errs = append(errs, InTimeLeft(ctx, step))
	}
	return sum, errors.Join(errs...)
}

// look decides by one activity's snapshot what it needs, and brings its rules up to date.
func (c *Compensate) look(ctx context.Context, a *sale.Activity, s stock.Snapshot, err error, f *found, sum *CompensateSummary) error {
	if err == nil && s.Pending > 0 {
		f.pending = append(f.pending, a.ID)
	}
	if onSale(a) && !loadedAs(a, s, err) && (err == nil || errors.Is(err, stock.ErrNotLoaded)) {
		f.unloaded = append(f.unloaded, a.ID)
		return nil
	}
	if errors.Is(err, stock.ErrNotLoaded) {
		return nil // it gets its rules with its load, if it ever needs one
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", a.ID, err)
	}
	if s.State != stock.Open {
		return nil
	}
	f.open = append(f.open, a.ID)
	return errors.Join(c.renewRules(ctx, a, s, sum), c.suspectLoss(ctx, a.ID, sum))
}

// suspectLoss asks for a full reconcile of a set that was proven whole under another run of its server than the present one: what a
// restart or a failover made it forget, nobody else may notice.
func (c *Compensate) suspectLoss(ctx context.Context, activityID string, sum *CompensateSummary) error {
	proven, err := c.r.stock.Proven(ctx, activityID)
	if err != nil || proven {
		return err
	}
	now, err := c.r.db.Now(ctx, c.r.db)
	if err != nil {
		return err
	}
	if err := stock.ReportLoss(ctx, c.r.db, activityID, now); err != nil {
		return err
	}
	sum.Suspected++
	return nil
}

func (c *Compensate) sweep(ctx context.Context, ids []string, sum *CompensateSummary) error {
	var errs []error
	for _, id := range ids {
		swept, err := c.r.SweepPending(ctx, id, c.cfg.Grace, c.cfg.PageSize)
		sum.Pending.add(swept)
		if !errors.Is(err, stock.ErrNotLoaded) { // a load is under way or was asked for
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (c *Compensate) adoptRecent(ctx context.Context, ids []string, sum *CompensateSummary) error {
	var errs []error
	for _, id := range ids {
		adopted, err := c.r.AdoptRecent(ctx, id)
		sum.Adopted += adopted
		if !errors.Is(err, stock.ErrNotLoaded) { // it was lost since the pass began
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
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
	return c.load(ctx, ids, sum, func(id string) (bool, error) { return true, c.r.runLoad(ctx, asked[id]) })
}

// reload loads an activity that was found unloaded, unless somebody else has loaded it since.
func (c *Compensate) reload(ctx context.Context, id string) (bool, error) {
	if loaded, err := c.r.isLoaded(ctx, id); err != nil || loaded {
		return false, err
	}
	a, err := catalog.Get(ctx, c.r.db, id)
	if err != nil {
		return false, err
	}
	if err := c.r.Load(ctx, id); err != nil {
		return false, err
	}
	if a.Epoch > 0 { // the first load makes a set, and repairs none
		c.r.recordWhole(ctx, id, order.RepairLoad, time.Time{})
	}
	return true, nil
}

// load loads activities, a few at a time, and counts those that one says it has loaded. One that is being loaded already is no failure. A
// person is alerted of one that cannot be loaded though both stores work: every pass will try it again, and the next may fare no better.
func (c *Compensate) load(ctx context.Context, ids []string, sum *CompensateSummary, one func(id string) (bool, error)) error {
	loaded, errs := make([]bool, len(ids)), make([]error, len(ids))
	var g errgroup.Group
	g.SetLimit(loadWorkers)
	for i, id := range ids {
		g.Go(func() error {
			loaded[i], errs[i] = one(id)
			return nil
		})
	}
	_ = g.Wait() // each keeps its own error
	for i, err := range errs {
		switch {
		case err == nil && loaded[i]:
			sum.Loaded++
		case errors.Is(err, ErrLoadRunning):
			errs[i] = nil
		case err != nil:
			errs[i] = fmt.Errorf("loading %s: %w", ids[i], err)
			if !hopeless(err) {
				c.stuck(ctx, err, alert.Alert{Subject: ids[i], ActivityID: ids[i], Evidence: map[string]any{"missing": "LOAD"}})
			}
		}
	}
	return errors.Join(errs...)
}

// stuck alerts a person of what a pass could not do, unless a store does not work now, or has changed in the midst of it.
func (c *Compensate) stuck(ctx context.Context, cause error, a alert.Alert) {
	if !away(ctx, cause) && !sqltx.Retryable(cause) && !errors.Is(cause, stock.ErrOtherRun) {
		a.Kind = alert.CompensationStuck
		c.r.alert(ctx, a)
	}
}

// hopeless says whether a load can never be done.
func hopeless(err error) bool {
	return errors.Is(err, catalog.ErrNotFound) || errors.Is(err, ErrNotPublished)
}

// renewRules brings MySQL's rules to an activity that has others in Redis, older or newer ones.
func (c *Compensate) renewRules(ctx context.Context, a *sale.Activity, s stock.Snapshot, sum *CompensateSummary) error {
	if sameRules(a, s) {
		return nil
	}
	changed, err := c.r.outrank(ctx, a.ID, s)
	if err != nil {
		return fmt.Errorf("changing the rules of %s: %w", a.ID, err)
	}
	if changed {
		sum.Rules++
		c.r.recordWhole(ctx, a.ID, order.RepairRules, time.Time{})
	}
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
			c.r.recordWhole(ctx, a.ActivityID, order.RepairAdjustment, a.CreatedAt)
		case !errors.Is(err, ErrLoadRunning) && !errors.Is(err, stock.ErrNotLoaded): // which it has asked for
			errs = append(errs, fmt.Errorf("finishing adjustment %s of %s: %w", a.ID, a.ActivityID, err))
			c.stuck(ctx, err, alert.Alert{Subject: a.ActivityID + "/" + a.ID, ActivityID: a.ActivityID,
				Evidence: map[string]any{"missing": "ADJUSTMENT", "since": a.CreatedAt}})
		}
	}
	return errors.Join(errs...)
}

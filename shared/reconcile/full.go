package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/alert"
	"holdfast/shared/catalog"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

const (
	fullLease     = 60 * time.Second // of the full reconcile of an activity, renewed page by page
	leasePatience = 3 * time.Second  // how long to wait for somebody who is at it
	leasePoll     = 200 * time.Millisecond
)

func fullLeaseName(activityID string) string { return "full:" + activityID }

// errMoved: the set had another life, or was on another run of the server, at the end of a reading than at its beginning, so what was read
// proves nothing.
var errMoved = errors.New("the set changed its life while it was read")

// What a run has alerts for.
const (
	alertDifferences alert.Kind = "DIFFERENCES_FOUND"
	alertSuspended   alert.Kind = "SALE_SUSPENDED"
)

// pass is the full reconcile of one activity.
type pass struct {
	x        *runner
	r        *Reconciler
	a        *sale.Activity
	facts    sale.Facts
	lease    *lease
	run      string // of the server
	shot     stock.Snapshot
	log      *logIndex
	rows     *rows
	found    []finding
	mends    int
	inFlight int64
	failed   []error // repairs that did not succeed
}

// acquireSoon takes a lease, waiting a little for its holder.
func (r *Reconciler) acquireSoon(ctx context.Context, name string) (*lease, error) {
	until := time.Now().Add(leasePatience)
	for {
		l, err := r.acquire(ctx, name, fullLease)
		if !errors.Is(err, errLeased) || time.Now().After(until) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(leasePoll):
		}
	}
}

// reconcile does one activity and counts it. It returns errLeased, errMoved, and the errors of both stores.
func (x *runner) reconcile(ctx context.Context, activityID string) error {
	a, err := catalog.Get(ctx, x.r.db, activityID)
	if err != nil {
		return err
	}
	l, err := x.r.acquireSoon(ctx, fullLeaseName(activityID))
	if err != nil {
		return err
	}
	defer l.release(ctx)
	p := &pass{x: x, r: x.r, a: a, facts: a.Facts(), lease: l}
	err = p.reconcile(ctx)
	if errors.Is(err, stock.ErrNotLoaded) {
		return p.notLoaded(ctx)
	}
	return err
}

// notLoaded counts an activity without a whole set. The minute pass loads it, which makes the set whole in its own way; one that is over
// only when somebody asks for it, as the operator did who wants this very activity mended.
func (p *pass) notLoaded(ctx context.Context) error {
	p.x.run.Activities++
	p.x.note(fmt.Errorf("%s is not loaded", p.a.ID))
	if r := &p.x.run; r.Cause != ByOperator || r.Mode != Repairing || r.ActivityID == "" {
		return nil
	}
	return p.r.RequestLoad(ctx, p.a.ID)
}

// alive renews the lease and shows that the runner lives, at every tenth page.
func (p *pass) alive(ctx context.Context, pages int) error {
	if pages%10 != 9 {
		return ctx.Err()
	}
	if err := p.lease.renew(ctx); err != nil {
		return err
	}
	return p.x.beat(ctx)
}

// reconcile reads both stores, mends what has an explanation, and records what has none.
func (p *pass) reconcile(ctx context.Context) (err error) {
	if p.run, err = p.r.stock.RunID(ctx, p.a.ID); err != nil {
		return err
	}
	// The rows are looked at before the counters: what changes in between shows in the counters at the next run.
	look, err := p.look(ctx)
	if err != nil {
		return err
	}
	adjustments, err := readAdjustments(ctx, p.r.db, p.a.ID)
	if err != nil {
		return err
	}
	if p.shot, err = p.r.stock.Snapshot(ctx, &p.facts); err != nil {
		return err
	}
	if p.shot.State != stock.Open || p.shot.Epoch != p.a.Epoch {
		return stock.ErrNotLoaded
	}
	look.add(p)
	if p.x.run.Cause == BySchedule {
		if same, err := p.unmoved(ctx, look); err != nil || same {
			return p.skip(err)
		}
	}
	if p.log, err = p.readLog(ctx, p.shot.Seq, int(look.orders)); err != nil {
		if !errors.Is(err, stock.ErrBadEntry) {
			return err
		}
		p.log = nil
	}
	if err := p.unchanged(ctx); err != nil {
		return err
	}
	if p.log == nil { // nothing can be said of a log that cannot be read
		p.found = append(p.found, finding{kind: LogUnreadable, subject: p.a.ID, evidence: map[string]any{"redis": map[string]any{"readable": false}}})
		p.x.run.Activities++
		return p.record(ctx, false)
	}
	p.compareCounters()
	return p.compareStores(ctx, adjustments, look)
}

func (p *pass) skip(err error) error {
	if err == nil {
		p.x.run.Activities++
		p.x.run.Skipped++
	}
	return err
}

// unchanged returns errMoved unless the set still has the life that the snapshot saw, on the same run of the server.
func (p *pass) unchanged(ctx context.Context) error {
	shot, err := p.r.stock.Snapshot(ctx, &p.facts)
	if errors.Is(err, stock.ErrNotLoaded) {
		return errMoved
	}
	if err != nil {
		return err
	}
	run, err := p.r.stock.RunID(ctx, p.a.ID)
	if err != nil {
		return err
	}
	if run != p.run || shot.Epoch != p.shot.Epoch || shot.State != stock.Open {
		return errMoved
	}
	return nil
}

// compareStores pairs log and rows, mends, records, and notes what was proven.
func (p *pass) compareStores(ctx context.Context, adjustments []adjustmentRow, look *look) (err error) {
	if p.rows, err = p.readRows(ctx); err != nil {
		return err
	}
	contradicts := len(p.rows.mismatch) > 0
	p.found = append(p.found, p.rows.mismatch...)
	if err := p.judgeAll(ctx, !contradicts); err != nil {
		return err
	}
	if err := p.compareAdjustments(ctx, adjustments); err != nil {
		return err
	}
	if err := p.compareMarks(ctx); err != nil {
		return err
	}
	if err := p.unchanged(ctx); err != nil {
		return err
	}
	p.x.run.Activities++
	p.x.run.Checked += p.rows.checked
	p.x.run.Consistent += p.rows.plain
	p.x.run.InFlight += p.inFlight
	if err := p.record(ctx, true); err != nil {
		return err
	}
	if p.x.run.Mode == DryRun {
		return errors.Join(p.failed...)
	}
	if err := p.writeStatuses(ctx, p.rows.statuses); err != nil {
		return err
	}
	if len(p.failed) > 0 {
		return errors.Join(p.failed...)
	}
	err = p.r.stock.MarkWhole(ctx, p.a.ID, p.shot.Epoch, p.run)
	if errors.Is(err, stock.ErrOtherRun) || errors.Is(err, stock.ErrEpoch) || errors.Is(err, stock.ErrNotLoaded) {
		return errMoved
	}
	if err != nil {
		return err
	}
	if len(p.found) == 0 && p.inFlight == 0 && p.mends == 0 && !p.rows.statuses.left && p.rows.statuses.n == 0 {
		return p.remember(ctx, look)
	}
	return nil
}

// compareCounters holds the counters of the snapshot against what the log adds up to.
func (p *pass) compareCounters() {
	for ticketType, want := range p.log.fold(&p.facts) {
		have := p.shot.Types[ticketType]
		if have.Left != want.Left {
			p.counterDiffers(ticketType, have.Left, want.Left)
		}
		for bucket, units := range want.Buckets {
			got := 0
			if bucket < len(have.Buckets) {
				got = have.Buckets[bucket]
			}
			if got != units {
				p.counterDiffers(bucketSubject(bucketKey{ticketType, bucket}), got, units)
			}
		}
	}
}

func (p *pass) counterDiffers(subject string, counter, log int) {
	p.found = append(p.found, finding{kind: CounterDiffers, subject: subject, says: counter - log,
		evidence: map[string]any{"redis": map[string]any{"counter": counter, "log": log, "off": counter - log,
			"seq": fmt.Sprint(p.shot.Seq)}}})
}

// record writes the differences down, after the sale was suspended if MySQL has come to contradict itself. complete says that
// all of the activity was looked at.
func (p *pass) record(ctx context.Context, complete bool) error {
	k, err := readKnown(ctx, p.r.db, p.a.ID)
	if err != nil {
		return err
	}
	news, suspend := 0, false
	kept := p.found[:0]
	for _, f := range p.found {
		digest, err := f.digest()
		if err != nil {
			return err
		}
		key := differenceKey{f.kind, f.subject}
		if k.left[key] == string(digest) {
			continue // a person has seen it and wants it left
		}
		kept = append(kept, f)
		if _, open := k.open[key]; !open {
			news++
			suspend = suspend || f.kind.withinMySQL()
		}
	}
	p.found = kept
	p.x.run.Differences += len(p.found)
	if suspend && p.a.Status == sale.Published {
		if err := p.suspend(ctx); err != nil {
			return err
		}
	}
	if p.x.run.Mode == DryRun {
		return nil
	}
	now, err := p.r.db.Now(ctx, p.r.db)
	if err != nil {
		return err
	}
	whole := len(p.found) <= maxDifferences
	kinds := make(map[DifferenceKind]int)
	for _, f := range p.found {
		kinds[f.kind]++
		if f.order != nil {
			p.setInconsistent(*f.order)
		}
	}
	recorded := p.found[:min(len(p.found), maxDifferences)]
	if err := recordDifferences(ctx, p.r.db, p.a.ID, recorded, k, whole && complete, now); err != nil || news == 0 {
		return err
	}
	return alert.Raise(ctx, p.r.db, alert.Alert{Kind: alertDifferences, Subject: p.a.ID, ActivityID: p.a.ID,
		Evidence: map[string]any{"run": p.x.run.ID, "new": news, "kinds": kinds}}, now)
}

func (p *pass) setInconsistent(id sale.OrderID) {
	if p.rows != nil && !p.rows.twisted[id] {
		p.rows.statuses.setBoth(id, inconsistent)
	}
}

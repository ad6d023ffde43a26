package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/infra/local/server"
	"holdfast/shared/reconcile/invariant"
)

// Options say what to simulate.
type Options struct {
	First   uint64 // seed to begin with
	Seeds   int    // how many, one after the other
	Steps   int    // boundaries of each, before everything dies
	Workers int    // worlds side by side, each with its own servers; one waits for its servers half of the time
	Done    func() // is called after each seed; nil: nobody counts them
}

// Failure is a seed after which something did not hold.
type Failure struct {
	Seed  uint64
	Wrong string   // what did not hold, a line each
	Trace []string // what happened, a line a step
}

// Report is the outcome of a simulation.
type Report struct {
	Seeds, Steps int
	Took         time.Duration
	Failures     []Failure         // by seed; a few at most
	Reached      map[string]int    // repairs by layer and kind
	Missing      []string          // branches of repair that no seed reached
	Courses      map[uint64]uint64 // by seed: what tells one course from another
}

// maxFailures is how many failing seeds end a simulation early.
const maxFailures = 5

// Run simulates. The error is for what kept the simulation itself from running.
func Run(ctx context.Context, o Options) (*Report, error) {
	dir, release, err := server.Scratch()
	if err != nil {
		return nil, err
	}
	defer release()
	defer collectSeldom()()
	report := &Report{Reached: make(map[string]int), Courses: make(map[uint64]uint64)}
	var next atomic.Int64
	var mu sync.Mutex
	var workers sync.WaitGroup
	began := time.Now()
	errs := make([]error, o.Workers)
	for i := range o.Workers {
		workers.Go(func() {
			errs[i] = work(ctx, filepath.Join(dir, fmt.Sprint(i)), func(w *world) (bool, error) {
				n := int(next.Add(1)) - 1
				if n >= o.Seeds {
					return false, nil
				}
				branches := invariant.NewBranches()
				r, wrong, err := w.playSeed(ctx, o.First+uint64(n), o.Steps, branches)
				if err != nil {
					return false, err
				}
				mu.Lock()
				defer mu.Unlock()
				report.add(r, wrong, branches)
				if o.Done != nil {
					o.Done()
				}
				return len(report.Failures) < maxFailures, nil
			})
		})
	}
	workers.Wait()
	report.Took = time.Since(began)
	report.finish()
	return report, errors.Join(errs...)
}

// collectSeldom has the garbage collector run less often, until what it returns is called: a seed leaves much behind, and soon all of it
// is garbage.
func collectSeldom() (restore func()) {
	before := debug.SetGCPercent(400)
	return func() { debug.SetGCPercent(before) }
}

// work makes a world and hands it to one again and again until that says no.
func work(ctx context.Context, dir string, one func(w *world) (more bool, err error)) error {
	w, err := newWorld(ctx, dir)
	if err != nil {
		return err
	}
	defer w.close()
	for ctx.Err() == nil {
		if more, err := one(w); err != nil || !more {
			return err
		}
	}
	return ctx.Err()
}

// playSeed plays a seed from its beginning to the verdict.
func (w *world) playSeed(ctx context.Context, seed uint64, steps int, branches *invariant.Branches) (*run, string, error) {
	r, err := w.newRun(ctx, seed, draw)
	if err != nil {
		return nil, "", fmt.Errorf("seed %d: %w", seed, err)
	}
	if err := errors.Join(r.play(steps), r.settle()); err != nil {
		return nil, "", fmt.Errorf("seed %d: %w", seed, err)
	}
	wrong, err := r.verdict(branches)
	if err != nil {
		return nil, "", fmt.Errorf("seed %d: %w", seed, err)
	}
	return r, wrong, nil
}

func (p *Report) add(r *run, wrong string, branches *invariant.Branches) {
	p.Seeds++
	p.Steps += r.steps
	p.Courses[r.seed] = r.trace.digest()
	for name, n := range branches.Reached() {
		p.Reached[name] += n
	}
	if wrong != "" {
		p.Failures = append(p.Failures, Failure{Seed: r.seed, Wrong: wrong, Trace: r.trace.lines()})
	}
}

func (p *Report) finish() {
	slices.SortFunc(p.Failures, func(a, b Failure) int { return int(min(1, max(-1, int64(a.Seed-b.Seed)))) })
	for _, name := range slices.Concat(invariant.RepairBranches(), moneyBranches) {
		if p.Reached[name] == 0 {
			p.Missing = append(p.Missing, name)
		}
	}
}

// Branches lists the branches of repair that were reached, by name.
func (p *Report) Branches() []string { return slices.Sorted(maps.Keys(p.Reached)) }

// Replay plays one seed and gives its course, a line a step, and what did not hold; "" when all did.
func Replay(ctx context.Context, seed uint64, steps int) (course []string, wrong string, err error) {
	dir, release, err := server.Scratch()
	if err != nil {
		return nil, "", err
	}
	defer release()
	err = work(ctx, dir, func(w *world) (bool, error) {
		r, said, err := w.playSeed(ctx, seed, steps, invariant.NewBranches())
		if err == nil {
			course, wrong = r.trace.lines(), said
		}
		return false, err
	})
	return course, wrong, err
}

package sim

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"holdfast/infra/local/server"
	"holdfast/shared/reconcile/invariant"
)

// cuts are what befalls the call at a boundary, counted from 0. To die before a call is to die after the one before it: only the first
// call needs both.
func cuts(boundary int) []fault {
	switch {
	case boundary < 0:
		return []fault{none}
	case boundary == 0:
		return []fault{diesBefore, diesAfter, unanswered}
	}
	return []fault{diesAfter, unanswered}
}

// Cut is one run of a scenario that was cut off.
type Cut struct {
	Scenario string
	Boundary int    // counted from 0
	Fault    string // what befell the call
	Wrong    string // what did not hold afterwards
	Trace    []string
}

// Enumeration is the outcome of cutting off every scenario at every boundary.
type Enumeration struct {
	Boundaries map[string]int // by scenario
	Runs       int
	Failures   []Cut
}

// Strides say at which boundaries scenarios are cut off: 1 is at every one, n at the first and at every n-th, each scenario beginning
// at another.
type Strides struct{ Stock, Money int }

// Scenarios is how many there are.
func Scenarios() int { return len(stockScenarios) + len(moneyScenarios) }

// Enumerate cuts off every scenario at its boundaries, by death or by a lost answer, lets the system settle, and checks it. It calls done
// after each scenario. The error is for what kept it from doing so.
func Enumerate(ctx context.Context, workers int, every Strides, done func()) (*Enumeration, error) {
	dir, release, err := server.Scratch()
	if err != nil {
		return nil, err
	}
	defer release()
	defer collectSeldom()()
	e := &Enumeration{Boundaries: make(map[string]int)}
	type task struct {
		*scenario
		chosen func(boundary int) bool
	}
	tasks := make(chan task, Scenarios())
	for i := range moneyScenarios {
		tasks <- task{&moneyScenarios[i], everyNth(every.Money, i)}
	}
	for i := range stockScenarios {
		tasks <- task{&stockScenarios[i], everyNth(every.Stock, i)}
	}
	close(tasks)
	var mu sync.Mutex
	var group sync.WaitGroup
	errs := make([]error, workers)
	for i := range workers {
		group.Go(func() {
			errs[i] = work(ctx, filepath.Join(dir, fmt.Sprint(i)), func(w *world) (bool, error) {
				s, more := <-tasks
				if !more {
					return false, nil
				}
				n, runs, failures, err := w.cutEverywhere(ctx, s.scenario, s.chosen)
				mu.Lock()
				defer mu.Unlock()
				e.Boundaries[s.name] = n
				e.Runs += runs
				e.Failures = append(e.Failures, failures...)
				done()
				return true, err
			})
		})
	}
	group.Wait()
	return e, errors.Join(errs...)
}

// everyNth chooses the first boundary and every n-th from another one on.
func everyNth(n, from int) func(boundary int) bool {
	return func(boundary int) bool { return boundary == 0 || boundary%n == from%n }
}

// cutEverywhere plays a scenario once whole, which counts its boundaries, and then once for each chosen boundary and fault.
func (w *world) cutEverywhere(ctx context.Context, s *scenario, chosen func(int) bool) (boundaries, runs int, failures []Cut, err error) {
	boundaries = 1
	for at := -1; at < boundaries; at++ {
		if at > 0 && !chosen(at) {
			continue
		}
		for _, f := range cuts(at) {
			c, n, err := w.cut(ctx, s, at, f)
			if err != nil {
				return 0, 0, nil, err
			}
			if runs++; c.Wrong != "" {
				failures = append(failures, c)
			}
			if at < 0 {
				boundaries = n
			}
		}
	}
	return boundaries, runs, failures, nil
}

// cut plays a scenario whose target meets a fault at one boundary, and counts the target's boundaries.
func (w *world) cut(ctx context.Context, s *scenario, at int, f fault) (Cut, int, error) {
	c := Cut{Scenario: s.name, Boundary: at, Fault: f.String()}
	failed := func(err error) (Cut, int, error) {
		return c, 0, fmt.Errorf("%s, boundary %d, %s: %w", s.name, at, f, err)
	}
	r, err := w.newRun(ctx, 1, s.plan)
	if err != nil {
		return failed(err)
	}
	if s.prepare != nil {
		r.decide = func(*actor, *call) fault { return none }
		s.prepare(r)
	}
	n := 0
	target := s.target(r)
	r.decide = func(*actor, *call) fault {
		if n++; n-1 == at {
			return f
		}
		return none
	}
	r.toEnd(target)
	if err := errors.Join(r.failed, r.settle()); err != nil {
		return failed(err)
	}
	if c.Wrong, err = r.verdict(invariant.NewBranches()); err != nil {
		return failed(err)
	}
	if c.Wrong != "" {
		c.Trace = r.trace.lines()
	}
	return c, n, nil
}

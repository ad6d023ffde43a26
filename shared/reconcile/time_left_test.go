package reconcile

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast/shared/sqltx"
)

var errReal = errors.New("a real one")

func TestAnErrorThatStandsBesideADeadlineSurvives(t *testing.T) {
	t.Parallel()
	late := fmt.Errorf("job a: %w", context.DeadlineExceeded)
	away := fmt.Errorf("%w: %w", sqltx.ErrUnavailable, late)
	for name, c := range map[string]struct {
		err  error
		left bool
	}{
		"nothing":             {nil, false},
		"the deadline":        {context.DeadlineExceeded, false},
		"deadlines":           {errors.Join(late, nil, away), false},
		"a real one":          {errReal, true},
		"beside a deadline":   {errors.Join(late, errReal), true},
		"deep beside one":     {fmt.Errorf("jobs: %w", errors.Join(away, fmt.Errorf("job b: %w", errors.Join(errReal, late)))), true},
		"deadlines, wrapped":  {fmt.Errorf("jobs: %w", errors.Join(late, errors.Join(away))), false},
		"who gave up himself": {context.Canceled, true},
	} {
		got := withoutTimeUp(c.err)
		if (got != nil) != c.left || errors.Is(c.err, errReal) && !errors.Is(got, errReal) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestAStepThatHasNoTimeLeftIsNoFailure(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if err := InTimeLeft(over, func() error { t.Error("it is run"); return errReal }); err != nil {
		t.Errorf("too late to begin: %v", err)
	}
	soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	err := InTimeLeft(soon, func() error { <-soon.Done(); return errors.Join(soon.Err(), errReal) })
	if !errors.Is(err, errReal) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("within it: %v", err)
	}
	if err := InTimeLeft(t.Context(), func() error { return context.DeadlineExceeded }); err == nil {
		t.Error("a deadline of its own, with time left, is forgotten")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := InTimeLeft(gone, func() error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("given up by the caller: %v", err)
	}
}

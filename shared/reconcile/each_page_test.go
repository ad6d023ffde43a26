package reconcile

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// source gives the pages 1..last, and an error instead of page bad.
type source struct {
	last, bad int
	at        int
	reading   bool
	t         *testing.T
}

var errSource = errors.New("no page")

func (s *source) read(context.Context) (page int, more bool, err error) {
	if s.reading {
		s.t.Error("two pages are read at once")
	}
	s.reading = true
	defer func() { s.reading = false }()
	if s.at++; s.at == s.bad {
		return 0, false, errSource
	}
	return s.at, s.at < s.last, nil
}

func TestPagesAreUsedOnceAndInOrderWhetherReadAheadOrNot(t *testing.T) {
	t.Parallel()
	for _, ahead := range []bool{true, false} {
		s := &source{last: 100, t: t}
		var used []int
		err := eachPage(t.Context(), ahead, s.read, func(page int) error {
			used = append(used, page)
			return nil
		})
		if err != nil || len(used) != 100 || !slices.IsSorted(used) || used[99] != 100 {
			t.Errorf("ahead %v: %v, %v", ahead, used, err)
		}
	}
}

func TestWhatWasReadBeforeAFailureIsUsedAndTheFailureReturned(t *testing.T) {
	t.Parallel()
	for _, ahead := range []bool{true, false} {
		s := &source{last: 100, bad: 7, t: t}
		used := 0
		err := eachPage(t.Context(), ahead, s.read, func(int) error { used++; return nil })
		if !errors.Is(err, errSource) || used != 6 {
			t.Errorf("ahead %v: %d pages used, %v", ahead, used, err)
		}
	}
}

func TestNothingIsReadAnyMoreOnceAPageCouldNotBeUsed(t *testing.T) {
	t.Parallel()
	errUse := errors.New("no use")
	for _, ahead := range []bool{true, false} {
		s := &source{last: 1000, t: t}
		used := 0
		err := eachPage(t.Context(), ahead, s.read, func(page int) error {
			if used++; page == 3 {
				return errUse
			}
			return nil
		})
		if !errors.Is(err, errUse) || used != 3 || s.at > 3+pagesAhead+2 {
			t.Errorf("ahead %v: %d used, %d read, %v", ahead, used, s.at, err)
		}
	}
}

func TestReadingAheadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := &source{last: 1 << 30, t: t}
	err := eachPage(ctx, true, s.read, func(page int) error {
		if page == 5 {
			cancel()
		}
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestReadingGivesWayOnlyToWhatMakesPagesSlower(t *testing.T) {
	t.Parallel()
	var way courtesy
	for i, page := range []struct{ took, wait time.Duration }{
		{20 * time.Millisecond, 0}, // the first one knows of no other
		{50 * time.Millisecond, 0}, // pages are not quite alike
		{60 * time.Millisecond, 20 * time.Millisecond},
		{10 * time.Millisecond, 0},
		{50 * time.Millisecond, 50 * time.Millisecond}, // the quickest one counts
		{time.Minute, longestWait},
		{10 * time.Millisecond, 0},
	} {
		if got := way.wait(page.took); got != page.wait {
			t.Errorf("page %d: waits %v, want %v", i, got, page.wait)
		}
	}
}

func TestReadingHurriesOnceHalfOfItsTimeIsOver(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	for _, c := range []struct{ ahead, wait time.Duration }{
		{time.Hour, longestWait},
		{-time.Second, 0},
	} {
		ctx, cancel := context.WithDeadline(t.Context(), begun.Add(c.ahead))
		way := newCourtesy(ctx)
		cancel()
		way.wait(time.Millisecond)
		if got := way.wait(time.Minute); got != c.wait {
			t.Errorf("with %v left it waits %v, want %v", c.ahead, got, c.wait)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	way := newCourtesy(ctx)
	way.wait(time.Millisecond)
	<-ctx.Done()
	if got := way.wait(time.Minute); got != 0 {
		t.Errorf("at the end of its time it waits %v", got)
	}
}

func TestReadingThatGivesWayEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	pages := 0
	read := func(context.Context) (int, bool, error) {
		if pages++; pages == 2 {
			time.Sleep(5 * time.Millisecond) // so it would wait
			cancel()
		}
		return pages, true, nil
	}
	if err := eachPage(ctx, true, read, func(int) error { return nil }); !errors.Is(err, context.Canceled) || pages > 2+pagesAhead {
		t.Errorf("%d pages, %v", pages, err)
	}
}

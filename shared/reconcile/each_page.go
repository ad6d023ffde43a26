package reconcile

import (
	"context"
	"time"
)

// eachPage reads pages one after the other until there are no more, and uses them in that order. With ahead the next pages are read
// while one is used, so that a store and this process work at the same time; read is then called in a goroutine of its own, which has
// ended when eachPage returns, and never twice at once; it gives way to others who need the stores. It returns the first error of either.
func eachPage[T any](ctx context.Context, ahead bool, read func(ctx context.Context) (page T, more bool, err error), use func(page T) error) error {
	if ahead {
		return eachPageAhead(ctx, read, use)
	}
	for {
		page, more, err := read(ctx)
		if err != nil {
			return err
		}
		if err := use(page); err != nil || !more {
			return err
		}
	}
}

// pagesAhead is how many pages may wait to be used: enough to even out slow ones, few enough to weigh little.
const pagesAhead = 2

func eachPageAhead[T any](ctx context.Context, read func(ctx context.Context) (page T, more bool, err error), use func(page T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pages := make(chan T, pagesAhead)
	var failed error // of reading; to be looked at once pages is closed
	go func() {
		defer close(pages)
		way := newCourtesy(ctx)
		for more := true; more; {
			if failed = ctx.Err(); failed != nil { // a page that is drained makes room for another, which nobody would use
				return
			}
			var page T
			began := time.Now()
			if page, more, failed = read(ctx); failed != nil {
				return
			}
			if wait := way.wait(time.Since(began)); wait > 0 && more {
				select {
				case <-time.After(wait):
				case <-ctx.Done():
				}
			}
			select {
			case pages <- page:
			case <-ctx.Done():
				failed = ctx.Err()
				return
			}
		}
	}()
	for page := range pages {
		if err := use(page); err != nil {
			cancel()
			for range pages { // until the reader has ended
			}
			return err
		}
	}
	return failed
}

// courtesy lets a long reading give way. Pages are of one size, so one that takes much longer than the quickest one did had to share the
// stores or the processor with somebody, most likely with buyers.
type courtesy struct {
	quickest time.Duration
	until    time.Time // from then on it hurries; zero: never
}

// newCourtesy gives way during half of the time that ctx has left: a reading that never ends for all its waiting would prove nothing.
func newCourtesy(ctx context.Context) courtesy {
	ends, limited := ctx.Deadline()
	if !limited {
		return courtesy{}
	}
	return courtesy{until: ends.Add(-time.Until(ends) / 2)}
}

// longestWait keeps one slow page, such as the first one of a cold store, from stopping the reading.
const longestWait = 100 * time.Millisecond

// wait says how long to leave the stores to others after a page that took so long: twice what it took more than two and a half times the
// quickest one. Pages vary by nearly as much by themselves, and a lower bound slowed a reading that had the stores to itself by two fifths.
func (c *courtesy) wait(took time.Duration) time.Duration {
	if c.quickest == 0 || took < c.quickest {
		c.quickest = took
	}
	if !c.until.IsZero() && time.Now().After(c.until) {
		return 0
	}
	return max(0, min(2*(took-c.quickest*5/2), longestWait))
}

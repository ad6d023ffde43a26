package reconcile

import "context"

// eachPage reads pages one after the other until there are no more, and uses them in that order. With ahead the next pages are read
// while one is used, so that a store and this process work at the same time; read is then called in a goroutine of its own, which has
// ended when eachPage returns, and never twice at once. It returns the first error of either.
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
		for more := true; more; {
			if failed = ctx.Err(); failed != nil { // a page that is drained makes room for another, which nobody would use
				return
			}
			var page T
			if page, more, failed = read(ctx); failed != nil {
				return
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

package checkout

import (
	"context"
	"errors"
	"time"

	"holdfast/shared/stock"
)

// How long a pause between two tries is at most, at first and in the end.
const (
	firstBackoff = 20 * time.Millisecond
	longestPause = 300 * time.Millisecond
)

// persist calls Redis again, after pauses of capped exponential backoff with full jitter, while it cannot be reached or does not
// answer and the budget lasts. What it calls must be safe to repeat. delay is the time from the first try to the end when that try
// failed, else 0.
func (c *Checkout) persist(ctx context.Context, budget time.Duration, call func(ctx context.Context) error) (delay time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	began := time.Now()
	for bound := firstBackoff; ; bound = min(2*bound, longestPause) {
		err := call(ctx)
		if !errors.Is(err, stock.ErrUnavailable) && !errors.Is(err, stock.ErrNoAnswer) {
			return delay, err
		}
		if !c.db.Wait(ctx, bound) {
			return time.Since(began), err
		}
		delay = time.Since(began)
	}
}

package reconcile

import "context"

// ringForNotices wakes the sender of notices when some have been due for longer than a minute: whoever wrote them could not ring, or the
// sender could not publish them.
func (c *Compensate) ringForNotices(ctx context.Context, sum *CompensateSummary) (err error) {
	sum.Rung, err = c.r.checkout.RingIfLate(ctx)
	return err
}

package checkout

import (
	"context"

	"holdfast/shared/catalog"
)

// WalkWaitlist walks without a lease, as two do when one of them is slower than its lease.
func (c *Checkout) WalkWaitlist(ctx context.Context, activityID string) error {
	a, err := catalog.Get(ctx, c.db, activityID)
	if err != nil {
		return err
	}
	facts := a.Facts()
	waiting, err := c.stock.Waiting(ctx, activityID, facts.TypeIDs())
	if err != nil {
		return err
	}
	for i, w := range waiting {
		f := filler{c: c, a: a, facts: &facts, ticketType: facts.Types[i].ID, free: w.Left}
		if err := f.walk(ctx); err != nil {
			return err
		}
	}
	return nil
}

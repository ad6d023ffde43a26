package checkout

import (
	"context"

	"holdfast/shared/catalog"
)

// WalkWaitlist walks without a lease, and without a look whether the sale is over: as a walk does that is slower than its lease, or than
// the end of the sale.
func (c *Checkout) WalkWaitlist(ctx context.Context, activityID string) error {
	return c.WalkWaitlistWithin(ctx, activityID, bounded.page, bounded.pages, bounded.tries)
}

// WalkWaitlistWithin is WalkWaitlist with other bounds.
func (c *Checkout) WalkWaitlistWithin(ctx context.Context, activityID string, page, pages, tries int) error {
	a, err := catalog.Get(ctx, c.db, activityID)
	if err == nil {
		_, err = c.walkWaitlist(ctx, a, bounds{page: page, pages: pages, tries: tries})
	}
	return err
}

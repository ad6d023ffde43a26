package checkout

import (
	"context"
	"slices"
	"time"
)

// How long whoever released units looks whether anybody waits for them, and offers them. Both come after the release, which is recorded by
// then; what is not done in time is left to the next release and to the minute pass.
const (
	lookBudget  = 200 * time.Millisecond
	offerBudget = time.Second
)

// offerReleased offers units that came back to those who wait. While nobody waits it costs one call of Redis per activity.
func (c *Checkout) offerReleased(ctx context.Context, t *telling) {
	types := make(map[string][]string) // by activity
	for _, e := range t.released {
		if list := types[e.order.ActivityID]; !slices.Contains(list, e.order.TicketType) {
			types[e.order.ActivityID] = append(list, e.order.TicketType)
		}
	}
	if len(types) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, offerBudget)
	defer cancel()
	for activityID, list := range types {
		c.offerFree(ctx, activityID, list)
	}
}

// offerFree fills an activity's waitlist if somebody waits for one of these types and units of it are free.
func (c *Checkout) offerFree(ctx context.Context, activityID string, types []string) {
	look, cancel := context.WithTimeout(ctx, lookBudget)
	defer cancel()
	waiting, err := c.stock.Waiting(look, activityID, types)
	if err != nil {
		c.log.Info("nobody looked who waits for units that came back; the minute pass will", "activityId", activityID, "error", err)
		return
	}
	for _, w := range waiting {
		if w.Waiters > 0 && w.Left > 0 {
			if _, err := c.FillWaitlist(ctx, activityID); err != nil {
				c.log.Warn("a waitlist is left to the minute pass", "activityId", activityID, "error", err)
			}
			return
		}
	}
}

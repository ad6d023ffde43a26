package checkout

import (
	"context"
	"database/sql"
	"time"

	"holdfast/shared/sale"
	"holdfast/shared/waitlist"
)

// closeWaitlist closes the entries that are WAITING, page by page, and lets the public in. What is beyond the bounds is closed by the next.
func (c *Checkout) closeWaitlist(ctx context.Context, a *sale.Activity, reason waitlist.Reason, now time.Time) (closed int, err error) {
	for _, t := range a.TicketTypes {
		for range bounded.pages {
			page, err := waitlist.InTurn(ctx, c.db, a.ID, t.ID, waitlist.Turn{}, bounded.page)
			if err != nil {
				return closed, err
			}
			if len(page) == 0 {
				break
			}
			ids := make([]waitlist.EntryID, len(page))
			for i := range page {
				ids[i] = page[i].ID
			}
			n, err := c.closeEntries(ctx, ids, reason, now)
			if err != nil {
				return closed, err
			}
			closed += n
			if _, err := c.stock.LeaveWaitlist(ctx, a.ID, t.ID, ids); err != nil {
				return closed, err
			}
		}
	}
	return closed, nil
}

// closeEntries closes those of these entries that are WAITING, and counts them.
func (c *Checkout) closeEntries(ctx context.Context, ids []waitlist.EntryID, reason waitlist.Reason, now time.Time) (closed int, err error) {
	err = c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		closed, err = waitlist.Close(ctx, tx, ids, reason, now)
		return err
	})
	return closed, err
}

// leaveSet takes an entry that does not wait any more out of the set. What fails is left to the minute pass.
func (c *Checkout) leaveSet(ctx context.Context, activityID, ticketType string, id waitlist.EntryID) {
	if _, err := c.stock.LeaveWaitlist(ctx, activityID, ticketType, []waitlist.EntryID{id}); err != nil {
		c.log.Warn("a waitlist's set is left to the minute pass", "activityId", activityID, "entry", id, "error", err)
	}
}

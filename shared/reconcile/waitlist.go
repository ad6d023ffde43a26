package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"holdfast/shared/catalog"
	"holdfast/shared/checkout"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/waitlist"
)

// Waited counts what a pass over the waitlists did.
type Waited struct {
	Added   int `json:"added"`   // entries that wait and that their set had lost, or had not got yet
	Removed int `json:"removed"` // members of sets that do not wait any more
	checkout.Filled
}

const (
	waiterPage = 500 // members, and rows, that are read at once
	waitedPage = 200 // activities that are read at once
)

// passWaitlists brings the sets of waiters to what the rows say, then offers what is free, activity by activity: those where somebody
// waits by the rows, and those of the activities in open whose sets are not empty. Activities that are not loaded are left alone: their load
// fills the sets. It returns the errors of both stores, with what was done.
func (c *Compensate) passWaitlists(ctx context.Context, open []string) (sum Waited, err error) {
	waited, err := c.r.waited(ctx)
	if err != nil {
		return sum, err
	}
	var errs []error
	for _, id := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(open, waited)))) {
		did, err := c.passWaitlist(ctx, id, slices.Contains(waited, id))
		sum.Added, sum.Removed = sum.Added+did.Added, sum.Removed+did.Removed
		sum.Add(did.Filled)
		if errors.Is(err, stock.ErrNotLoaded) { // a load is under way or was asked for
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("the waitlist of %s: %w", id, err))
		}
	}
	return sum, errors.Join(errs...)
}

// passWaitlist does it for one activity. waited says that somebody waits by the rows.
func (c *Compensate) passWaitlist(ctx context.Context, activityID string, waited bool) (did Waited, err error) {
	a, err := catalog.Get(ctx, c.r.db, activityID)
	if err != nil {
		return did, err
	}
	if !waited {
		facts := a.Facts()
		waiting, err := c.r.stock.Waiting(ctx, a.ID, facts.TypeIDs())
		if err != nil || !slices.ContainsFunc(waiting, func(w stock.Waiting) bool { return w.Waiters > 0 }) {
			return did, err
		}
	}
	if did, err = c.r.syncWaiters(ctx, a); err != nil && !errors.Is(err, stock.ErrNotLoaded) {
		return did, err
	}
	// A sale that is over has its entries closed also when it is not loaded any more.
	did.Filled, err = c.r.checkout.FillWaitlist(ctx, a.ID)
	return did, err
}

// waited lists the activities in which somebody waits by the rows.
func (r *Reconciler) waited(ctx context.Context) (ids []string, err error) {
	for after := ""; ; after = ids[len(ids)-1] {
		page, err := waitlist.Waited(ctx, r.db, after, waitedPage)
		if err != nil {
			return nil, err
		}
		ids = append(ids, page...)
		if len(page) < waitedPage {
			return ids, nil
		}
	}
}

// syncWaiters reads the sets of an activity's waiters, then the rows: it adds the entries that are WAITING and removes the members it has
// read that are not. The order matters: an entry that was in the set before its row was read, and is not WAITING then, never will be again.
func (r *Reconciler) syncWaiters(ctx context.Context, a *sale.Activity) (did Waited, err error) {
	for _, t := range a.TicketTypes {
		members, err := r.members(ctx, a.ID, t.ID)
		if err != nil {
			return did, err
		}
		removed, err := r.removeWaiters(ctx, a.ID, t.ID, members)
		did.Removed += removed
		if err != nil {
			return did, err
		}
		added, err := r.addWaiters(ctx, a.ID, t.ID)
		did.Added += added
		if err != nil {
			return did, err
		}
	}
	return did, nil
}

func (r *Reconciler) members(ctx context.Context, activityID, ticketType string) (ids []sale.EntryID, err error) {
	for cursor := uint64(0); ; {
		page, err := r.stock.ScanWaiters(ctx, activityID, ticketType, cursor, waiterPage)
		if err != nil {
			return nil, err
		}
		ids = append(ids, page.IDs...)
		if cursor = page.Next; cursor == 0 {
			return ids, nil
		}
	}
}

func (r *Reconciler) removeWaiters(ctx context.Context, activityID, ticketType string, members []sale.EntryID) (removed int, err error) {
	for page := range slices.Chunk(members, waiterPage) {
		statuses, err := waitlist.Statuses(ctx, r.db, page)
		if err != nil {
			return removed, err
		}
		gone := slices.DeleteFunc(slices.Clone(page), func(id sale.EntryID) bool { return statuses[id] == waitlist.Waiting })
		n, err := r.stock.LeaveWaitlist(ctx, activityID, ticketType, gone)
		removed += n
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// addWaiters adds the entries that are WAITING, and looks at them again: whoever has ended one since its row was read may have looked for it
// in the set before it was there.
func (r *Reconciler) addWaiters(ctx context.Context, activityID, ticketType string) (added int, err error) {
	for after := (waitlist.Turn{}); ; {
		page, err := waitlist.InTurn(ctx, r.db, activityID, ticketType, after, waiterPage)
		if err != nil || len(page) == 0 {
			return added, err
		}
		ids := make([]sale.EntryID, len(page))
		for i := range page {
			ids[i] = page[i].ID
		}
		n, err := r.stock.AddWaiters(ctx, activityID, ticketType, ids)
		added += n
		_, looked := r.removeWaiters(ctx, activityID, ticketType, ids) // also without an answer, which may have been lost
		if err = errors.Join(err, looked); err != nil {
			return added, err
		}
		after = page[len(page)-1].Turn()
	}
}

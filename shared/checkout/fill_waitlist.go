package checkout

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
	"holdfast/shared/waitlist"
)

// Filled counts what a walk over a waitlist did.
type Filled struct {
	Offered int `json:"offered"` // entries that an order was offered to
	Closed  int `json:"closed"`  // entries that nothing can be offered to any more
}

// Add adds what another walk did.
func (f *Filled) Add(g Filled) { f.Offered, f.Closed = f.Offered+g.Offered, f.Closed+g.Closed }

const mostAttempts = 10 // dead order ids of one entry that one walk goes through

// bounds keep a walk over one type's entries, however many wait, well within its lease.
type bounds struct {
	page  int // entries that are read at once
	pages int // that are read
	tries int // entries that units are taken for
}

// bounded are the bounds of every walk.
var bounded = bounds{page: 100, pages: 100, tries: 500}

// FillWaitlist walks over an activity's waitlist and offers units that are free, in turn. Nothing is offered while the sale is suspended or
// has not begun; when nothing can be offered any more all entries are closed. One walk does a bounded amount of work, and the minute pass
// goes on. Somebody else who walks now has the work: then nothing is done. It may end anywhere, and be run by many at once. It returns the
// errors of both stores, with what was done before.
func (c *Checkout) FillWaitlist(ctx context.Context, activityID string) (sum Filled, err error) {
	a, err := catalog.Get(ctx, c.db, activityID)
	if err != nil {
		return sum, err
	}
	now, err := c.db.Now(ctx, c.db)
	if err != nil {
		return sum, err
	}
	if over := waitlist.Over(a, now); over != "" {
		sum.Closed, err = c.closeWaitlist(ctx, a, over, now)
		return sum, err
	}
	if a.Status != sale.Published || now.Before(a.OpensAt) {
		return sum, nil
	}
	holder := rand.Text()
	var lease sqltx.Lease
	err = c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		lease, err = waitlist.Lease(ctx, tx, activityID, holder, now)
		return err
	})
	if errors.Is(err, sqltx.ErrLeased) {
		return sum, nil
	}
	if err != nil {
		return sum, err
	}
	defer c.endLease(ctx, lease)
	return c.walkWaitlist(ctx, a, bounded)
}

// walkWaitlist walks over the entries of every type.
func (c *Checkout) walkWaitlist(ctx context.Context, a *sale.Activity, most bounds) (sum Filled, err error) {
	facts := a.Facts()
	waiting, err := c.stock.Waiting(ctx, a.ID, facts.TypeIDs())
	if err != nil {
		return sum, err
	}
	var errs []error
	for i, w := range waiting {
		f := filler{c: c, a: a, facts: &facts, ticketType: facts.Types[i].ID, most: most, free: w.Left}
		errs = append(errs, f.walk(ctx))
		sum.Add(f.sum)
	}
	return sum, errors.Join(errs...)
}

func (c *Checkout) endLease(ctx context.Context, lease sqltx.Lease) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteBudget)
	defer cancel()
	now, err := c.db.Now(ctx, c.db)
	if err == nil {
		err = lease.End(ctx, c.db, now)
	}
	if err != nil {
		c.log.Warn("a lease of a waitlist was not given back and will run out", "lease", lease.Name, "error", err)
	}
}

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
			n, err := waitlist.Close(ctx, c.db, ids, reason, now)
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

// filler walks over the entries of one type.
type filler struct {
	c          *Checkout
	a          *sale.Activity
	facts      *sale.Facts
	ticketType string
	most       bounds
	tried      int                // entries that units were to be taken for
	now        time.Time          // when the page was read
	free       int                // units that are left, as far as is known
	passed     []waitlist.EntryID // entries before that wanted more than was free, and of which that is not noted yet
	sum        Filled
}

// walk offers in turn until nothing is free, an entry that is saved up for is reached, nobody is left, or it has done as much as one may.
func (f *filler) walk(ctx context.Context) error {
	after := waitlist.Turn{}
	for range f.most.pages {
		if f.free <= 0 {
			return nil
		}
		page, err := waitlist.InTurn(ctx, f.c.db, f.a.ID, f.ticketType, after, f.most.page)
		if err != nil || len(page) == 0 {
			return err
		}
		if f.now, err = f.c.db.Now(ctx, f.c.db); err != nil {
			return err
		}
		for i := range page {
			if f.free <= 0 || f.tried >= f.most.tries {
				return nil
			}
			if stop, err := f.serve(ctx, &page[i]); err != nil || stop {
				return err
			}
		}
		after = page[len(page)-1].Turn()
	}
	return nil
}

// serve offers to an entry, or passes it over. stop is true when nobody behind it may be served now.
func (f *filler) serve(ctx context.Context, e *waitlist.Entry) (stop bool, err error) {
	if e.Quantity <= f.free {
		f.tried++
		switch end, err := f.offerTo(ctx, e); {
		case err != nil:
			return true, err
		case end == offerMade:
			f.free -= e.Quantity
			f.sum.Offered++
			return false, f.notePassed(ctx)
		case end == offerEnded:
			return false, nil
		case end == offerStopped:
			return true, nil
		}
		if f.free >= e.Quantity { // one of the stores has fewer than the counter said
			f.free = e.Quantity - 1
		}
	}
	if e.Saves(f.now) {
		return true, nil
	}
	if e.MaySave(f.now) {
		saves, err := f.save(ctx, e)
		if err != nil || saves {
			return true, err
		}
	}
	if e.PassedSince == nil {
		f.passed = append(f.passed, e.ID)
	}
	return false, nil
}

// notePassed notes since when entries are passed over, once somebody behind them was served.
func (f *filler) notePassed(ctx context.Context) error {
	if len(f.passed) == 0 {
		return nil
	}
	err := waitlist.PassOver(ctx, f.c.db, f.passed, f.now)
	f.passed = nil
	return err
}

// save begins saving up for an entry, if its type has as many units that are not sold: else it would wait in vain.
func (f *filler) save(ctx context.Context, e *waitlist.Entry) (bool, error) {
	rows, err := stock.Buckets(ctx, f.c.db, f.a.ID)
	if err != nil {
		return false, err
	}
	unsold := 0
	for _, b := range rows {
		if b.TicketType == f.ticketType {
			unsold += b.Capacity + b.Adjusted - b.Sold
		}
	}
	if unsold < e.Quantity {
		return false, nil
	}
	return waitlist.Save(ctx, f.c.db, e.ID, f.now)
}

// offerEnd is how an attempt to offer ended.
type offerEnd int

const (
	offerMade    offerEnd = iota + 1
	offerEnded            // the entry does not wait any more
	offerShort            // too few units: the entry goes on waiting
	offerStopped          // nothing is offered in this sale now
)

// offerTo takes units for an entry, past the gate, and makes its offer. An order id that turns out to be dead is followed by the next
// attempt's. What happened before and was not finished, by a filler that died, is finished by this.
func (f *filler) offerTo(ctx context.Context, e *waitlist.Entry) (offerEnd, error) {
	for range mostAttempts {
		end, err := f.attempt(ctx, e)
		if end != 0 || err != nil {
			return end, err
		}
		fresh, err := waitlist.Get(ctx, f.c.db, e.ID)
		if err != nil {
			return 0, err
		}
		if fresh.Status != waitlist.Waiting {
			f.c.leaveSet(ctx, e.ActivityID, e.TicketType, e.ID)
			return offerEnded, nil
		}
		*e = *fresh
	}
	return offerShort, nil
}

// attempt makes one; 0 stands for one that failed because its order id is dead.
func (f *filler) attempt(ctx context.Context, e *waitlist.Entry) (offerEnd, error) {
	id := f.facts.OfferID(e.ID, e.Attempt)
	got, err := f.c.stock.Reserve(ctx, f.facts, stock.ReserveRequest{OrderID: id, UserID: e.UserID, TicketType: e.TicketType,
		Quantity: e.Quantity, PastGate: true})
	var refusal *stock.Refusal
	if errors.As(err, &refusal) {
		return f.refused(ctx, e, refusal)
	}
	if err != nil {
		return 0, fmt.Errorf("offering to entry %s: %w", e.ID, err)
	}
	if got.Standing == stock.Dead {
		return 0, f.tryAgain(ctx, e)
	}
	o, closed, err := f.c.makeOffer(ctx, offer{Reservation: got.Reservation, entry: e.ID, attempt: e.Attempt})
	if err != nil {
		return 0, err
	}
	if closed {
		f.sum.Closed++
	}
	if !o.Status.Live() {
		f.c.settleQuietly(ctx, Outcome{Cancelled: []order.Order{o}})
		switch o.Reason {
		case order.InsufficientStock:
			return offerShort, nil
		case order.SaleClosed, order.SaleCancelled:
			return offerStopped, nil
		}
		return 0, f.tryAgain(ctx, e)
	}
	f.c.settleQuietly(ctx, Outcome{Live: []order.Order{o}})
	f.c.leaveSet(ctx, e.ActivityID, e.TicketType, e.ID)
	return offerMade, nil
}

// tryAgain raises the attempt of an entry whose order id is dead, unless whoever wrote its tombstone did.
func (f *filler) tryAgain(ctx context.Context, e *waitlist.Entry) error {
	now, err := f.c.db.Now(ctx, f.c.db)
	if err != nil {
		return err
	}
	_, err = waitlist.TryAgain(ctx, f.c.db, e.ID, e.Attempt, now)
	return err
}

// refused ends an attempt that Redis refused.
func (f *filler) refused(ctx context.Context, e *waitlist.Entry, r *stock.Refusal) (offerEnd, error) {
	switch {
	case errors.Is(r, stock.ErrInsufficient):
		f.free = min(f.free, max(0, e.Quantity-r.Shortage))
		return offerShort, nil
	case errors.Is(r, stock.ErrLimit), errors.Is(r, stock.ErrAlreadyReserved):
		now, err := f.c.db.Now(ctx, f.c.db)
		if err != nil {
			return 0, err
		}
		n, err := waitlist.Close(ctx, f.c.db, []waitlist.EntryID{e.ID}, waitlist.PurchaseLimit, now)
		if err != nil {
			return 0, err
		}
		f.sum.Closed += n
		f.c.leaveSet(ctx, e.ActivityID, e.TicketType, e.ID)
		return offerEnded, nil
	}
	return offerStopped, nil
}

// leaveSet takes an entry that does not wait any more out of the set. What fails is left to the minute pass.
func (c *Checkout) leaveSet(ctx context.Context, activityID, ticketType string, id waitlist.EntryID) {
	if _, err := c.stock.LeaveWaitlist(ctx, activityID, ticketType, []waitlist.EntryID{id}); err != nil {
		c.log.Warn("a waitlist's set is left to the minute pass", "activityId", activityID, "entry", id, "error", err)
	}
}

// settleQuietly tells Redis what was committed, as Settle does; what fails is left to repair.
func (c *Checkout) settleQuietly(ctx context.Context, out Outcome) {
	t := c.tell(ctx, out, settleBudget, false)
	c.noteAtOnce(ctx, t)
	if err := t.err(); err != nil {
		c.log.Warn("redis is told of an offer by repair", "error", err)
	}
}

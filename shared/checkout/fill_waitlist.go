package checkout

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/alert"
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

// Bounds of what one walk goes past.
const (
	mostAttempts = 10 // dead order ids of one entry
	mostBroken   = 10 // entries whose offers fail: with more of them something else is to blame
)

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
	broken     int                // entries whose offers failed
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
		case end == offerEnded, end == offerBroken:
			return false, nil
		case end == offerPutOff:
			return e.Saves(f.now), nil
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
	err := f.c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error { return waitlist.PassOver(ctx, tx, f.passed, f.now) })
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
	saves := false
	err = f.c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		done, err := waitlist.Save(ctx, tx, e.ID, f.now)
		saves = saves || done // a run whose COMMIT stayed without answer may have been the one that did it
		return err
	})
	return saves, err
}

// offerEnd is how an attempt to offer ended.
type offerEnd int

const (
	offerMade    offerEnd = iota + 1
	offerEnded            // the entry does not wait any more
	offerShort            // too few units: the entry goes on waiting
	offerPutOff           // Redis does not give the user any units yet: the entry goes on waiting
	offerBroken           // its rows do not let it be offered anything: it goes on waiting, and a person was told
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
	if errors.Is(err, stock.ErrReplayDiffers) {
		return f.failed(ctx, e, id, err)
	}
	if err != nil {
		return 0, fmt.Errorf("offering to entry %s: %w", e.ID, err)
	}
	if got.Standing == stock.Dead {
		return 0, f.tryAgain(ctx, e)
	}
	o, closed, err := f.c.makeOffer(ctx, offer{Reservation: got.Reservation, entry: e.ID, attempt: e.Attempt})
	if err != nil {
		return f.failed(ctx, e, id, err)
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
	return f.c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := waitlist.TryAgain(ctx, tx, e.ID, e.Attempt, now)
		return err
	})
}

// refused ends an attempt that Redis refused.
func (f *filler) refused(ctx context.Context, e *waitlist.Entry, r *stock.Refusal) (offerEnd, error) {
	switch {
	case errors.Is(r, stock.ErrInsufficient):
		f.free = min(f.free, max(0, e.Quantity-r.Shortage))
		return offerShort, nil
	case errors.Is(r, stock.ErrLimit), errors.Is(r, stock.ErrAlreadyReserved):
		return f.atLimit(ctx, e)
	}
	return offerStopped, nil
}

// atLimit closes an entry whose user Redis says to hold too many units, if the database says so too: closed is final, and Redis may not
// have been told yet that an order of the user has ended.
func (f *filler) atLimit(ctx context.Context, e *waitlist.Entry) (end offerEnd, err error) {
	closed := 0
	err = f.c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		end, closed = offerPutOff, 0
		a, err := f.c.lockActivity(ctx, tx, e.ActivityID)
		if err != nil {
			return err
		}
		held, err := order.Held(ctx, tx, order.Holder{ActivityID: e.ActivityID, UserID: e.UserID})
		if err != nil || held+e.Quantity <= a.PerUserLimit {
			return err
		}
		now, err := f.c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		end = offerEnded
		closed, err = waitlist.Close(ctx, tx, []waitlist.EntryID{e.ID}, waitlist.PurchaseLimit, now)
		return err
	})
	if err != nil {
		return 0, err
	}
	f.sum.Closed += closed
	if end == offerEnded {
		f.c.leaveSet(ctx, e.ActivityID, e.TicketType, e.ID)
	}
	return end, nil
}

// offerFailed is raised for an entry whose rows do not let it be offered anything.
const offerFailed alert.Kind = "OFFER_FAILED"

// failed ends an attempt that failed. When that may lie in rows of the entry or its user, or in what the log in Redis has under its order
// id, a person is told, and those behind are served: the entry keeps its place, and the units that were taken for it.
func (f *filler) failed(ctx context.Context, e *waitlist.Entry, id sale.OrderID, cause error) (offerEnd, error) {
	f.broken++
	if !liesInRows(ctx, cause) || sqltx.Retryable(cause) || f.broken > mostBroken { // a database that is away, or rows that others hold
		return 0, cause
	}
	f.c.log.Error("an entry of a waitlist cannot be offered anything", "activityId", e.ActivityID, "entry", e.ID, "orderId", id, "error", cause)
	return offerBroken, f.c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now, err := f.c.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		return alert.Raise(ctx, tx, alert.Alert{Kind: offerFailed, Subject: e.ID.String(), ActivityID: e.ActivityID, Evidence: map[string]any{
			"orderId": id, "ticketType": e.TicketType, "quantity": e.Quantity, "attempt": e.Attempt}}, now)
	})
}

// settleQuietly tells Redis what was committed, as Settle does; what fails is left to repair.
func (c *Checkout) settleQuietly(ctx context.Context, out Outcome) {
	t := c.tell(ctx, out, settleBudget, false)
	c.noteAtOnce(ctx, t)
	if err := t.err(); err != nil {
		c.log.Warn("redis is told of an offer by repair", "error", err)
	}
}

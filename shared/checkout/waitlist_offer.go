package checkout

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/money"
	"holdfast/shared/notice"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/waitlist"
)

// offer is units that were taken in Redis for an entry of the waitlist, under the id that follows from the entry and its attempt.
type offer struct {
	sale.Reservation
	entry   waitlist.EntryID
	attempt int
}

// makeOffer finishes an offer in one transaction: the entry becomes OFFERED and gets an UNPAID order, or the order id gets a CANCELLED
// row, and the entry may be closed with it. It returns that row, or the one that was there: whoever came before has decided. It may be
// repeated, and run by many at once.
func (c *Checkout) makeOffer(ctx context.Context, f offer) (o order.Order, closed bool, err error) {
	err = c.repeatable(ctx, func(ctx context.Context, tx *sql.Tx) error {
		o, closed, err = c.writeOffer(ctx, tx, f)
		return err
	})
	if err == nil && o.Status.Live() {
		c.ring(ctx)
	}
	return o, closed, err
}

func (c *Checkout) writeOffer(ctx context.Context, tx *sql.Tx, f offer) (_ order.Order, closed bool, err error) {
	a, err := c.lockActivity(ctx, tx, f.ActivityID)
	if err != nil {
		return order.Order{}, false, err
	}
	if why := unfit(Message{Reservation: f.Reservation}, a); why != "" {
		return order.Order{}, false, fmt.Errorf("checkout: no offer for %s: %s", f.OrderID, why)
	}
	now, err := c.db.Now(ctx, tx)
	if err != nil {
		return order.Order{}, false, err
	}
	list := []order.Order{offeredOrder(a, f.Reservation, now)}
	mine, known, err := order.Claim(ctx, tx, list, newBatchID())
	if err != nil {
		return order.Order{}, false, err
	}
	if !mine[f.OrderID] {
		return known[f.OrderID], false, nil
	}
	o := &list[0]
	v, err := judgeOffer(ctx, tx, a, f, o, now)
	if err != nil {
		return order.Order{}, false, err
	}
	if err := v.write(ctx, tx, a, f, o, now); err != nil {
		return order.Order{}, false, err
	}
	return *o, v.closes != "", nil
}

// offeredOrder is the order that an offer is meant to become: it waits for its payment as long as any order of the sale, and is PAID at
// once when nothing is owed. A deposit seat waits for its deposit whatever it costs. When nothing can be offered any more the order is
// CANCELLED.
func offeredOrder(a *sale.Activity, r sale.Reservation, now time.Time) order.Order {
	t, _ := a.Type(r.TicketType)
	o := order.New(a, t, r, order.FromOffer, "", now)
	acceptBy, _ := waitlist.AcceptBy(a, now)
	switch over := waitlist.Over(a, now); {
	case over == waitlist.SaleCancelled:
		o.Cancel(order.SaleCancelled, now)
	case over != "":
		o.Cancel(order.SaleClosed, now)
	case a.Deposit == nil && o.Amount.IsZero():
		o.Fulfil()
	default:
		o.Await(acceptBy)
	}
	return o
}

// offerVerdict is what becomes of an offer, decided on locked rows.
type offerVerdict struct {
	refused order.Reason    // of the order; "" when the offer is made
	closes  waitlist.Reason // of the entry, with a refusal; "" when it goes on waiting, or does not wait any more
	again   bool            // the entry goes on waiting, and this order id is used up
	moved   bool            // the order's allocations are other ones than Redis gave
}

// judgeOffer locks what the offer needs, in the order of locks, and decides. The order's allocations are set to what the database has
// free.
func judgeOffer(ctx context.Context, tx *sql.Tx, a *sale.Activity, f offer, o *order.Order, now time.Time) (v offerVerdict, err error) {
	e, err := waitlist.Lock(ctx, tx, f.entry)
	if err != nil {
		return v, err
	}
	waits := e.Status == waitlist.Waiting && e.Attempt == f.attempt
	if e.UserID != f.UserID || e.TicketType != f.TicketType || e.Quantity != f.Quantity {
		return v, fmt.Errorf("checkout: the offer %s is for another entry", f.OrderID)
	}
	switch {
	case !o.Status.Live(): // nothing can be offered any more
		return offerVerdict{refused: o.Reason, again: waits}, nil
	case !waits:
		return offerVerdict{refused: order.ByUser}, nil
	}
	holder := order.Holder{ActivityID: a.ID, UserID: o.UserID}
	held, err := order.LockHeld(ctx, tx, []order.Holder{holder}, map[string]int{a.ID: a.PerUserLimit}, now)
	if err != nil {
		return v, err
	}
	if held[holder]+o.Quantity > a.PerUserLimit {
		return offerVerdict{refused: order.PurchaseLimit, closes: waitlist.PurchaseLimit}, nil
	}
	t := stock.TypeKey{ActivityID: a.ID, TicketType: o.TicketType}
	rows, err := stock.LockBuckets(ctx, tx, []stock.TypeKey{t})
	if err != nil {
		return v, err
	}
	j := &judge{free: make(map[stock.BucketKey]int), sizes: map[stock.TypeKey]int{t: len(rows[t])}}
	for _, b := range rows[t] {
		j.free[b.BucketKey] = b.Free()
	}
	given, ok := j.allocate(o)
	if !ok {
		return offerVerdict{refused: order.InsufficientStock, again: true}, nil
	}
	v.moved = !slices.Equal(given, o.Allocations)
	o.Allocations = given
	return v, nil
}

// write writes what was decided.
func (v offerVerdict) write(ctx context.Context, tx *sql.Tx, a *sale.Activity, f offer, o *order.Order, now time.Time) error {
	if v.refused != "" {
		return v.refuse(ctx, tx, f, o, now)
	}
	acceptBy, _ := waitlist.AcceptBy(a, now)
	done, err := waitlist.Offer(ctx, tx, f.entry, f.attempt, o.ID, acceptBy, now)
	if err == nil && !done {
		err = fmt.Errorf("checkout: entry %s changed under its lock", f.entry)
	}
	if err != nil {
		return err
	}
	list := []order.Order{*o}
	holdings, buckets := make(order.Holdings), make(stock.BucketChanges)
	holdings.Add(o)
	if o.Status == order.Paid { // nothing is owed, so nothing is left to accept
		if err := waitlist.Accept(ctx, tx, []sale.OrderID{o.ID}, now); err != nil {
			return err
		}
		buckets.Add(o.ActivityID, o.TicketType, o.Allocations, 0, 1)
	} else {
		buckets.Add(o.ActivityID, o.TicketType, o.Allocations, 1, 0)
	}
	if v.moved {
		if err := order.Move(ctx, tx, list); err != nil {
			return err
		}
	}
	if err := order.Hold(ctx, tx, holdings, map[string]int{a.ID: a.PerUserLimit}, now); err != nil {
		return err
	}
	if err := stock.ChangeBuckets(ctx, tx, buckets, now); err != nil {
		return err
	}
	if err := order.Route(ctx, tx, list); err != nil {
		return err
	}
	if err := order.LogTaken(ctx, tx, list); err != nil {
		return err
	}
	return notice.Add(ctx, tx, offerNotices(f, o, acceptBy), now)
}

// refuse makes a tombstone of the order: whoever comes late with its id finds that it is dead. Nobody is told, for nobody knew of it.
func (v offerVerdict) refuse(ctx context.Context, tx *sql.Tx, f offer, o *order.Order, now time.Time) error {
	if v.closes != "" {
		if _, err := waitlist.Close(ctx, tx, []waitlist.EntryID{f.entry}, v.closes, now); err != nil {
			return err
		}
	}
	if v.again {
		if _, err := waitlist.TryAgain(ctx, tx, f.entry, f.attempt, now); err != nil {
			return err
		}
	}
	live := o.Status.Live()
	o.Cancel(v.refused, now)
	o.PayDeadline = nil
	list := []order.Order{*o}
	if live { // it was claimed as one that lives
		if err := order.Refuse(ctx, tx, list, now); err != nil {
			return err
		}
	}
	if err := order.Route(ctx, tx, list); err != nil {
		return err
	}
	if err := order.LogTaken(ctx, tx, list); err != nil {
		return err
	}
	return order.LogGivenBack(ctx, tx, list, now)
}

// offerData is what the notice of an offer says.
type offerData struct {
	Revision   int64        `json:"revision"` // of the order
	Status     order.Status `json:"status"`   // of the order
	TicketType string       `json:"ticketType"`
	Quantity   int          `json:"quantity"`
	Amount     money.Amount `json:"amount"`
	AcceptBy   time.Time    `json:"acceptBy"`
}

// offerSubject names what the notice of an offer is about. The attempt of an entry that is OFFERED does not change.
func offerSubject(id waitlist.EntryID, attempt int) string { return fmt.Sprintf("%s#%d", id, attempt) }

// offerNotices tell of an offer; of an order that owes nothing also that it is complete.
func offerNotices(f offer, o *order.Order, acceptBy time.Time) []notice.Notice {
	list := []notice.Notice{{
		Subject: offerSubject(f.entry, f.attempt), Kind: notice.WaitlistOffer, UserID: o.UserID, ActivityID: o.ActivityID,
		OrderID: o.ID, Mode: o.Mode, ExpiresAt: &acceptBy,
		Data: offerData{Revision: o.Revision, Status: o.Status, TicketType: o.TicketType, Quantity: o.Quantity, Amount: o.Amount,
			AcceptBy: acceptBy},
	}}
	if o.Status == order.Paid {
		list[0].ExpiresAt = nil
		list = append(list, orderNotice(notice.OrderPaid, o))
	}
	return list
}

// CreateMissing makes orders of reservations that were found without a row, as CreateOrders does, except that those which were taken for
// an entry of the waitlist become its offer, or die if the entry does not wait any more: nobody else knows which of the two they are, for
// Redis keeps no source. The order ids of an entry follow from it, so that its attempts name all of them. It returns what CreateOrders
// does; after an error all reservations may be given again.
func (c *Checkout) CreateMissing(ctx context.Context, batch []Message) (Outcome, error) {
	offers, rest, err := c.findOffers(ctx, batch)
	if err != nil {
		return Outcome{}, err
	}
	out, err := c.CreateOrders(ctx, rest)
	if err != nil {
		return out, err
	}
	for _, f := range offers {
		o, closed, err := c.makeOffer(ctx, f)
		if err != nil {
			return Outcome{}, err
		}
		if closed || o.Status.Live() { // the entry waits no more
			c.leaveSet(ctx, f.ActivityID, f.TicketType, f.entry)
		}
		out.add([]order.Order{o})
	}
	return out, nil
}

// findOffers tells reservations for entries of the waitlist from others.
func (c *Checkout) findOffers(ctx context.Context, batch []Message) (offers []offer, rest []Message, err error) {
	users := make(map[string][]string) // by activity
	for _, m := range batch {
		users[m.ActivityID] = append(users[m.ActivityID], m.UserID)
	}
	known := make(map[sale.OrderID]offer)
	for activityID, list := range users {
		slices.Sort(list)
		entries, err := waitlist.OfUsers(ctx, c.db, activityID, slices.Compact(list))
		if err != nil {
			return nil, nil, err
		}
		if len(entries) == 0 {
			continue
		}
		a, err := catalog.Get(ctx, c.db, activityID)
		if err != nil {
			return nil, nil, err
		}
		facts := a.Facts()
		for _, e := range entries {
			for n := 0; n <= e.Attempt; n++ {
				known[facts.OfferID(e.ID, n)] = offer{entry: e.ID, attempt: n}
			}
		}
	}
	for _, m := range batch {
		f, found := known[m.OrderID]
		if !found {
			rest = append(rest, m)
			continue
		}
		f.Reservation = m.Reservation
		offers = append(offers, f)
	}
	return offers, rest, nil
}

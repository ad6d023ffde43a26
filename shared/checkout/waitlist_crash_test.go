package checkout_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/waitlist"
)

// reserveFor takes the units of an entry's next attempt in Redis, and dies.
func (w *world) reserveFor(e *waitlist.Entry) sale.OrderID {
	w.t.Helper()
	e = w.entry(e.ID)
	id := w.facts.OfferID(e.ID, e.Attempt)
	got, err := w.stock.Reserve(w.t.Context(), &w.facts, stock.ReserveRequest{OrderID: id, UserID: e.UserID, TicketType: ticket,
		Quantity: e.Quantity, PastGate: true})
	if err != nil || got.Standing != stock.Taken {
		w.t.Fatalf("reserving for %s: %+v, %v", e.UserID, got, err)
	}
	return id
}

// away takes units out of Redis that MySQL has, so that the sale looks sold out; back brings them back with nobody noticing.
func (w *world) away(units int) (back func()) {
	w.t.Helper()
	if _, err := w.stock.AdjustStock(w.t.Context(), &w.facts, stock.Adjustment{ID: "away", TicketType: ticket, Delta: -units}); err != nil {
		w.t.Fatal(err)
	}
	return func() {
		w.t.Helper()
		if err := w.stock.UndoAdjustment(w.t.Context(), w.activity.ID, "away"); err != nil {
			w.t.Fatal(err)
		}
	}
}

func TestTwoFillersAtOnceOfferEveryUnitOnce(t *testing.T) {
	t.Parallel()
	const units, waiting, fillers = 6, 12, 6
	w := newWorld(t, plan{capacity: units})
	back := w.away(units)
	var entries []*waitlist.Entry
	for i := range waiting {
		entries = append(entries, w.join(fmt.Sprint("w", i), 1))
	}
	back()
	var group sync.WaitGroup
	errs := make([]error, fillers)
	for i := range fillers {
		group.Go(func() { errs[i] = w.checkout.WalkWaitlist(t.Context(), w.activity.ID) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	w.fill()
	offered := 0
	for _, e := range entries {
		if w.entry(e.ID).Status == waitlist.Offered {
			offered++
		}
	}
	live := w.count(`SELECT COUNT(*) FROM trade_order WHERE status = 'UNPAID'`)
	if offered != units || live != units {
		t.Errorf("%d entries and %d live orders for %d units", offered, live, units)
	}
	if n := w.count(`SELECT COUNT(*) FROM notice WHERE kind = 'WAITLIST_OFFER'`); n != units {
		t.Errorf("%d notices of %d offers", n, units)
	}
	w.setIsExact()
	w.agree()
}

func TestFillerThatDiedAfterReservingIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 1})
	back := w.away(1)
	e := w.join("a", 1)
	back()
	id := w.reserveFor(e)
	other := w.join("b", 1)
	if _, err := w.checkout.FillWaitlist(t.Context(), w.activity.ID); err != nil { // nothing is left, so nobody is walked to
		t.Fatal(err)
	}
	w.sweep()
	if got := w.stands(e.ID, waitlist.Offered); got.OrderID != id {
		t.Errorf("offered %s, reserved %s", got.OrderID, id)
	}
	w.stands(other.ID, waitlist.Waiting)
	w.agree()
}

func TestFillerReplaysItsOwnReservation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 2})
	back := w.away(2)
	e := w.join("a", 1)
	back()
	id := w.reserveFor(e)
	w.fill() // a unit is left, so the walk comes by
	if got := w.stands(e.ID, waitlist.Offered); got.OrderID != id {
		t.Errorf("offered %s, reserved %s", got.OrderID, id)
	}
	w.agree()
}

// sweep is the minute pass over pending reservations, once they are old enough, and what it does for the waitlist afterwards.
func (w *world) sweep() {
	w.t.Helper()
	w.clock.Add(int64(30 * time.Second))
	r := w.reconciler()
	if _, err := r.SweepPending(w.t.Context(), w.activity.ID, 10*time.Second, 100); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.checkout.FillWaitlist(w.t.Context(), w.activity.ID); err != nil {
		w.t.Fatal(err)
	}
	w.unlisted()
}

// unlisted takes what does not wait any more out of the set, as the minute pass does.
func (w *world) unlisted() {
	w.t.Helper()
	page, err := w.stock.ScanWaiters(w.t.Context(), w.activity.ID, ticket, 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, id := range page.IDs {
		if w.entry(id).Status != waitlist.Waiting {
			if _, err := w.stock.LeaveWaitlist(w.t.Context(), w.activity.ID, ticket, []sale.EntryID{id}); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// The pending sweep knows no source of a reservation. What was taken for an entry that has left must not become an order that nobody wants.
func TestReservationForAnEntryThatLeftBecomesNoOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 1})
	back := w.away(1)
	e, next := w.join("a", 1), w.join("b", 1)
	back()
	id := w.reserveFor(e)
	if err := w.checkout.LeaveWaitlist(t.Context(), w.activity.ID, "a"); err != nil {
		t.Fatal(err)
	}
	w.sweep()
	w.stands(e.ID, waitlist.Left)
	if o := w.get(id); o.Status != order.Cancelled || o.Source != order.FromOffer {
		t.Errorf("the order is %s, from %s", o.Status, o.Source)
	}
	w.stands(next.ID, waitlist.Offered)
	if n := w.count(`SELECT COUNT(*) FROM notice WHERE user_id = 'a'`); n != 0 {
		t.Errorf("%d notices to somebody who left", n)
	}
	w.agree()
}

// The same for every attempt that an entry ever had: its ids stay its own.
func TestReservationOfAnEarlierAttemptBecomesNoOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 1})
	back := w.away(1)
	e := w.join("a", 1)
	back()
	id := w.reserveFor(e)
	now, err := w.db.Now(t.Context(), w.db)
	if err != nil {
		t.Fatal(err)
	}
	err = w.db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		done, err := waitlist.TryAgain(ctx, tx, e.ID, 0, now)
		if err == nil && !done {
			err = errors.New("the attempt did not rise")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.sweep()
	if o := w.get(id); o.Status != order.Cancelled {
		t.Errorf("the order of attempt 0 is %s", o.Status)
	}
	w.offeredAtSecondAttempt(e)
}

// offeredAtSecondAttempt fills the waitlist and checks that an entry, whose first order id is dead, is offered another.
func (w *world) offeredAtSecondAttempt(e *waitlist.Entry) {
	w.t.Helper()
	w.fill()
	if got := w.stands(e.ID, waitlist.Offered); got.OrderID != w.facts.OfferID(e.ID, 1) {
		w.t.Errorf("offered %s", got.OrderID)
	}
	w.agree()
}

func TestOfferThatMySQLHasNoUnitForIsTriedAgainUnderAnotherId(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 1})
	back := w.away(1)
	e := w.join("a", 1)
	stranger := w.message("stranger", "k", 1) // an order that Redis knows nothing of
	out, err := w.checkout.CreateOrders(t.Context(), []checkout.Message{stranger})
	if err != nil || len(out.Live) != 1 {
		t.Fatalf("%+v, %v", out, err)
	}
	back()
	w.fill()
	if got := w.stands(e.ID, waitlist.Waiting); got.Attempt != 1 {
		t.Errorf("attempt %d", got.Attempt)
	}
	if o := w.get(w.facts.OfferID(e.ID, 0)); o.Status != order.Cancelled || o.Reason != order.InsufficientStock {
		t.Errorf("the order of attempt 0 is %s %s", o.Status, o.Reason)
	}
	w.cancel(out.Live[0])
	w.offeredAtSecondAttempt(e)
}

func TestOfferCancelledBeforeItsRowIsTriedAgainUnderAnotherId(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 1})
	back := w.away(1)
	e := w.join("a", 1)
	back()
	id := w.reserveFor(e)
	if _, err := w.checkout.Cancel(t.Context(), id, checkout.Canceller{UserID: "a"}); err != nil {
		t.Fatal(err)
	}
	w.offeredAtSecondAttempt(e)
}

package checkout_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
	"holdfast/shared/waitlist"
)

// A deposit is a promise to come, also where the seat itself costs nothing.
func TestOfferedSeatThatCostsNothingStillTakesItsDeposit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then  func(w *world, o order.Order) error
		seat  string
		purse string
	}{
		"confirmed": {func(w *world, o order.Order) error { return w.confirm("a", o.ID) }, "PAID DEDUCTED 0.00 0.00 30.00 0.00", "30.00 0.00"},
		"missed": {func(w *world, o order.Order) error {
			w.pass(untilDeadline)
			_, err := w.checkout.SettleDeposit(w.t.Context(), o.ID)
			return err
		}, "CANCELLEDDEPOSIT_FORFEITED REFUNDED 0.00 6.00 24.00 0.00", "24.00 0.00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, plan{price: "0.00", capacity: 1, deposit: byRatio(perUnit("30.00"), cancellation(sale.CancelFree))})
			w.topUp("30.00", "a")
			e, o := w.offerSeat("a")
			w.wantPurse("a", "30.00 0.00")
			if _, err := w.checkout.PayByWallet(t.Context(), paying(o, "p")); err != nil {
				t.Fatal(err)
			}
			w.stands(e.ID, waitlist.Accepted)
			w.wantSeat(o.ID, "UNPAID FROZEN 0.00 0.00 0.00 0.00")
			w.wantPurse("a", "0.00 30.00")
			if err := c.then(w, o); err != nil {
				t.Fatal(err)
			}
			w.wantSeat(o.ID, c.seat)
			w.wantPurse("a", c.purse)
			w.agree()
			w.moneyHolds()
		})
	}
}

func TestClockIsReadAsOftenForManyWhoArePassedOverAsForFew(t *testing.T) {
	t.Parallel()
	w, sold := soldOut(t, 2)
	reads := func(waiting int) int64 {
		for i := w.count("SELECT COUNT(*) FROM waitlist_entry"); i < waiting; i++ {
			w.join(fmt.Sprint("w", i), 2)
		}
		before := w.reads.Load()
		w.fill()
		return w.reads.Load() - before
	}
	w.join("w0", 2)
	w.cancel(sold[0])
	if few, many := reads(2), reads(30); few != many {
		t.Errorf("read %d times for two, %d times for thirty", few, many)
	}
}

func TestWalkDoesABoundedAmountAndTheNextGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 8})
	back := w.away(8)
	for i := range 6 {
		w.join(fmt.Sprint("w", i), 1)
	}
	back()
	walk := func(page, pages, tries, offered int) {
		t.Helper()
		if err := w.checkout.WalkWaitlistWithin(t.Context(), w.activity.ID, page, pages, tries); err != nil {
			t.Fatal(err)
		}
		w.wantCount(offered, "SELECT COUNT(*) FROM waitlist_entry WHERE status = 'OFFERED'")
	}
	walk(2, 1, 100, 2) // a page
	walk(4, 100, 3, 5) // entries that units are taken for
	walk(4, 100, 3, 6) // nobody is left
	w.agree()
}

// Redis does not know of an order that its user has, so that only MySQL's limit refuses the offer.
func TestWhoIsRefusedByTheLimitOfTheDatabaseDoesNotKeepThePublicOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(w *world, e *waitlist.Entry)
		finish func(w *world) int // gives how many entries it says were closed
	}{
		"by the filler": {func(*world, *waitlist.Entry) {}, func(w *world) int { return w.fill().Closed }},
		"by the sweep of what a filler left": {func(w *world, e *waitlist.Entry) { w.reserveFor(e) }, func(w *world) int {
			w.pass(30 * time.Second)
			if _, err := w.reconciler().SweepPending(w.t.Context(), w.activity.ID, 10*time.Second, 100); err != nil {
				w.t.Fatal(err)
			}
			return 1
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, plan{capacity: 2, limit: 1})
			back := w.away(2)
			e := w.join("a", 1)
			back()
			c.before(w, e)
			out, err := w.checkout.CreateOrders(t.Context(), []checkout.Message{w.message("a", "k", 1)})
			if err != nil || len(out.Live) != 1 {
				t.Fatalf("%+v, %v", out, err)
			}
			if n := c.finish(w); n != 1 {
				t.Errorf("%d closed", n)
			}
			if got := w.stands(e.ID, waitlist.Closed); got.Reason != waitlist.PurchaseLimit {
				t.Errorf("closed for %s", got.Reason)
			}
			w.publicHears(nil)
		})
	}
}

// The sale ends after the walk has begun: no offer of it is made any more, and none is tried again.
func TestWalkThatTheEndOfTheSaleOvertakesStopsAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end    func(w *world)
		reason order.Reason
	}{
		"closed": {func(w *world) {
			if _, _, err := w.catalog.Transition(w.t.Context(), w.activity.ID, sale.Closed, operator("activity.close")); err != nil {
				w.t.Fatal(err)
			}
		}, order.SaleClosed},
		"called off": {func(w *world) { w.callOff() }, order.SaleCancelled},
		"too late":   {func(w *world) { w.pass(time.Until(w.activity.ClosesAt) - time.Minute) }, order.SaleClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, plan{capacity: 2})
			back := w.away(2)
			e, next := w.join("a", 1), w.join("b", 1)
			back()
			c.end(w)
			if err := w.checkout.WalkWaitlist(t.Context(), w.activity.ID); err != nil {
				t.Fatal(err)
			}
			w.wantCount(1, "SELECT COUNT(*) FROM trade_order WHERE status = 'CANCELLED' AND reason = ?", string(c.reason))
			w.wantCount(1, "SELECT COUNT(*) FROM trade_order")
			if got := w.stands(e.ID, waitlist.Waiting); got.Attempt != 1 {
				t.Errorf("%d attempts", got.Attempt)
			}
			w.stands(next.ID, waitlist.Waiting)
			w.agree()
		})
	}
}

// Whoever holds a payment may go on to entries of the waitlist, and must not find them locked by somebody who waits for the payment.
func TestDecliningAnOfferLocksItsPaymentBeforeItsEntry(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{capacity: 1})
	sold := w.buy("u1", "k", 1)
	e := w.join("a", 1)
	w.cancel(sold)
	p := w.begin(w.get(w.stands(e.ID, waitlist.Offered).OrderID), "p")
	left := make(chan error, 1)
	w.run(func(ctx context.Context, tx *sql.Tx) error {
		if _, err := payment.GetForUpdate(ctx, tx, p.ID); err != nil {
			return err
		}
		go func() { left <- w.checkout.LeaveWaitlist(t.Context(), w.activity.ID, "a") }()
		w.waiting(1)
		_, err := tx.ExecContext(ctx, "SELECT 1 FROM waitlist_entry WHERE entry_id = ? FOR UPDATE NOWAIT", e.ID[:])
		if err != nil {
			t.Errorf("the entry was locked first: %v", err)
		}
		return nil
	})
	if err := <-left; err != nil {
		t.Fatal(err)
	}
	w.stands(e.ID, waitlist.Lapsed)
	w.agree()
}

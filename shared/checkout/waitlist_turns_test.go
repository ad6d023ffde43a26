package checkout_test

import (
	"fmt"
	"testing"
	"time"

	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/waitlist"
)

// why gives the code that the user of an entry is shown; "" for none.
func (w *world) why(id waitlist.EntryID) string {
	w.t.Helper()
	e := w.entry(id)
	now, err := w.db.Now(w.t.Context(), w.db)
	if err != nil {
		w.t.Fatal(err)
	}
	p, err := waitlist.PlaceOf(w.t.Context(), w.db, e, now)
	if err != nil {
		w.t.Fatal(err)
	}
	if why := e.Why(w.activity, p, now); why != nil {
		return why.Code
	}
	return ""
}

// soldOut makes a world whose units are each an order of their own.
func soldOut(t *testing.T, units int) (*world, []order.Order) {
	t.Helper()
	w := newWorld(t, plan{capacity: units})
	var sold []order.Order
	for i := range units {
		sold = append(sold, w.buy(fmt.Sprint("buyer", i), "k", 1))
	}
	return w, sold
}

// The head wants three and one comes free: the next is served, the head keeps its place and is told why. After SaveAfter units are saved
// up for it, which everybody behind is told, until it can be served.
func TestHeadThatWantsMoreIsPassedOverThenSavedUpForAndServed(t *testing.T) {
	t.Parallel()
	w, sold := soldOut(t, 6)
	head, next, third := w.join("head", 3), w.join("next", 1), w.join("third", 1)
	w.cancel(sold[0])
	w.stands(head.ID, waitlist.Waiting)
	w.stands(next.ID, waitlist.Offered)
	w.stands(third.ID, waitlist.Waiting)
	if got := w.why(head.ID); got != "PASSED_OVER" {
		t.Errorf("the head is told %q", got)
	}
	if got := w.why(third.ID); got != "" {
		t.Errorf("the third is told %q, though it is simply not its turn", got)
	}

	w.clock.Add(int64(waitlist.SaveAfter))
	w.cancel(sold[1])
	w.stands(head.ID, waitlist.Waiting)
	w.stands(third.ID, waitlist.Waiting)
	if got := w.why(head.ID); got != "SAVING_UP" {
		t.Errorf("the head is told %q", got)
	}
	if got := w.why(third.ID); got != "SAVING_FOR_ANOTHER" {
		t.Errorf("the third is told %q", got)
	}
	w.publicHears(stock.ErrInsufficient)

	w.cancel(sold[2])
	w.stands(head.ID, waitlist.Waiting)
	w.cancel(sold[3])
	w.stands(head.ID, waitlist.Offered)
	w.stands(third.ID, waitlist.Waiting)
	w.agree()
}

func TestSavingUpEndsAndHappensOnce(t *testing.T) {
	t.Parallel()
	w, sold := soldOut(t, 5)
	head, next := w.join("head", 3), w.join("next", 1)
	w.cancel(sold[0])
	w.stands(next.ID, waitlist.Offered)
	w.clock.Add(int64(waitlist.SaveAfter))
	third := w.join("third", 1)
	w.cancel(sold[1])
	w.stands(third.ID, waitlist.Waiting)
	since := w.entry(head.ID).SavingSince

	w.clock.Add(int64(waitlist.SaveFor - time.Second))
	w.fill()
	w.stands(third.ID, waitlist.Waiting)
	w.clock.Add(int64(time.Second))
	w.fill()
	w.stands(third.ID, waitlist.Offered)

	fourth := w.join("fourth", 1)
	w.clock.Add(int64(waitlist.SaveAfter))
	w.cancel(sold[2])
	w.stands(fourth.ID, waitlist.Offered)
	if e := w.stands(head.ID, waitlist.Waiting); since == nil || e.SavingSince == nil || !e.SavingSince.Equal(*since) {
		t.Errorf("saved up since %v, at first since %v", e.SavingSince, since)
	}
	if got := w.why(head.ID); got != "PASSED_OVER" {
		t.Errorf("the head is told %q", got)
	}
}

func TestNothingIsSavedUpThatCannotCome(t *testing.T) {
	t.Parallel()
	w, sold := soldOut(t, 3)
	operator := operator("order.paid")
	for _, o := range sold[1:] {
		if _, err := w.checkout.MarkPaid(t.Context(), o.ID, "ref-"+o.ID.String(), operator); err != nil {
			t.Fatal(err)
		}
	}
	head, next := w.join("head", 2), w.join("next", 1)
	w.cancel(sold[0])
	w.stands(next.ID, waitlist.Offered)
	third := w.join("third", 1)
	w.clock.Add(int64(waitlist.SaveAfter))
	if _, _, err := w.checkout.Expire(t.Context(), 10); err != nil { // the offer of the next is over by its deadline
		t.Fatal(err)
	}
	w.clock.Add(int64(5 * time.Minute))
	if _, _, err := w.checkout.Expire(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	w.stands(next.ID, waitlist.Lapsed)
	w.stands(third.ID, waitlist.Offered)
	if e := w.stands(head.ID, waitlist.Waiting); e.SavingSince != nil {
		t.Error("units are saved up for one whom two units can never come to")
	}
}

func TestOffersFollowTheOrderOfJoining(t *testing.T) {
	t.Parallel()
	w, sold := soldOut(t, 3)
	var entries []*waitlist.Entry
	for i := range 5 {
		entries = append(entries, w.join(fmt.Sprint("w", i), 1))
	}
	for i, o := range sold {
		w.cancel(o)
		for j, e := range entries {
			want := waitlist.Waiting
			if j <= i {
				want = waitlist.Offered
			}
			w.stands(e.ID, want)
		}
	}
	w.agree()
}

func TestEntryIsOfferedToOnce(t *testing.T) {
	t.Parallel()
	w, sold := soldOut(t, 2)
	e := w.join("a", 1)
	w.cancel(sold[0])
	w.stands(e.ID, waitlist.Offered)
	w.clock.Add(int64(15 * time.Minute))
	for range 3 {
		if _, _, err := w.checkout.Expire(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		w.fill()
	}
	w.stands(e.ID, waitlist.Lapsed)
	if n := w.count(`SELECT COUNT(*) FROM trade_order WHERE source = ?`, string(order.FromOffer)); n != 1 {
		t.Errorf("%d orders were offered", n)
	}
	again := w.join2("a", 1)
	if again.ID == e.ID {
		t.Error("joining again went on with a final entry")
	}
	w.agree()
}

// join2 joins where units may be free.
func (w *world) join2(user string, quantity int) *waitlist.Entry {
	w.t.Helper()
	for {
		free := w.count(`SELECT SUM(capacity + adjusted - frozen - sold) FROM stock_bucket WHERE activity_id = ?`, w.activity.ID)
		if free == 0 {
			return w.join(user, quantity)
		}
		w.buy(fmt.Sprint("filler", free), "k", 1)
	}
}

func TestUnitsAreOfferedAcrossBuckets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 4, buckets: 4})
	var sold []order.Order
	for i := range 4 {
		sold = append(sold, w.buy(fmt.Sprint("b", i), "k", 1))
	}
	e := w.join("pair", 3)
	for _, o := range sold[:3] {
		w.cancel(o)
	}
	offered := w.stands(e.ID, waitlist.Offered)
	if o := w.get(offered.OrderID); o.Allocations.Units() != 3 || len(o.Allocations) != 3 {
		t.Errorf("allocated %s", o.Allocations.Compact())
	}
	if offered.OrderID != sale.NewOfferID(w.activity.Number, w.activity.Salt, e.ID, 0) {
		t.Error("the order id does not follow from the entry")
	}
	w.agree()
}

func TestWhoWouldHoldTooManyIsClosedAndTheNextServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 4, limit: 3})
	sold := w.buy("other", "k", 2)
	w.buy("greedy", "k", 2)
	greedy, next := w.join("greedy", 2), w.join("next", 2)
	w.cancel(sold)
	if got := w.stands(greedy.ID, waitlist.Closed); got.Reason != waitlist.PurchaseLimit {
		t.Errorf("closed for %s", got.Reason)
	}
	w.stands(next.ID, waitlist.Offered)
	w.agree()
}

package checkout_test

import (
	"errors"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/checkout"
	"holdfast/shared/fault"
	"holdfast/shared/money"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/waitlist"
)

func (w *world) join(user string, quantity int) *waitlist.Entry {
	w.t.Helper()
	e, joined, err := w.checkout.JoinWaitlist(w.t.Context(), w.wants(user, quantity))
	if err != nil || !joined {
		w.t.Fatalf("%s joins for %d: joined %v, %v", user, quantity, joined, err)
	}
	return e
}

func (w *world) wants(user string, quantity int) checkout.WaitlistWish {
	return checkout.WaitlistWish{ActivityID: w.activity.ID, UserID: user, TicketType: ticket, Quantity: quantity}
}

func (w *world) entry(id waitlist.EntryID) *waitlist.Entry {
	w.t.Helper()
	e, err := waitlist.Get(w.t.Context(), w.db, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

// stands checks the state of an entry, and that the set has those that wait and no others.
func (w *world) stands(id waitlist.EntryID, want waitlist.Status) *waitlist.Entry {
	w.t.Helper()
	e := w.entry(id)
	if e.Status != want {
		w.t.Fatalf("the entry of %s is %s (%s), want %s", e.UserID, e.Status, e.Reason, want)
	}
	w.setIsExact()
	return e
}

func (w *world) setIsExact() {
	w.t.Helper()
	page, err := w.stock.ScanWaiters(w.t.Context(), w.activity.ID, ticket, 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	waiting := w.count(`SELECT COUNT(*) FROM waitlist_entry WHERE status = 'WAITING'`)
	for _, id := range page.IDs {
		if w.entry(id).Status != waitlist.Waiting {
			w.t.Errorf("the set has an entry that is %s", w.entry(id).Status)
		}
	}
	if len(page.IDs) != waiting {
		w.t.Errorf("%d members of the set, %d entries WAITING", len(page.IDs), waiting)
	}
}

func (w *world) fill() checkout.Filled {
	w.t.Helper()
	filled, err := w.checkout.FillWaitlist(w.t.Context(), w.activity.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return filled
}

func (w *world) cancel(o order.Order) {
	w.t.Helper()
	if _, err := w.checkout.Cancel(w.t.Context(), o.ID, checkout.Canceller{UserID: o.UserID}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) publicHears(want error) {
	w.t.Helper()
	if _, err := w.reserve("public", "k", 1); !errors.Is(err, want) || want == nil && err != nil {
		w.t.Errorf("the public hears %v, want %v", err, want)
	}
}

func TestReturnedUnitGoesToTheWaitlistBeforeThePublic(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 1})
	sold := w.buy("u1", "k", 1)
	e := w.join("u2", 1)
	w.stands(e.ID, waitlist.Waiting)
	w.publicHears(stock.ErrInsufficient)
	w.cancel(sold)

	offered := w.stands(e.ID, waitlist.Offered)
	o := w.get(offered.OrderID)
	if o.Status != order.Unpaid || o.Source != order.FromOffer || o.UserID != "u2" || o.Quantity != 1 {
		t.Errorf("the offered order: %+v", o)
	}
	if o.PayDeadline == nil || !o.PayDeadline.Equal(*offered.AcceptBy) {
		t.Errorf("the order is to be paid by %v, the offer accepted by %v", o.PayDeadline, offered.AcceptBy)
	}
	if n := w.count(`SELECT COUNT(*) FROM notice WHERE kind = 'WAITLIST_OFFER' AND subject = ? AND expires_at = ?`,
		e.ID.String()+"#0", *offered.AcceptBy); n != 1 {
		t.Errorf("%d notices of the offer", n)
	}
	w.publicHears(stock.ErrInsufficient)
	w.agree()
}

func TestPublicIsShutOutWhileSomebodyWaitsThoughUnitsAreFree(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 3})
	var sold []order.Order
	for _, user := range []string{"a", "b", "c"} {
		sold = append(sold, w.buy(user, "k", 1))
	}
	e := w.join("u", 3)
	w.cancel(sold[0])
	w.stands(e.ID, waitlist.Waiting)
	w.publicHears(stock.ErrInsufficient)
	if err := w.checkout.LeaveWaitlist(t.Context(), w.activity.ID, "u"); err != nil {
		t.Fatal(err)
	}
	w.stands(e.ID, waitlist.Left)
	w.publicHears(nil)
}

func TestWhoeverCanBuyDoesNotJoin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 2})
	_, _, err := w.checkout.JoinWaitlist(t.Context(), w.wants("u", 2))
	if !errors.Is(err, checkout.ErrNotSoldOut) {
		t.Fatalf("%v, want that it is not sold out", err)
	}
	e, err := waitlist.Latest(t.Context(), w.db, w.activity.ID, "u")
	if err != nil || e.Status != waitlist.Closed || e.Reason != waitlist.NotSoldOut {
		t.Errorf("the entry: %+v, %v", e, err)
	}
	w.setIsExact()
	w.publicHears(nil)
	w.join("u", 2) // one is left
}

func TestJoiningAgainKeepsThePlaceAndAnotherWishIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 1})
	sold := w.buy("u1", "k", 1)
	first, second := w.join("a", 1), w.join("b", 1)
	again, joined, err := w.checkout.JoinWaitlist(t.Context(), w.wants("a", 1))
	if err != nil || joined || again.ID != first.ID {
		t.Errorf("again: %+v, joined %v, %v", again, joined, err)
	}
	if _, _, err := w.checkout.JoinWaitlist(t.Context(), w.wants("a", 2)); !errors.Is(err, checkout.ErrOtherEntry) {
		t.Errorf("another quantity: %v", err)
	}
	now, _ := w.db.Now(t.Context(), w.db)
	for i, e := range []*waitlist.Entry{first, second} {
		if p, err := waitlist.PlaceOf(t.Context(), w.db, e, now); err != nil || p.Position != i+1 {
			t.Errorf("place of %s: %+v, %v", e.UserID, p, err)
		}
	}
	w.cancel(sold)
	w.stands(first.ID, waitlist.Offered)
	w.stands(second.ID, waitlist.Waiting)
	if again, joined, err := w.checkout.JoinWaitlist(t.Context(), w.wants("a", 1)); err != nil || joined || again.Status != waitlist.Offered {
		t.Errorf("with an offer: %+v, joined %v, %v", again, joined, err)
	}
}

func TestWishesThatBreakRulesLeaveNoEntry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 1, limit: 2})
	w.buy("u1", "k", 1)
	other := w.wants("u", 1)
	other.TicketType = "OTHER"
	consent := w.wants("u", 1)
	consent.PolicyHash[0] = 1
	for name, wish := range map[string]checkout.WaitlistWish{
		"above the limit": w.wants("u", 3), "nothing": w.wants("u", 0), "unknown type": other, "consent to nothing": consent,
	} {
		if _, _, err := w.checkout.JoinWaitlist(t.Context(), wish); fault.Of(err) != fault.ValidationFailed {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := w.count(`SELECT COUNT(*) FROM waitlist_entry`); n != 0 {
		t.Errorf("%d entries", n)
	}
}

func TestOfferLapsesAtItsInstantAndTheNextIsServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 1})
	sold := w.buy("u1", "k", 1)
	first, second := w.join("a", 1), w.join("b", 1)
	w.cancel(sold)
	offered := w.stands(first.ID, waitlist.Offered)
	now, err := w.db.Now(t.Context(), w.db)
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Add(int64(offered.AcceptBy.Sub(now)))
	if n, _, err := w.checkout.Expire(t.Context(), 10); err != nil || n != 1 {
		t.Fatalf("expired %d, %v", n, err)
	}
	w.stands(first.ID, waitlist.Lapsed)
	w.stands(second.ID, waitlist.Offered)
	w.publicHears(stock.ErrInsufficient)
	w.agree()
}

func TestLeavingDuringAnOfferDeclinesItForTheNext(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 1})
	sold := w.buy("u1", "k", 1)
	first, second := w.join("a", 1), w.join("b", 1)
	w.cancel(sold)
	offered := w.stands(first.ID, waitlist.Offered)
	for range 2 { // leaving twice is leaving
		if err := w.checkout.LeaveWaitlist(t.Context(), w.activity.ID, "a"); err != nil {
			t.Fatal(err)
		}
	}
	w.stands(first.ID, waitlist.Lapsed)
	if o := w.get(offered.OrderID); o.Status != order.Cancelled || o.Reason != order.ByUser {
		t.Errorf("the declined order is %s %s", o.Status, o.Reason)
	}
	w.stands(second.ID, waitlist.Offered)
	w.agree()
}

func TestLeavingAfterPayingTakesNothingBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 1, price: "0.00"})
	sold := w.buy("u1", "k", 1)
	e := w.join("a", 1)
	by := operator("order.cancel")
	if _, err := w.checkout.Cancel(t.Context(), sold.ID, checkout.Canceller{Operator: &by}); err != nil {
		t.Fatal(err)
	}
	accepted := w.stands(e.ID, waitlist.Accepted) // nothing was owed
	if err := w.checkout.LeaveWaitlist(t.Context(), w.activity.ID, "a"); err != nil {
		t.Fatal(err)
	}
	w.stands(e.ID, waitlist.Accepted)
	if o := w.get(accepted.OrderID); o.Status != order.Paid {
		t.Errorf("the order is %s", o.Status)
	}
	w.agree()
}

func TestNothingIsOfferedThatCouldNotBeAcceptedInTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before time.Duration // of the sale's end, when a unit comes back
		want   waitlist.Status
	}{
		"the window ends with the sale":       {15 * time.Minute, waitlist.Offered},
		"the window ends a second after it":   {15*time.Minute - time.Second, waitlist.Closed},
		"the sale is over at this instant":    {0, waitlist.Closed},
		"the sale has been over for a second": {-time.Second, waitlist.Closed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, plan{capacity: 1})
			sold := w.buy("u1", "k", 1)
			e := w.join("a", 1)
			now, err := w.db.Now(t.Context(), w.db)
			if err != nil {
				t.Fatal(err)
			}
			w.clock.Add(int64(w.activity.ClosesAt.Add(-c.before).Sub(now) - 300*time.Millisecond*when(c.want == waitlist.Offered)))
			w.cancel(sold)
			w.fill()
			if got := w.stands(e.ID, c.want); got.Status == waitlist.Closed && got.Reason != waitlist.TooLate {
				t.Errorf("closed for %s", got.Reason)
			}
			if _, _, err := w.checkout.JoinWaitlist(t.Context(), w.wants("late", 1)); c.want == waitlist.Closed && !errors.Is(err, checkout.ErrWaitlistClosed) {
				t.Errorf("joining then: %v", err)
			}
			w.agree()
		})
	}
}

// when is 1 for true: a moment's time for the test to reach the clock before its edge.
func when(b bool) time.Duration {
	if b {
		return 1
	}
	return 0
}

func TestDepositIsOfferedOnlyBeforeItsDeadlineAndHoldsNoMoneyUntilAccepted(t *testing.T) {
	t.Parallel()
	until := time.Now().Add(10 * time.Hour).UTC().Truncate(time.Second)
	amount := money.Of(decimal.RequireFromString("5.00"), "CNY")
	policy := &sale.DepositPolicy{Amount: &amount, PenaltyRatio: decimal.RequireFromString("0.5"), ConfirmDeadline: until,
		RemindAt: until.Add(-time.Hour), Cancellation: sale.CancelFree, ClubID: "club", OfferLead: time.Hour}
	w := newWorld(t, plan{capacity: 1, deposit: policy})
	if _, err := w.stock.AdjustStock(t.Context(), &w.facts, stock.Adjustment{ID: "away", TicketType: ticket, Delta: -1}); err != nil {
		t.Fatal(err)
	}
	wish := w.wants("a", 1)
	if _, _, err := w.checkout.JoinWaitlist(t.Context(), wish); fault.Of(err) != fault.ValidationFailed {
		t.Errorf("without consent: %v", err)
	}
	wish.PolicyHash[0] = 1
	if _, _, err := w.checkout.JoinWaitlist(t.Context(), wish); fault.Of(err) != fault.ValidationFailed {
		t.Errorf("consent to other terms: %v", err)
	}
	wish.PolicyHash = policy.Hash()
	e, _, err := w.checkout.JoinWaitlist(t.Context(), wish)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.stock.UndoAdjustment(t.Context(), w.activity.ID, "away"); err != nil { // the seat is back
		t.Fatal(err)
	}
	w.fill()
	offered := w.stands(e.ID, waitlist.Offered)
	if o := w.get(offered.OrderID); o.Status != order.Unpaid || o.PayDeadline == nil {
		t.Errorf("the offered order is %s, to be accepted by %v", o.Status, o.PayDeadline)
	}
	if n := w.count(`SELECT COUNT(*) FROM deposit_record WHERE order_id = ?`, offered.OrderID[:]); n != 0 {
		t.Errorf("%d deposits for an offer that nobody accepted", n)
	}
	next := w.wants("b", 1)
	next.PolicyHash = policy.Hash()
	b, _, err := w.checkout.JoinWaitlist(t.Context(), next)
	if err != nil {
		t.Fatal(err)
	}
	now, _ := w.db.Now(t.Context(), w.db)
	w.clock.Add(int64(policy.SellsUntil().Sub(now)))
	if _, _, err := w.checkout.Expire(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	w.fill()
	w.stands(e.ID, waitlist.Lapsed)
	if got := w.stands(b.ID, waitlist.Closed); got.Reason != waitlist.TooLate {
		t.Errorf("closed for %s", got.Reason)
	}
}

func TestClosedSaleClosesItsWaitlist(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 1})
	w.buy("u1", "k", 1)
	e := w.join("a", 1)
	if _, _, err := w.catalog.Transition(t.Context(), w.activity.ID, sale.Closed, operator("activity.close")); err != nil {
		t.Fatal(err)
	}
	if filled := w.fill(); filled.Closed != 1 {
		t.Errorf("%+v", filled)
	}
	if got := w.stands(e.ID, waitlist.Closed); got.Reason != waitlist.SaleClosed {
		t.Errorf("closed for %s", got.Reason)
	}
}

func TestNothingIsOfferedWhileTheSaleIsSuspended(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 1})
	sold := w.buy("u1", "k", 1)
	e := w.join("a", 1)
	move := func(to sale.Status) {
		if _, _, err := w.catalog.Transition(t.Context(), w.activity.ID, to, operator("activity.move")); err != nil {
			t.Fatal(err)
		}
		if err := w.reconciler().ApplyRules(t.Context(), w.activity.ID); err != nil {
			t.Fatal(err)
		}
	}
	move(sale.Suspended)
	w.cancel(sold)
	w.fill()
	w.stands(e.ID, waitlist.Waiting)
	move(sale.Published)
	w.fill()
	w.stands(e.ID, waitlist.Offered)
}

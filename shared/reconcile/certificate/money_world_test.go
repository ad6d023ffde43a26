package certificate_test

import (
	"context"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/checkout"
	"holdfast/shared/money"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
	"holdfast/shared/waitlist"
	"holdfast/shared/wallet"
)

func cny(amount string) money.Amount { return money.Of(decimal.RequireFromString(amount), "CNY") }

func (w *world) topUp(user, amount string) {
	w.t.Helper()
	_, _, err := wallet.Carry(w.t.Context(), w.db, wallet.Transfer{Type: wallet.TopUp, Reference: "top-up of " + user, UserID: user, Amount: cny(amount)},
		operator("wallet.top-up"))
	if err != nil {
		w.t.Fatal(err)
	}
}

// seats is a sale of deposit seats in which everything has happened: ann's deposit is FROZEN, bob has confirmed, cat missed the deadline
// and got a part of the penalty back, dan had too little money.
type seats struct {
	*world
	ann, bob, cat sale.OrderID
}

func newSeats(t *testing.T) *seats {
	t.Helper()
	ratio := decimal.RequireFromString("0.333333")
	deadline := time.Now().Add(2 * time.Hour)
	w := newWorldOf(t, func(a *sale.Activity) {
		a.Kind, a.ClosesAt = sale.Deposit, time.Now().Add(time.Hour)
		a.Deposit = &sale.DepositPolicy{Ratio: &ratio, PenaltyRatio: decimal.RequireFromString("0.3"), ConfirmDeadline: deadline,
			RemindAt: deadline.Add(-time.Hour), Cancellation: sale.CancelPenalty, ClubID: "north", OfferLead: sale.MinOfferLead}
	})
	for _, user := range []string{"ann", "bob", "cat"} {
		w.topUp(user, "100.00")
	}
	s := &seats{world: w, ann: w.seat("ann", 2), bob: w.seat("bob", 3), cat: w.seat("cat", 1)}
	if out, err := w.checkout.CreateOrders(t.Context(), []checkout.Message{w.mustReserve("dan", 1)}); err != nil || len(out.Cancelled) != 1 {
		t.Fatalf("%+v, %v", out, err)
	} else if err := w.checkout.Settle(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	if _, err := w.checkout.ConfirmDeposit(t.Context(), s.bob, "bob", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := w.checkout.ExtendDeposit(t.Context(), s.ann, deadline.Add(24*time.Hour), 1, operator("deposit.extend")); err != nil {
		t.Fatal(err)
	}
	w.clock.Add(int64(3 * time.Hour))
	if result, err := w.checkout.SettleDeposit(t.Context(), s.cat); err != nil || result.Step != checkout.StepSettled {
		t.Fatalf("%+v, %v", result, err)
	}
	half := cny("0.50")
	if _, _, err := w.checkout.Refund(t.Context(), checkout.RefundRequest{OrderID: s.cat, RefundID: "goodwill", Amount: &half, Reason: "goodwill"},
		operator("order.refund")); err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *world) seat(user string, quantity int) sale.OrderID { return w.buy(user, quantity).ID }

// company charges buyers: whatever it is asked for it does, and it says itself that a charge succeeded.
type company struct{}

func (company) Begin(_ context.Context, c payment.Charge) (payment.Action, error) {
	return payment.Action{Type: "SDK", ClientToken: "t", Reference: "ch-" + c.PaymentID}, nil
}

func (company) Refund(context.Context, payment.RefundOrder) (payment.RefundState, error) {
	return payment.RefundState{Status: payment.RefundSent}, nil
}

func (company) List(context.Context, payment.Listing) (payment.ListPage, error) {
	return payment.ListPage{}, payment.ErrNoProvider
}

// tills is a sale that is sold out: ann paid by the provider, twice, and the second payment is on its way back; bob paid by wallet and got
// some of it back; cat gave up a unit, which is offered to dan; eve waits; gus has begun to pay.
type tills struct {
	*world
	ann, bob, gus sale.OrderID
	paid, surplus string // ann's payments
}

func newTills(t *testing.T) *tills {
	t.Helper()
	w := newWorldOf(t, func(a *sale.Activity) { a.TicketTypes[0].Capacity = 6 })
	w.checkout.ChargeBy(company{})
	w.topUp("bob", "100.00")
	s := &tills{world: w, ann: w.buy("ann", 2).ID, bob: w.buy("bob", 1).ID}
	cat := w.buy("cat", 1).ID
	s.gus = w.buy("gus", 2).ID
	s.surplus, s.paid = w.begin(s.ann, "ann", "1"), ""
	w.learn(s.surplus, "25.00", false)
	s.paid = w.begin(s.ann, "ann", "2")
	w.learn(s.paid, "25.00", true)
	w.learn(s.surplus, "25.00", true)
	if _, err := w.checkout.PayByWallet(t.Context(), checkout.Paying{OrderID: s.bob, UserID: "bob", Key: "k"}); err != nil {
		t.Fatal(err)
	}
	some := cny("2.50")
	if _, _, err := w.checkout.Refund(t.Context(), checkout.RefundRequest{OrderID: s.bob, RefundID: "some", Amount: &some, Reason: "noise"},
		operator("order.refund")); err != nil {
		t.Fatal(err)
	}
	w.join("dan")
	if _, err := w.checkout.Cancel(t.Context(), cat, checkout.Canceller{UserID: "cat"}); err != nil {
		t.Fatal(err)
	}
	w.join("eve")
	w.begin(s.gus, "gus", "1")
	return s
}

func (w *world) begin(id sale.OrderID, user, key string) string {
	w.t.Helper()
	_, p, err := w.checkout.PayByProvider(w.t.Context(), checkout.Paying{OrderID: id, UserID: user, Key: key})
	if err != nil {
		w.t.Fatal(err)
	}
	return p.ID
}

func (w *world) learn(paymentID, amount string, succeeded bool) {
	w.t.Helper()
	news := checkout.PaymentNews{PaymentID: paymentID, Succeeded: succeeded, Amount: cny(amount), Reference: "ch-" + paymentID}
	if !succeeded {
		news.Failure = "DECLINED"
	}
	if err := w.checkout.LearnPayment(w.t.Context(), news); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) join(user string) {
	w.t.Helper()
	if _, _, err := w.checkout.JoinWaitlist(w.t.Context(), checkout.WaitlistWish{ActivityID: w.id, UserID: user, TicketType: ticket, Quantity: 1}); err != nil {
		w.t.Fatal(err)
	}
}

// entry is a user's entry of the waitlist.
func (w *world) entry(user string) *waitlist.Entry {
	w.t.Helper()
	e, err := waitlist.Latest(w.t.Context(), w.db, w.id, user)
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

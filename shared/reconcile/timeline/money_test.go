package timeline_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/checkout"
	"holdfast/shared/money"
	"holdfast/shared/payment"
	"holdfast/shared/reconcile/timeline"
	"holdfast/shared/sale"
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

// company charges buyers; what it is to give back it says it works on.
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

func (w *world) begin(id sale.OrderID, user, key string) string {
	w.t.Helper()
	_, p, err := w.checkout.PayByProvider(w.t.Context(), checkout.Paying{OrderID: id, UserID: user, Key: key})
	if err != nil {
		w.t.Fatal(err)
	}
	return p.ID
}

func (w *world) learn(paymentID string, succeeded bool) {
	w.t.Helper()
	news := checkout.PaymentNews{PaymentID: paymentID, Succeeded: succeeded, Amount: cny("12.50"), Reference: "ch-" + paymentID}
	if !succeeded {
		news.Failure = "DECLINED"
	}
	if err := w.checkout.LearnPayment(w.t.Context(), news); err != nil {
		w.t.Fatal(err)
	}
}

// seats makes the sale one of deposit seats whose deadline is in two hours.
func seats(a *sale.Activity) {
	ratio, deadline := decimal.RequireFromString("0.2"), time.Now().Add(2*time.Hour)
	a.Kind, a.ClosesAt = sale.Deposit, time.Now().Add(time.Hour)
	a.Deposit = &sale.DepositPolicy{Ratio: &ratio, PenaltyRatio: decimal.RequireFromString("0.3"), ConfirmDeadline: deadline,
		RemindAt: deadline.Add(-time.Hour), Cancellation: sale.CancelFree, ClubID: "north", OfferLead: sale.MinOfferLead}
}

func says(t *testing.T, story *timeline.OrderStory, status, verdict, next string) {
	t.Helper()
	if story.Status != status || !strings.Contains(story.Verdict, verdict) || !strings.Contains(story.Next, next) {
		t.Errorf("%s: %s Next: %s", story.Status, story.Verdict, story.Next)
	}
}

func TestADepositsLifeIsToldWithBothAmounts(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, seats)
	w.topUp("ann", "100.00")
	id := w.buy("ann", "k", 2).ID
	says(t, w.order(id), "UNPAID", "held by a deposit of 5.00 CNY", "the club keeps 1.50 CNY")
	w.clock.Add(int64(90 * time.Minute))
	if _, err := w.checkout.RemindDeposit(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	extended := time.Now().Add(3 * time.Hour)
	if _, err := w.checkout.ExtendDeposit(t.Context(), id, extended, 2, operator("deposit.extend")); err != nil {
		t.Fatal(err)
	}
	w.clock.Add(int64(2 * time.Hour))
	says(t, w.order(id), "UNPAID", "was not confirmed by", "settled within a minute or two")
	if _, err := w.checkout.SettleDeposit(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	some := cny("0.50")
	if _, _, err := w.checkout.Refund(t.Context(), checkout.RefundRequest{OrderID: id, RefundID: "goodwill", Amount: &some, Reason: "goodwill"},
		operator("order.refund")); err != nil {
		t.Fatal(err)
	}
	story := w.order(id)
	telling(t, story.Events, "MYSQL 5.00 CNY of the buyer's wallet was frozen as the deposit; of it club north keeps 1.50 CNY",
		"MYSQL A notice was written that the deposit is to be confirmed soon", "MYSQL The deadline was extended",
		"MYSQL The deposit was settled with a penalty: 1.50 CNY to club north, 3.50 CNY back to the buyer",
		"MYSQL Refund goodwill gave back 0.50 CNY of the penalty to the buyer's wallet: goodwill")
	says(t, story, "CANCELLED", "did not confirm it before the deadline", "Nothing happens by itself")
}

func TestASeatThatIsConfirmedOrCannotBeHeldIsTold(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, seats)
	w.topUp("ann", "100.00")
	id := w.buy("ann", "k", 2).ID
	if _, err := w.checkout.ConfirmDeposit(t.Context(), id, "ann", nil); err != nil {
		t.Fatal(err)
	}
	story := w.order(id)
	telling(t, story.Events, "MYSQL The buyer confirmed: 5.00 CNY of the deposit paid for the order, with 20.00 CNY on top, and 0.00 CNY of it came back")
	telling(t, story.Events, "MYSQL It is PAID, by its deposit")
	says(t, story, "PAID", "complete and paid", "Nothing happens by itself")
	poor := w.commit(w.mustReserve("bob", "k", 1)).Cancelled[0]
	says(t, w.order(poor.ID), "CANCELLED", "held less than the deposit", "are given back")
}

func TestPaymentsThatComeTwiceOrLateAreToldWithWhatBecameOfThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.checkout.ChargeBy(company{})
	id := w.buy("ann", "k", 1).ID
	first := w.begin(id, "ann", "1")
	says(t, w.order(id), "UNPAID", "A payment is pending at the provider until", "makes a new order or goes back")
	w.learn(first, false)
	second := w.begin(id, "ann", "2")
	w.learn(second, true)
	w.learn(first, true)
	story := w.order(id)
	telling(t, story.Events, "MYSQL Payment "+first+" of 12.50 CNY at the provider was begun", "MYSQL Payment "+second+" of 12.50 CNY at the provider was begun",
		"MYSQL Payment "+second+" succeeded, and its 12.50 CNY paid for the order",
		"MYSQL Payment "+first+" succeeded though the order had been paid already: its 12.50 CNY is a surplus")
	telling(t, story.Events, "MYSQL of 12.50 CNY to the buyer, by the provider was asked for")
	says(t, story, "PAID", "On its way back: 12.50 CNY to the buyer, by the provider.", "until the provider has answered for good")
	late := w.buy("bob", "k", 1).ID
	payment := w.begin(late, "bob", "1")
	w.clock.Add(int64(16 * time.Minute))
	if n, _, err := w.checkout.Expire(t.Context(), 10); err != nil || n != 1 {
		t.Fatalf("%d expired, %v", n, err)
	}
	w.learn(payment, true)
	old := w.order(late)
	telling(t, old.Events, "MYSQL It was CANCELLED: it was not paid in time", "MYSQL Payment "+payment+" succeeded too late for this order; its 12.50 CNY paid for a new one, ")
	telling(t, old.Events, "MYSQL It lives on as order")
	buyer := w.buyer("bob")
	for _, other := range buyer.Orders {
		if other == late {
			continue
		}
		telling(t, w.order(other).Events, "MYSQL It stands in for order "+late.String()+", whose payment "+payment+" came too late")
		says(t, w.order(other), "PAID", "complete and paid", "Nothing happens by itself")
	}
	if len(buyer.Orders) != 2 {
		t.Errorf("bob's orders are %v", buyer.Orders)
	}
}

func TestWhoWaitedIsToldHowLongAndWhatCameOfIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, user := range []string{"ann", "bob"} {
		w.buy(user, "k", 4-2*i)
	}
	join := func(user string, quantity int) {
		wish := checkout.WaitlistWish{ActivityID: w.id, UserID: user, TicketType: ticket, Quantity: quantity}
		if _, _, err := w.checkout.JoinWaitlist(t.Context(), wish); err != nil {
			t.Fatal(err)
		}
	}
	join("cat", 2)
	join("dan", 4)
	if story := w.buyer("cat"); !strings.Contains(story.Verdict, "The user waits for 2 units of STANDARD.") {
		t.Errorf("%s", story.Verdict)
	}
	telling(t, w.buyer("cat").Events, "MYSQL The user joined the waitlist for 2 units of STANDARD")
	w.cancel(w.facts.OrderID("bob", "k"), "bob")
	story := w.buyer("cat")
	if len(story.Orders) != 1 || !strings.Contains(story.Verdict, "was offered 2 units of STANDARD and has until") {
		t.Fatalf("%v %s", story.Orders, story.Verdict)
	}
	offered := story.Orders[0]
	says(t, w.order(offered), "UNPAID", "an offer from the waitlist that the buyer has not accepted", "the next who waits is offered the units")
	telling(t, w.order(offered).Events, "MYSQL The buyer joined the waitlist for 2 units", "MYSQL Units came free, and the order was offered to the buyer until")
	w.clock.Add(int64(16 * time.Minute))
	if _, _, err := w.checkout.Expire(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	telling(t, w.order(offered).Events, "MYSQL The offer lapsed")
	if story := w.buyer("cat"); !strings.Contains(story.Verdict, "waited for 2 units and let the offer lapse") {
		t.Errorf("%s", story.Verdict)
	}
	if err := w.checkout.LeaveWaitlist(t.Context(), w.id, "dan"); err != nil {
		t.Fatal(err)
	}
	if story := w.buyer("dan"); strings.Contains(story.Verdict, "The user waits") {
		t.Errorf("%s", story.Verdict)
	}
}

func TestNoticesAreToldAsTheyWereSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.buy("ann", "k", 1).ID
	telling(t, w.order(id).Events, "MYSQL A notice was written that the order is made; it is on its way")
	now := time.Now().UTC()
	w.exec("UPDATE notice SET status = 'SENT', sent_at = ? WHERE kind = 'ORDER_CREATED'", now.Add(time.Second))
	telling(t, w.order(id).Events, "MYSQL The buyer was told that the order is made")
	w.exec("UPDATE notice SET status = 'SKIPPED', sent_at = NULL WHERE kind = 'ORDER_CREATED'")
	telling(t, w.order(id).Events, "MYSQL The buyer was not told that the order is made")
}

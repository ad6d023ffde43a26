package api

import (
	"fmt"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/checkout"
	"holdfast/shared/deposit"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/wallet"
)

// depositSeats makes a sale one of seats for 12.50 with a deposit of 30 %.
func depositSeats(a *sale.Activity) {
	ratio := decimal.RequireFromString("0.3")
	a.Kind = sale.Deposit
	a.Deposit = &sale.DepositPolicy{Ratio: &ratio, PenaltyRatio: decimal.RequireFromString("0.2"), Cancellation: sale.CancelPenalty, ClubID: "club-1",
		ConfirmDeadline: a.ClosesAt.Add(time.Hour), RemindAt: a.ClosesAt.Add(30 * time.Minute), OfferLead: sale.MinOfferLead}
}

func (w *world) purse(user string) string {
	w.t.Helper()
	b, err := wallet.Get(w.t.Context(), w.d.DB, wallet.Key{UserID: user, Currency: "CNY"})
	if err != nil {
		w.t.Fatal(err)
	}
	return b.Available.String() + " " + b.Frozen.String()
}

// sent says whether a reservation is noted as sent.
func (w *world) sent(a *sale.Activity, user, key string) bool {
	w.t.Helper()
	f := a.Facts()
	e, err := stock.New(w.sure, nil).Entry(w.t.Context(), a.ID, f.OrderID(user, key))
	if err != nil {
		w.t.Fatal(err)
	}
	return e.Sent
}

// act is a POST that changes one order.
func act(user, key, id, what string) ask {
	return ask{user: user, key: key, method: "POST", path: "/v1/orders/" + id + "/" + what, params: map[string]string{"orderId": id}}
}

func TestDepositSeatIsPromisedFrozenAndConfirmed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale(depositSeats)
	topUp(t, w.d.DB.Run, "u", "25.00")
	reserve, get, confirm := NewReserveTicket(w.d), NewGetOrder(w.d), NewConfirmDeposit(w.d)
	promised := w.call(reserve, wish(a, "u", "k", two))
	w.expect(promised, 202, "")
	if !w.sent(a, "u", "k") {
		t.Error("promised and not noted as sent")
	}
	w.consume()
	id := promised.str("orderId")
	got := w.call(get, seek("u", id))
	held, _ := got.body["deposit"].(map[string]any)
	if got.str("status") != "UNPAID" || got.body["payDeadline"] != nil || held["status"] != "FROZEN" || held["policyHash"] != a.Deposit.Hash().String() ||
		held["penalty"] != nil {
		t.Errorf("frozen: %s", got.text)
	}
	if purse := w.purse("u"); purse != "17.50 7.50" {
		t.Errorf("u has %s", purse)
	}
	first := w.call(confirm, act("u", "c", id, "confirmation"))
	w.expect(first, 200, "")
	held, _ = first.body["deposit"].(map[string]any)
	if supplement, _ := held["supplement"].(map[string]any); first.str("status") != "PAID" || held["status"] != "DEDUCTED" || supplement["amount"] != "17.50" {
		t.Errorf("confirmed: %s", first.text)
	}
	again := w.call(confirm, act("u", "c", id, "confirmation"))
	if again.text != first.text && again.str("status") != "PAID" || again.header["Idempotency-Replayed"] != "true" {
		t.Errorf("the same key: %v %s", again.header, again.text)
	}
	if other := w.call(confirm, act("u", "d", id, "confirmation")); other.status != 200 || other.str("status") != "PAID" {
		t.Errorf("another key: %d %s", other.status, other.text)
	}
	if purse := w.purse("u"); purse != "0.00 0.00" {
		t.Errorf("u has %s", purse)
	}
}

func TestConfirmationRefusesWhatIsNotToBeConfirmed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale(depositSeats)
	topUp(t, w.d.DB.Run, "u", "3.75")
	id := w.call(NewReserveTicket(w.d), wish(a, "u", "k", one)).str("orderId")
	w.consume()
	confirm := NewConfirmDeposit(w.d)
	w.expect(w.call(confirm, act("u", "", id, "confirmation")), 400, "IDEMPOTENCY_KEY_MISSING")
	w.expect(w.call(confirm, act("", "k", id, "confirmation")), 401, "UNAUTHENTICATED")
	w.expect(w.call(confirm, act("v", "k", id, "confirmation")), 404, "ORDER_NOT_FOUND")
	w.expect(w.call(confirm, act("u", "k", "nonsense", "confirmation")), 404, "ORDER_NOT_FOUND")
	body := act("u", "k", id, "confirmation")
	body.body = `{"amount":"1"}`
	w.expect(w.call(confirm, body), 400, "VALIDATION_FAILED")
	poor := w.call(confirm, act("u", "k", id, "confirmation"))
	w.expect(poor, 402, "INSUFFICIENT_BALANCE")
	if poor.body["number"] != 10021.0 {
		t.Errorf("the number is %v", poor.body["number"])
	}
	if purse := w.purse("u"); purse != "0.00 3.75" {
		t.Errorf("u has %s after a refusal", purse)
	}
	if _, err := w.d.DB.ExecContext(t.Context(), `UPDATE deposit_record SET remind_at = '2020-01-01', confirm_deadline = '2020-01-02'`); err != nil {
		t.Fatal(err)
	}
	w.expect(w.call(confirm, act("u", "k", id, "confirmation")), 410, "DEPOSIT_DEADLINE_PASSED")
	f := a.Facts()
	if r, err := w.d.Checkout.SettleDeposit(t.Context(), f.OrderID("u", "k")); err != nil || r.Step != checkout.StepSettled {
		t.Fatalf("%+v: %v", r, err)
	}
	w.expect(w.call(confirm, act("u", "k", id, "confirmation")), 410, "DEPOSIT_DEADLINE_PASSED")
	got := w.call(NewGetOrder(w.d), seek("u", id))
	held, _ := got.body["deposit"].(map[string]any)
	if penalty, _ := held["penalty"].(map[string]any); got.str("reason") != "DEPOSIT_FORFEITED" || held["status"] != "REFUNDED" || penalty["amount"] != "0.75" {
		t.Errorf("settled: %s", got.text)
	}
}

func TestBuyerWithTooLittleMoneyIsToldAtOnceAndHoldsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale(depositSeats)
	h := NewReserveTicket(w.d)
	poor := w.call(h, wish(a, "u", "k", one))
	w.expect(poor, 402, "INSUFFICIENT_BALANCE")
	if poor.body["number"] != 10021.0 || w.left(a) != 10 || w.pending(a) != 0 {
		t.Errorf("%d left, %d pending: %s", w.left(a), w.pending(a), poor.text)
	}
	topUp(t, w.d.DB.Run, "u", "3.75") // no hint is dropped: what it says is too little, so MySQL is asked again
	w.expect(w.call(h, wish(a, "u", "k", one)), 202, "")
	w.consume()
	if purse := w.purse("u"); purse != "0.00 3.75" {
		t.Errorf("u has %s", purse)
	}
	again := w.call(h, wish(a, "u", "k", one)) // the money is gone into this very wish
	w.expect(again, 202, "")
	w.expect(w.call(h, wish(a, "u", "k2", one)), 402, "INSUFFICIENT_BALANCE")
}

func TestOldHintOfPlentyIsCorrectedByTheBatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale(depositSeats)
	topUp(t, w.d.DB.Run, "u", "3.75")
	h := NewReserveTicket(w.d)
	first, second := w.call(h, wish(a, "u", "1", one)), w.call(h, wish(a, "u", "2", one)) // the money is frozen later than both look
	w.expect(first, 202, "")
	w.expect(second, 202, "")
	w.consume()
	got := w.call(NewGetOrder(w.d), seek("u", second.str("orderId")))
	if got.str("status") != "CANCELLED" || got.str("reason") != "INSUFFICIENT_BALANCE" {
		t.Errorf("the second: %s", got.text)
	}
	if purse := w.purse("u"); purse != "0.00 3.75" || w.left(a) != 9 {
		t.Errorf("u has %s, %d left", purse, w.left(a))
	}
}

func TestReservationThatCannotBeNotedAsSentIsNotPromisedAndItsKeyGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale(depositSeats)
	topUp(t, w.d.DB.Run, "u", "3.75")
	h := NewReserveTicket(w.d)
	w.queue.set(func(int) string { w.redis.Down(); return "" }) // accepted, and then Redis is gone
	got := w.call(h, wish(a, "u", "k", one))
	w.expect(got, 503, "RESERVATION_UNCONFIRMED")
	w.redis.Up()
	w.queue.set(nil)
	if w.sent(a, "u", "k") {
		t.Fatal("noted as sent")
	}
	again := w.call(h, wish(a, "u", "k", one))
	w.expect(again, 202, "")
	if again.str("orderId") != got.str("orderId") || !w.sent(a, "u", "k") {
		t.Errorf("the same key: %s", again.text)
	}
	w.consume()
	if n := w.rows("deposit_record"); n != 1 {
		t.Errorf("%d deposits of one wish that was sent twice", n)
	}
	d, err := deposit.Get(t.Context(), w.d.DB, func() sale.OrderID { f := a.Facts(); return f.OrderID("u", "k") }())
	if err != nil || d.Deposit.String() != "3.75" {
		t.Errorf("%+v: %v", d, err)
	}
}

func TestQueueThatRefusesADepositSeatLeavesItUnpromised(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale(depositSeats)
	topUp(t, w.d.DB.Run, "u", "3.75")
	w.queue.set(always("refuse"))
	w.expect(w.call(NewReserveTicket(w.d), wish(a, "u", "k", one)), 503, "RESERVATION_UNCONFIRMED")
	if w.sent(a, "u", "k") {
		t.Error("noted as sent though no queue took it")
	}
}

func TestBuyersSeeEveryOutcomeBeforeTheyPay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale(depositSeats)
	got := w.call(NewGetActivity(w.d), ask{method: "GET", path: "/v1/activities/" + a.ID, params: map[string]string{"activityId": a.ID}})
	types, _ := got.body["ticketTypes"].([]any)
	first, _ := types[0].(map[string]any)
	outcomes, _ := first["depositOutcomes"].([]any)
	if len(outcomes) != 4 {
		t.Fatalf("%d outcomes for a limit of 4: %s", len(outcomes), got.text)
	}
	// Of 37.50 30 % are 11.25; 20 % of that are 2.25.
	third := fmt.Sprint(outcomes[2])
	want := "map[deposit:map[amount:11.25 currency:CNY] onCancel:map[penalty:map[amount:2.25 currency:CNY] refund:map[amount:9.00 currency:CNY]] " +
		"onConfirm:map[supplement:map[amount:26.25 currency:CNY]] onMiss:map[penalty:map[amount:2.25 currency:CNY] refund:map[amount:9.00 currency:CNY]] quantity:3]"
	if third != want {
		t.Errorf("three units: %s\nwant %s", third, want)
	}
	policy, _ := got.body["deposit"].(map[string]any)
	if policy["policyHash"] != a.Deposit.Hash().String() {
		t.Errorf("the policy: %v", policy)
	}
}

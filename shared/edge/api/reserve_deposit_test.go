package api

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/audit"
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
	w.expect(again, 200, "")
	if again.header["Idempotency-Replayed"] != "true" {
		t.Errorf("the same key: %v", again.header)
	}
	delete(first.body, "now") // the one thing that may be another
	if delete(again.body, "now"); !reflect.DeepEqual(again.body, first.body) {
		t.Errorf("first %s\nthe same key %s", first.text, again.text)
	}
	if other := w.call(confirm, act("u", "d", id, "confirmation")); other.status != 200 || other.str("status") != "PAID" {
		t.Errorf("another key: %d %s", other.status, other.text)
	}
	if purse := w.purse("u"); purse != "0.00 0.00" {
		t.Errorf("u has %s", purse)
	}
}

func TestConfirmationOfASeatThatIsOnlyReservedSaysSoToItsBuyerAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale(depositSeats)
	topUp(t, w.d.DB.Run, "u", "25.00")
	id := w.call(NewReserveTicket(w.d), wish(a, "u", "k", two)).str("orderId")
	confirm := NewConfirmDeposit(w.d)
	w.expect(w.call(confirm, act("u", "c", id, "confirmation")), 409, "DEPOSIT_NOT_FROZEN")
	w.expect(w.call(confirm, act("v", "c", id, "confirmation")), 404, "ORDER_NOT_FOUND")
	w.consume()
	w.expect(w.call(confirm, act("u", "c", id, "confirmation")), 200, "") // a refusal is not remembered
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

// Who is sent to top up for a sale that would refuse anyway has done so for nothing.
func TestRefusalOfTheSaleIsHeardBeforeThatOfTheWallet(t *testing.T) {
	t.Parallel()
	now := time.Now()
	perUser := func(limit int) func(*sale.Activity) { return func(a *sale.Activity) { a.PerUserLimit = limit } }
	units := func(n int) func(*sale.Activity) {
		return func(a *sale.Activity) { a.TicketTypes[0].Capacity, a.TicketTypes[0].Buckets = n, 1 }
	}
	bought := func(w *world, a *sale.Activity, user string) {
		topUp(t, w.d.DB.Run, user, "3.75")
		w.expect(w.call(NewReserveTicket(w.d), wish(a, user, "before", one)), 202, "")
		w.consume()
	}
	nothing := func(*world, *sale.Activity) {}
	for _, c := range []struct {
		name, code string
		status     int
		change     func(*sale.Activity)
		before     func(w *world, a *sale.Activity)
		extra      string
	}{
		{"it sells later", "SALE_NOT_STARTED", 409, func(a *sale.Activity) { a.OpensAt = now.Add(30 * time.Minute) }, nothing, "opensAt"},
		{"it is over", "SALE_ENDED", 409, func(a *sale.Activity) { a.ClosesAt = now.Add(-time.Minute) }, nothing, "closesAt"},
		{"it is suspended", "SALE_SUSPENDED", 409, units(3), func(w *world, a *sale.Activity) { w.become(a, sale.Suspended) }, ""},
		{"it is closed", "SALE_CLOSED", 409, units(3), func(w *world, a *sale.Activity) { w.become(a, sale.Closed) }, ""},
		{"it is not loaded", "SALE_NOT_READY", 503, units(3), func(w *world, a *sale.Activity) {
			if err := w.sure.Del(t.Context(), "hf:{"+a.ID+"}:rules").Err(); err != nil {
				t.Fatal(err)
			}
		}, ""},
		{"one order is all that u may have", "ALREADY_RESERVED", 409, perUser(1), func(w *world, a *sale.Activity) { bought(w, a, "u") }, "orderId"},
		{"u may have two", "PURCHASE_LIMIT", 409, perUser(2), func(w *world, a *sale.Activity) { bought(w, a, "u") }, "held"},
		{"too few are left", "INSUFFICIENT_STOCK", 409, units(2), func(w *world, a *sale.Activity) { bought(w, a, "v") }, "shortage"},
		{"others wait", "INSUFFICIENT_STOCK", 409, units(3), func(w *world, a *sale.Activity) {
			if _, err := w.d.Stock.AddWaiters(t.Context(), a.ID, "STANDARD", []sale.EntryID{{1}}); err != nil {
				t.Fatal(err)
			}
		}, "shortage"},
		{"it would sell", "INSUFFICIENT_BALANCE", 402, units(3), nothing, "deposit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.sale(depositSeats, c.change)
			c.before(w, a)
			stands := w.entries(a)
			got := w.call(NewReserveTicket(w.d), wish(a, "u", "k", two))
			w.expect(got, c.status, c.code)
			if c.extra != "" && got.body[c.extra] == nil {
				t.Errorf("%s is not told: %s", c.extra, got.text)
			}
			if n := w.entries(a); n != stands {
				t.Errorf("the log had %d fields and has %d", stands, n)
			}
		})
	}
}

// become changes the state of an activity.
func (w *world) become(a *sale.Activity, to sale.Status) {
	w.t.Helper()
	if _, _, err := w.d.Catalog.Transition(w.t.Context(), a.ID, to, audit.Entry{Operator: "op", RequestID: "r"}); err != nil {
		w.t.Fatal(err)
	}
	if err := w.d.Reconcile.ApplyRules(w.t.Context(), a.ID); err != nil {
		w.t.Fatal(err)
	}
}

// entries counts what the log of an activity holds.
func (w *world) entries(a *sale.Activity) int64 {
	w.t.Helper()
	n, err := w.sure.HLen(w.t.Context(), "hf:{"+a.ID+"}:log").Result()
	if err != nil {
		w.t.Fatal(err)
	}
	return n
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

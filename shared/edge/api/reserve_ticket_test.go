package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/sale"
)

func TestAReservationIsSentBeforeItIsPromised(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	h := NewReserveTicket(w.d)
	w.mysql.Down() // the way of a reservation has no MySQL on it
	got := w.call(h, wish(a, "u1", "k1", two))
	w.expect(got, http.StatusAccepted, "")
	id := a.Facts()
	orderID := id.OrderID("u1", "k1")
	want := map[string]any{"orderId": orderID.String(), "reference": orderID.Reference(), "activityId": a.ID, "mode": "LIVE",
		"ticketType": "STANDARD", "quantity": 2.0, "status": "RESERVED"}
	for name, value := range want {
		if got.body[name] != value {
			t.Errorf("%s is %v, want %v", name, got.body[name], value)
		}
	}
	for _, part := range []string{`"amount":{"amount":"25.00","currency":"CNY"}`, `"unitPrice":{"amount":"12.50","currency":"CNY"}`,
		`"pollAfterMs":`, `"now":"`, `"createdAt":"`, `"expectedBy":"`} {
		if !strings.Contains(got.text, part) {
			t.Errorf("%s is missing in %s", part, got.text)
		}
	}
	if strings.Contains(got.text, "null") || got.header["Location"] != "/v1/orders/"+orderID.String() || got.header["Idempotency-Replayed"] != "" {
		t.Errorf("answered %s with %v", got.text, got.header)
	}
	sent := w.queue.take()
	if len(sent) != 1 || sent[0].OrderID != orderID || sent[0].UserID != "u1" || sent[0].Quantity != 2 || sent[0].Before != 10 ||
		sent[0].Allocations.Units() != 2 || sent[0].Seq == 0 {
		t.Errorf("sent %+v", sent)
	}
	if w.left(a) != 8 || w.pending(a) != 1 {
		t.Errorf("%d left, %d pending", w.left(a), w.pending(a))
	}
}

func TestEveryFormOfAnEventReserves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	h := NewReserveTicket(w.d)
	for name, payload := range forms("POST", "/v1/activities/"+a.ID+"/reservations", one, map[string]any{"sub": "u1"},
		map[string]string{"activityId": a.ID}) {
		if got := invoke(t, h, []byte(payload)); got.status != http.StatusAccepted {
			t.Errorf("%s: %d %s", name, got.status, got.text)
		}
	}
	if w.left(a) != 9 {
		t.Errorf("%d left: one key is one wish, in whatever form", w.left(a))
	}
}

func TestRefusalsSayWhatTheContractSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := NewReserveTicket(w.d)
	later := time.Now().Add(30 * time.Minute).UTC().Truncate(time.Millisecond)
	earlier := time.Now().Add(-time.Minute).UTC().Truncate(time.Millisecond)
	open := w.sale()
	single := w.sale(func(a *sale.Activity) { a.PerUserLimit = 1 })
	small := w.sale(func(a *sale.Activity) { a.TicketTypes[0].Capacity, a.TicketTypes[0].Buckets = 1, 1 })
	upcoming := w.sale(func(a *sale.Activity) { a.OpensAt = later })
	over := w.sale(func(a *sale.Activity) { a.ClosesAt = earlier })
	suspended, closed := w.sale(), w.sale()
	for a, to := range map[*sale.Activity]sale.Status{suspended: sale.Suspended, closed: sale.Closed} {
		if _, _, err := w.d.Catalog.Transition(t.Context(), a.ID, to, audit.Entry{Operator: "op", RequestID: "r"}); err != nil {
			t.Fatal(err)
		}
		if err := w.d.Reconcile.ApplyRules(t.Context(), a.ID); err != nil {
			t.Fatal(err)
		}
	}
	first := w.call(h, wish(single, "u1", "k1", one))
	w.expect(first, 202, "")
	for name, c := range map[string]struct {
		ask     ask
		status  int
		code    string
		number  float64
		members map[string]any
	}{
		"not started": {wish(upcoming, "u1", "k", one), 409, "SALE_NOT_STARTED", 10002, map[string]any{"opensAt": stamp(later), "now": nil}},
		"ended":       {wish(over, "u1", "k", one), 409, "SALE_ENDED", 10003, map[string]any{"closesAt": stamp(earlier), "now": nil}},
		"suspended":   {wish(suspended, "u1", "k", one), 409, "SALE_SUSPENDED", 10011, nil},
		"closed":      {wish(closed, "u1", "k", one), 409, "SALE_CLOSED", 10012, nil},
		"short":       {wish(small, "u1", "k", two), 409, "INSUFFICIENT_STOCK", 10005, map[string]any{"shortage": 1.0}},
		"own order":   {wish(single, "u1", "k2", one), 409, "ALREADY_RESERVED", 10006, map[string]any{"orderId": first.str("orderId")}},
		"limit":       {wish(open, "u1", "k", `{"ticketType":"STANDARD","quantity":5}`), 409, "PURCHASE_LIMIT", -2, map[string]any{"limit": 4.0, "held": 0.0}},
	} {
		got := w.call(h, c.ask)
		w.expect(got, c.status, c.code)
		if got.body["number"] != c.number {
			t.Errorf("%s: number %v", name, got.body["number"])
		}
		for member, want := range c.members {
			if value, stands := got.body[member]; !stands || want != nil && value != want {
				t.Errorf("%s: %s is %v, want %v", name, member, value, want)
			}
		}
	}
	if got := w.call(h, wish(upcoming, "u1", "k", one)); got.body["retryAfterMs"].(float64) < 29*60*1000 {
		t.Errorf("asking again before the opening makes no sense: %s", got.text)
	}
}

func TestBadInputTouchesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	h := NewReserveTicket(w.d)
	before := w.dump(a)
	for _, quantity := range []string{"0", "-1", "1.5", `"2"`, "1e3", "2147483648", "null", "616581622363398143"} {
		got := w.call(h, wish(a, "u1", "k1", `{"ticketType":"STANDARD","quantity":`+quantity+`}`))
		if got.status != 400 && got.status != 422 || got.str("code") != "VALIDATION_FAILED" {
			t.Errorf("quantity %s: %d %s", quantity, got.status, got.text)
		}
	}
	for name, c := range map[string]struct {
		ask    ask
		status int
		code   string
	}{
		"no key":              {wish(a, "u1", "", one), 400, "IDEMPOTENCY_KEY_MISSING"},
		"no user":             {wish(a, "", "k1", one), 401, "UNAUTHENTICATED"},
		"a user in the body":  {wish(a, "u1", "k1", `{"ticketType":"STANDARD","quantity":1,"userId":"u2"}`), 400, "VALIDATION_FAILED"},
		"no body":             {wish(a, "u1", "k1", ""), 415, "UNSUPPORTED_MEDIA_TYPE"},
		"quantity is missing": {wish(a, "u1", "k1", `{"ticketType":"STANDARD"}`), 400, "VALIDATION_FAILED"},
		"unknown type":        {wish(a, "u1", "k1", `{"ticketType":"standard","quantity":1}`), 422, "VALIDATION_FAILED"},
		"too large":           {wish(a, "u1", "k1", `{"ticketType":"`+strings.Repeat("x", maxBody)+`","quantity":1}`), 413, "BODY_TOO_LARGE"},
		"unknown activity":    {wish(&sale.Activity{ID: "nobody-has-this"}, "u1", "k1", one), 404, "ACTIVITY_NOT_FOUND"},
		"an impossible id":    {wish(&sale.Activity{ID: "a{b}c"}, "u1", "k1", one), 404, "ACTIVITY_NOT_FOUND"},
		"a draft":             {wish(w.draft(), "u1", "k1", one), 404, "ACTIVITY_NOT_FOUND"},
	} {
		got := w.call(h, c.ask)
		if got.status != c.status || got.str("code") != c.code {
			t.Errorf("%s: %d %s", name, got.status, got.text)
		}
	}
	if after := w.dump(a); after != before {
		t.Errorf("keys changed\nfrom %s\nto   %s", before, after)
	}
	if messages, attempts := w.queue.count(); messages != 0 || attempts != 0 {
		t.Errorf("%d messages, %d attempts to send", messages, attempts)
	}
	if w.rows("trade_order") != 0 || w.rows("purchase_limit") != 0 || w.rows("job") != 0 {
		t.Error("rows were written")
	}
}

// dump is everything that Redis has of an activity.
func (w *world) dump(a *sale.Activity) string {
	w.t.Helper()
	var b strings.Builder
	for _, name := range []string{"facts", "rules", "buyers", "log", "pending"} {
		text, err := w.sure.Dump(w.t.Context(), "hf:{"+a.ID+"}:"+name).Result()
		fmt.Fprintf(&b, "%s %x %v; ", name, text, err)
	}
	return b.String()
}

func TestASoldOutKeyMaySucceedLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale(func(a *sale.Activity) { a.TicketTypes[0].Capacity, a.TicketTypes[0].Buckets = 1, 1 })
	h, cancelOrder := NewReserveTicket(w.d), NewCancelOrder(w.d)
	first := w.call(h, wish(a, "u1", "k1", one))
	w.expect(first, 202, "")
	w.expect(w.call(h, wish(a, "u2", "k2", one)), 409, "INSUFFICIENT_STOCK")
	w.expect(w.call(h, wish(a, "u2", "k2", one)), 409, "INSUFFICIENT_STOCK")
	w.expect(w.call(cancelOrder, cancellation("u1", "c1", first.str("orderId"))), 200, "")
	w.expect(w.call(h, wish(a, "u2", "k2", one)), 202, "")
}

func TestReplaysAnswerTheOrderAsItStands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	h := NewReserveTicket(w.d)
	first := w.call(h, wish(a, "u1", "k1", two))
	w.expect(first, 202, "")

	again := w.call(h, wish(a, "u1", "k1", ` {"quantity":2, "ticketType":"STANDARD"}`))
	w.expect(again, 202, "")
	if again.header["Idempotency-Replayed"] != "true" || again.str("status") != "RESERVED" || again.str("createdAt") != first.str("createdAt") {
		t.Errorf("a pending one: %s %v", again.text, again.header)
	}
	if messages, _ := w.queue.count(); messages != 2 {
		t.Errorf("a pending one was sent %d times in all, want 2", messages)
	}

	w.consume() // both messages: one order
	settled := w.call(h, wish(a, "u1", "k1", two))
	w.expect(settled, 202, "")
	if settled.str("status") != "UNPAID" || settled.str("payDeadline") == "" || settled.header["Idempotency-Replayed"] != "true" ||
		settled.header["Location"] != first.header["Location"] {
		t.Errorf("an acknowledged one: %s %v", settled.text, settled.header)
	}
	if messages, _ := w.queue.count(); messages != 0 {
		t.Errorf("an acknowledged one was sent again")
	}

	w.expect(w.call(NewCancelOrder(w.d), cancellation("u1", "c1", first.str("orderId"))), 200, "")
	dead := w.call(h, wish(a, "u1", "k1", two))
	w.expect(dead, 202, "")
	if dead.str("status") != "CANCELLED" || dead.str("reason") != "USER" || dead.body["pollAfterMs"] != nil {
		t.Errorf("a dead one: %s", dead.text)
	}
	w.expect(w.call(h, wish(a, "u1", "k1", one)), 422, "IDEMPOTENCY_KEY_REUSED")
	if w.left(a) != 10 || w.rows("trade_order") != 1 {
		t.Errorf("%d left, %d rows", w.left(a), w.rows("trade_order"))
	}
}

func TestAQueueThatRefusesLeavesTheReservationToItsKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	h := NewReserveTicket(w.d)
	w.queue.set(always("refuse"))
	got := w.call(h, wish(a, "u1", "k1", two))
	w.expect(got, 503, "RESERVATION_UNCONFIRMED")
	id := got.str("orderId")
	if got.header["Location"] != "/v1/orders/"+id || id == "" || got.body["number"] != 10031.0 {
		t.Errorf("answered %s %v", got.text, got.header)
	}
	if _, attempts := w.queue.count(); attempts != 2 {
		t.Errorf("%d attempts, want 2", attempts)
	}
	if w.left(a) != 8 || w.pending(a) != 1 {
		t.Errorf("%d left, %d pending", w.left(a), w.pending(a))
	}
	polled := w.call(NewGetOrder(w.d), seek("u1", id))
	if polled.status != 200 || polled.str("status") != "RESERVED" {
		t.Errorf("polled %d %s", polled.status, polled.text)
	}
	w.queue.set(nil)
	again := w.call(h, wish(a, "u1", "k1", two))
	w.expect(again, 202, "")
	if again.str("orderId") != id || again.header["Idempotency-Replayed"] != "true" || w.left(a) != 8 {
		t.Errorf("the key gave %s, %d left", again.text, w.left(a))
	}
}

func TestOneRefusalOfTheQueueIsTriedAgainUnseen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	w.queue.set(func(attempt int) string {
		if attempt == 1 {
			return "refuse"
		}
		return ""
	})
	got := w.call(NewReserveTicket(w.d), wish(a, "u1", "k1", one))
	w.expect(got, 202, "")
	if got.header["Idempotency-Replayed"] != "" {
		t.Error("the first answer is no replay")
	}
}

func TestAQueueThatHangsOrLosesAnswersEndsWithinTheBudget(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"hang", "lose-answer"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.sale()
			h := NewReserveTicket(w.d)
			w.queue.set(always(mode))
			got := w.call(h, wish(a, "u1", "k1", one))
			w.expect(got, 503, "RESERVATION_UNCONFIRMED")
			if got.took > 3*reserveBudget {
				t.Errorf("took %v", got.took)
			}
			w.queue.set(nil)
			w.consume() // what was accepted in spite of the silence
			again := w.call(h, wish(a, "u1", "k1", one))
			w.expect(again, 202, "")
			w.consume()
			if again.str("orderId") != got.str("orderId") || w.rows("trade_order") != 1 || w.left(a) != 9 || w.pending(a) != 0 {
				t.Errorf("%s; %d rows, %d left, %d pending", again.text, w.rows("trade_order"), w.left(a), w.pending(a))
			}
		})
	}
}

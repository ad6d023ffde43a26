package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/order"
	"holdfast/shared/sale"
)

func cancellation(user, key, id string) ask {
	return ask{user: user, key: key, method: "POST", path: "/v1/orders/" + id + "/cancellation", params: map[string]string{"orderId": id}}
}

// reserved makes one reservation and gives its order id.
func (w *world) reserved(a *sale.Activity, user, key string) string {
	w.t.Helper()
	got := w.call(NewReserveTicket(w.d), wish(a, user, key, one))
	w.expect(got, 202, "")
	return got.str("orderId")
}

func TestAnOrderIsReadWhereverItStands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	h := NewGetOrder(w.d)
	id := w.reserved(a, "u1", "k1")
	got := w.call(h, seek("u1", id))
	w.expect(got, 200, "")
	if got.str("status") != "RESERVED" || got.body["pollAfterMs"] == nil {
		t.Errorf("from the log: %s", got.text)
	}
	reservedAt := got.str("createdAt")

	w.consume()
	got = w.call(h, seek("u1", id))
	w.expect(got, 200, "")
	if got.str("status") != "UNPAID" || got.str("payDeadline") == "" || got.body["pollAfterMs"] != nil || got.str("createdAt") != reservedAt {
		t.Errorf("from the cache: %s", got.text)
	}
	tag := got.header["ETag"]
	unchanged := seek("u1", id)
	unchanged.header = map[string]string{"If-None-Match": tag}
	if same := w.call(h, unchanged); same.status != http.StatusNotModified || same.text != "" || same.header["ETag"] != tag {
		t.Errorf("unchanged: %d %s", same.status, same.text)
	}

	if err := w.sure.Del(t.Context(), "hf:{"+a.ID+"}:order:"+id).Err(); err != nil {
		t.Fatal(err)
	}
	fromRow := w.call(h, seek("u1", id))
	w.expect(fromRow, 200, "")
	if fromRow.str("status") != "UNPAID" || fromRow.header["ETag"] != tag {
		t.Errorf("from the row: %s, tag %s, before %s", fromRow.text, fromRow.header["ETag"], tag)
	}
}

func TestOrdersOfOthersAndOfNobodyAreNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	h := NewGetOrder(w.d)
	waiting := w.reserved(a, "u1", "k1")
	f := a.Facts()
	nobody := f.OrderID("u1", "never sent").String()
	stranger := sale.NewOrderID(7, []byte("x"), "u1", "k1").String()
	for _, id := range []string{nobody, stranger, "x", "", strings.ToUpper(waiting), "00000000-0000-0000-0000-000000000000"} {
		w.expect(w.call(h, seek("u1", id)), 404, "ORDER_NOT_FOUND")
	}
	w.expect(w.call(h, seek("u2", waiting)), 404, "ORDER_NOT_FOUND")
	w.consume()
	w.expect(w.call(h, seek("u2", waiting)), 404, "ORDER_NOT_FOUND")
	w.expect(w.call(h, seek("", waiting)), 401, "UNAUTHENTICATED")
	w.expect(w.call(NewCancelOrder(w.d), cancellation("u2", "c1", waiting)), 404, "ORDER_NOT_FOUND")
}

func TestWhileAStoreRecoversAnOrderIsNotSaidToBeMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	h := NewGetOrder(w.d)
	waiting := w.reserved(a, "u1", "k1")
	w.expect(w.call(h, seek("u1", waiting)), 200, "")

	w.redis.Down()
	w.expect(w.call(h, seek("u1", waiting)), 503, "STOCK_STORE_UNAVAILABLE")
	w.redis.Up()

	w.mysql.Down()
	got := w.call(h, seek("u1", waiting)) // the log answers in place of the row
	w.expect(got, 200, "")
	if got.str("status") != "RESERVED" {
		t.Errorf("without MySQL: %s", got.text)
	}
	w.expect(w.call(NewGetOrder(w.d), seek("u1", waiting)), 503, "ORDER_STORE_UNAVAILABLE") // which activity is it of?
	w.mysql.Up()

	if err := w.sure.Del(t.Context(), "hf:{"+a.ID+"}:log").Err(); err != nil {
		t.Fatal(err)
	}
	w.expect(w.call(h, seek("u1", waiting)), 503, "SALE_NOT_READY")
}

func TestAnExpiredOrderIsWorthAskingForAgain(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(d time.Duration) *time.Time { t := now.Add(d); return &t }
	for name, c := range map[string]struct {
		order order.Order
		poll  bool
	}{
		"reserved":               {order.Order{Status: order.Reserved}, true},
		"unpaid in time":         {order.Order{Status: order.Unpaid, PayDeadline: at(time.Second)}, false},
		"unpaid at its deadline": {order.Order{Status: order.Unpaid, PayDeadline: at(0)}, true},
		"paid":                   {order.Order{Status: order.Paid}, false},
		"cancelled":              {order.Order{Status: order.Cancelled, PayDeadline: at(-time.Hour)}, false},
	} {
		if got := pollAfter(&c.order, now); (got > 0) != c.poll {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestOrdersAreListedNewestFirstInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	h := NewListOrders(w.d)
	var ids []string
	for _, key := range []string{"k1", "k2", "k3"} {
		ids = append([]string{w.reserved(a, "u1", key)}, ids...)
		time.Sleep(2 * time.Millisecond) // instants of reserving are told apart by the millisecond
	}
	w.reserved(a, "u2", "k1")
	if got := w.call(h, ask{user: "u1", method: "GET"}); got.status != 200 || got.text != `{"items":[]}` {
		t.Errorf("before the rows are made: %d %s", got.status, got.text)
	}
	w.consume()
	var listed []string
	for cursor, pages := "", 0; pages == 0 || cursor != "" && pages < 5; pages++ {
		got := w.call(h, ask{user: "u1", method: "GET", query: "limit=2&activityId=" + a.ID + "&status=UNPAID&cursor=" + cursor})
		w.expect(got, 200, "")
		items, _ := got.body["items"].([]any)
		for _, item := range items {
			listed = append(listed, item.(map[string]any)["orderId"].(string))
		}
		cursor = got.str("nextCursor")
	}
	if strings.Join(listed, " ") != strings.Join(ids, " ") {
		t.Errorf("listed %v, want %v", listed, ids)
	}
	for query, status := range map[string]int{"cursor=x": 422, "limit=0": 422, "limit=x": 400, "status=LOST": 422, "activityId=%20": 422} {
		if got := w.call(h, ask{user: "u1", method: "GET", query: query}); got.status != status || got.str("code") != "VALIDATION_FAILED" {
			t.Errorf("%s: %d %s", query, got.status, got.text)
		}
	}
}

func TestCancellingGivesTheUnitsBackOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"reserved", "unpaid"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a := w.sale()
			h := NewCancelOrder(w.d)
			id := w.reserved(a, "u1", "k1")
			if kind == "unpaid" {
				w.consume()
			}
			first := w.call(h, cancellation("u1", "c1", id))
			w.expect(first, 200, "")
			if first.str("status") != "CANCELLED" || first.str("reason") != "USER" || first.header["Idempotency-Replayed"] != "" {
				t.Errorf("first: %s", first.text)
			}
			again := w.call(h, cancellation("u1", "c1", id))
			w.expect(again, 200, "")
			if again.header["Idempotency-Replayed"] != "true" || again.str("status") != "CANCELLED" {
				t.Errorf("again: %s %v", again.text, again.header)
			}
			other := w.call(h, cancellation("u1", "c2", id))
			w.expect(other, 200, "")
			w.consume() // its message comes late
			if w.left(a) != 10 || w.rows("trade_order") != 1 || w.pending(a) != 0 {
				t.Errorf("%d left, %d rows, %d pending", w.left(a), w.rows("trade_order"), w.pending(a))
			}
			second := w.reserved(a, "u1", "k2")
			w.expect(w.call(h, cancellation("u1", "c1", second)), 422, "IDEMPOTENCY_KEY_REUSED")
			w.expect(w.call(h, cancellation("u1", "", second)), 400, "IDEMPOTENCY_KEY_MISSING")
			w.expect(w.call(h, cancellation("", "c1", second)), 401, "UNAUTHENTICATED")
		})
	}
}

func TestWhatIsPaidIsNotCancelledAndTheRefusalNotRemembered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	h := NewCancelOrder(w.d)
	id := w.reserved(a, "u1", "k1")
	w.consume()
	orderID, err := sale.ParseOrderID(id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.d.Checkout.MarkPaid(t.Context(), orderID, "ref-1", audit.Entry{Operator: "op", Action: "order.pay", Subject: id, RequestID: "r"}); err != nil {
		t.Fatal(err)
	}
	w.expect(w.call(h, cancellation("u1", "c1", id)), 409, "ORDER_NOT_CANCELLABLE")
	if w.rows("idempotency") != 0 {
		t.Error("a refusal was remembered")
	}
}

func TestADatabaseThatDoesNotAnswerEndsBeforeTheGatewayDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sale()
	w.mysql.Delay(40 * time.Second)
	got := w.call(NewListOrders(w.d), ask{user: "u1", method: "GET"})
	w.expect(got, 503, "ORDER_STORE_UNAVAILABLE")
	if got.took > 3*readBudget {
		t.Errorf("took %v", got.took)
	}
}

func TestNothingPersonalIsLogged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	w.queue.set(always("refuse"))
	w.call(NewReserveTicket(w.d), wish(a, "user-of-the-test", "key-of-the-test", one))
	w.mysql.Down()
	w.call(NewListOrders(w.d), ask{user: "user-of-the-test", method: "GET"})
	text := w.log.String()
	if !strings.Contains(text, `"code":"RESERVATION_UNCONFIRMED"`) || !strings.Contains(text, `"requestId":"r-1"`) {
		t.Errorf("the log says too little: %s", text)
	}
	if strings.Contains(text, "user-of-the-test") || strings.Contains(text, "key-of-the-test") {
		t.Errorf("the log says too much: %s", text)
	}
}

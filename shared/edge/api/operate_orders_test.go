package api

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast/shared/reconcile"
	"holdfast/shared/sale"
)

func TestOrdersAreFoundByEachFilter(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(nil)
	first, second := w.order("u1", "k1", 1), w.order("u2", "k2", 2)
	w.order("u2", "k3", 1)
	w.must(200, "POST", "/ops/v1/orders/"+second+"/payment", `{"reference":"r1"}`)
	reference := w.must(200, "GET", "/ops/v1/orders/"+first, "").body["reference"].(string)
	for query, n := range map[string]int{"": 3, "userId=u2": 2, "userId=nobody": 0, "activityId=" + w.id: 3, "activityId=other": 0,
		"status=PAID": 1, "status=UNPAID&userId=u2": 1, "status=RESERVED": 0, "reference=" + reference: 1, "limit=2": 2} {
		got := w.must(200, "GET", "/ops/v1/orders?"+query, "")
		if items, isList := got.body["items"].([]any); !isList || len(items) != n {
			t.Errorf("%q: %s, want %d", query, got.text, n)
		}
	}
	for _, query := range []string{"status=LOST", "activityId=a%2Fb", "reference=abc", "userId=%00", "cursor=abc"} {
		if got := w.call("GET", "/ops/v1/orders?"+query, ""); got.status != 422 {
			t.Errorf("%q: %d %s", query, got.status, got.text)
		}
	}
}

func TestOneOrderIsSeenFromReservationToItsEnd(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(nil)
	reserved := w.reserve("u9", "k9", 2).OrderID.String()
	got := w.must(200, "GET", "/ops/v1/orders/"+reserved, "")
	if got.body["status"] != "RESERVED" || got.body["userId"] != "u9" || got.body["paid"] != nil || got.body["seq"] == "0" {
		t.Errorf("reserved: %s", got.text)
	}
	if got := w.call("POST", "/ops/v1/orders/"+reserved+"/payment", `{"reference":"r"}`); got.status != 409 || got.code() != "ORDER_NOT_PAYABLE" {
		t.Errorf("paying a reservation: %d %s", got.status, got.text)
	}
	cancelled := w.must(200, "POST", "/ops/v1/orders/"+reserved+"/cancellation", `{"reason":"asked","refund":"RULE"}`)
	if cancelled.body["status"] != "CANCELLED" || cancelled.body["reason"] != "OPERATOR" || w.snapshot().Types["STANDARD"].Left != 10 {
		t.Errorf("cancelled: %s", cancelled.text)
	}
	if got := w.audits(reserved); !slices.Equal(got, []string{"order.cancel"}) {
		t.Errorf("audit rows %q", got)
	}
	unpaid := w.must(200, "GET", "/ops/v1/orders/"+w.order("u1", "k1", 2), "")
	if unpaid.body["status"] != "UNPAID" || unpaid.body["source"] != "SALE" || unpaid.body["messageId"] != "m-k1" || unpaid.header["ETag"] == "" {
		t.Errorf("unpaid: %s", unpaid.text)
	}
}

func TestAnOrderIsMarkedPaidOnceByItsReference(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(nil)
	id := w.order("u1", "k1", 2)
	path := "/ops/v1/orders/" + id + "/payment"
	for name, body := range map[string]string{"no reference": `{}`, "a number": `{"reference":7}`, "an unknown field": `{"reference":"r","amount":"1"}`} {
		if got := w.call("POST", path, body); got.status != 400 {
			t.Errorf("%s: %d %s", name, got.status, got.text)
		}
	}
	for name, body := range map[string]string{"an empty one": `{"reference":""}`, "a space before": `{"reference":" r"}`,
		"other letters": `{"reference":"é"}`, "101 letters": fmt.Sprintf(`{"reference":"%0101d"}`, 7)} {
		if got := w.call("POST", path, body); got.status != 422 {
			t.Errorf("%s: %d %s", name, got.status, got.text)
		}
	}
	first := w.must(200, "POST", path, `{"reference":"bank-1"}`)
	if first.body["status"] != "PAID" || first.body["paidBy"] != "MANUAL:bank-1" || first.body["payDeadline"] == nil && first.body["paid"] == nil {
		t.Errorf("paid: %s", first.text)
	}
	w.must(200, "POST", path, `{"reference":"bank-1"}`)
	if got := w.call("POST", path, `{"reference":"bank-2"}`); got.status != 409 || got.code() != "ORDER_NOT_PAYABLE" {
		t.Errorf("by another reference: %d %s", got.status, got.text)
	}
	if got := w.audits(id); !slices.Equal(got, []string{"order.pay"}) {
		t.Errorf("audit rows %q", got)
	}
	late := w.order("u2", "k2", 1)
	w.ahead.Store(int64(16 * time.Minute))
	if got := w.call("POST", "/ops/v1/orders/"+late+"/payment", `{"reference":"bank-3"}`); got.status != 410 || got.code() != "ORDER_EXPIRED" {
		t.Errorf("past its deadline: %d %s", got.status, got.text)
	}
}

func TestAPaidOrderIsCancelledWithTheRefundThatTheOperatorSays(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(nil)
	id := w.order("u1", "k1", 2)
	w.must(200, "POST", "/ops/v1/orders/"+id+"/payment", `{"reference":"bank-1"}`)
	path := "/ops/v1/orders/" + id + "/cancellation"
	for refund, want := range map[string]string{"RULE": "0.00", "FULL": "25.00"} { // the sale has no rule
		id := w.order("u-"+refund, "k", 2)
		w.must(200, "POST", "/ops/v1/orders/"+id+"/payment", `{"reference":"bank-1"}`)
		got := w.must(200, "POST", "/ops/v1/orders/"+id+"/cancellation", `{"reason":"r","refund":"`+refund+`"}`)
		if refunded := got.body["refunded"].(map[string]any)["amount"]; refunded != want {
			t.Errorf("refund %s: %s", refund, got.text)
		}
	}
	for name, c := range map[string]struct {
		body   string
		status int
	}{"no reason": {`{"refund":"NONE"}`, 400}, "an empty reason": {`{"reason":"","refund":"NONE"}`, 422}, "an unknown refund": {`{"reason":"r","refund":"HALF"}`, 422}} {
		if got := w.call("POST", path, c.body); got.status != c.status {
			t.Errorf("%s: %d %s", name, got.status, got.text)
		}
	}
	got := w.must(200, "POST", path, `{"reason":"r","refund":"NONE"}`)
	if got.body["status"] != "CANCELLED" || got.body["reason"] != "OPERATOR" {
		t.Errorf("cancelled: %s", got.text)
	}
	w.must(200, "POST", path, `{"reason":"again","refund":"NONE"}`)
	if got := w.audits(id); !slices.Equal(got, []string{"order.pay", "order.cancel"}) {
		t.Errorf("audit rows %q", got)
	}
	wantFigures(t, "after the cancellation", w.must(200, "GET", w.at("/stock"), ""), map[string]int{"available": 10, "sold": 0, "pending": 0})
}

func TestDeadLettersAlertsAndAuditsGoByPagesNewestFirst(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(nil)
	id := sale.NewOrderID(1, []byte("salt"), "u", "k")
	for i := range 3 {
		letter := reconcile.DeadLetter{Queue: "orders", MessageID: fmt.Sprint("m", i), Reason: "UNREADABLE", Body: []byte("\xff{"), ReceiveCount: i}
		if i == 2 {
			letter.OrderID, letter.ActivityID, letter.Body = &id, w.id, []byte(`{"v":1}`)
		}
		if err := reconcile.RecordDeadLetter(t.Context(), w.deps.DB, letter); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		if _, err := w.deps.DB.ExecContext(t.Context(), `INSERT INTO alert (kind, subject, detail, first_at, last_at) VALUES (?, ?, '{"n":1}', ?, ?)`,
			"TEST", fmt.Sprint("s", i), now, now); err != nil {
			t.Fatal(err)
		}
	}
	for path, key := range map[string]string{"/ops/v1/dead-letters": "messageId", "/ops/v1/alerts": "subject", "/ops/v1/audit-log": "action"} {
		all := w.must(200, "GET", path, "")
		items := all.body["items"].([]any)
		one := w.must(200, "GET", path+"?limit=1", "")
		next, more := one.body["nextCursor"].(string)
		if !more || all.body["nextCursor"] != nil {
			t.Fatalf("%s: cursors of %s and %s", path, one.text, all.text)
		}
		two := w.must(200, "GET", path+"?limit=1&cursor="+next, "")
		for i, page := range []opsAnswer{one, two} {
			got := page.body["items"].([]any)[0].(map[string]any)[key]
			if want := items[i].(map[string]any)[key]; got != want {
				t.Errorf("%s: page %d has %v, the whole list %v", path, i, got, want)
			}
		}
		for _, cursor := range []string{"-1", "!", "0", "01"} {
			if got := w.call("GET", path+"?cursor="+cursor, ""); got.status != 422 {
				t.Errorf("%s with cursor %s: %d", path, cursor, got.status)
			}
		}
	}
	letters := w.must(200, "GET", "/ops/v1/dead-letters", "").body["items"].([]any)
	newest, oldest := letters[0].(map[string]any), letters[2].(map[string]any)
	if newest["orderId"] != id.String() || newest["body"] != `{"v":1}` || oldest["orderId"] != nil || oldest["body"] != "\uFFFD{" {
		t.Errorf("dead letters %v", letters)
	}
	for query, n := range map[string]int{"subject=" + w.id: 2, "subject=none": 0, "operator=ops-1": 2, "operator=other": 0} {
		if got := w.must(200, "GET", "/ops/v1/audit-log?"+query, ""); len(got.body["items"].([]any)) != n {
			t.Errorf("%s: %s", query, got.text)
		}
	}
}

package api

import (
	"fmt"
	"strings"
	"testing"
)

func TestTheTimelineOfAnOrderEndsInAVerdict(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(nil)
	id := w.order("u1", "k1", 2)
	w.must(200, "POST", "/ops/v1/orders/"+id+"/payment", `{"reference":"bank-1"}`)
	got := w.must(200, "GET", "/ops/v1/orders/"+id+"/timeline", "")
	sources := make(map[string]bool)
	last := ""
	for _, e := range got.body["events"].([]any) {
		e := e.(map[string]any)
		sources[e["source"].(string)] = true
		at, _ := e["at"].(string)
		if at < last {
			t.Errorf("%q stands after %s", e["text"], last)
		}
		last = at
	}
	for _, source := range []string{"REDIS", "QUEUE", "MYSQL", "OPERATOR"} {
		if !sources[source] {
			t.Errorf("nothing of %s is told: %s", source, got.text)
		}
	}
	if got.body["status"] != "PAID" || got.body["userId"] != "u1" || got.body["verdict"] != "The order is complete and paid." || got.body["next"] == nil {
		t.Errorf("%s", got.text)
	}
}

func TestTheTimelineOfAnUnknownOrderSaysWhatWasLookedAt(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(nil)
	facts := w.activity().Facts()
	unknown := facts.OrderID("nobody", "k").String()
	got := w.call("GET", "/ops/v1/orders/"+unknown+"/timeline", "")
	detail, _ := got.body["detail"].(string)
	if got.status != 404 || got.code() != "ORDER_NOT_FOUND" || !strings.Contains(detail, unknown) || !strings.Contains(detail, "Looked at: the row in MySQL") {
		t.Errorf("%d %s", got.status, got.text)
	}
	for _, id := range []string{"x", strings.ToUpper(unknown), unknown + "0"} {
		if got := w.call("GET", "/ops/v1/orders/"+id+"/timeline", ""); got.status != 404 {
			t.Errorf("%s: %d", id, got.status)
		}
	}
}

func TestTheTimelineOfABuyerWithoutOrdersIsToldToo(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(nil)
	for i := range 5 {
		w.order(fmt.Sprint("u", i), "k", 2)
	}
	got := w.must(200, "GET", w.at("/timeline?userId=late%2Fcomer@example.org"), "")
	verdict, _ := got.body["verdict"].(string)
	if got.body["userId"] != "late/comer@example.org" || got.body["held"] != 0.0 || len(got.body["orderIds"].([]any)) != 0 ||
		!strings.Contains(verdict, "STANDARD was sold out at") || len(got.body["notProvable"].([]any)) != 1 {
		t.Errorf("%s", got.text)
	}
	own := w.must(200, "GET", w.at("/timeline?userId=u1"), "")
	if own.body["held"] != 2.0 || len(own.body["orderIds"].([]any)) != 1 {
		t.Errorf("%s", own.text)
	}
	for query, status := range map[string]int{"": 422, "userId=": 422, "userId=%00": 422, "userId=%20u": 422, "userId=" + strings.Repeat("u", 129): 422,
		"userId=u&userId=v": 400} {
		if got := w.call("GET", w.at("/timeline?"+query), ""); got.status != status {
			t.Errorf("%s: %d %s", query, got.status, got.text)
		}
	}
}

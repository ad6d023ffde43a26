package api

import (
	"net/url"
	"slices"
	"testing"
	"time"
)

func TestOnesOwnNoticesAreListedNewestFirstInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	reserve, list := NewReserveTicket(w.d), NewListNotices(w.d)
	for _, user := range []string{"ann", "bob"} {
		for _, key := range []string{"1", "2", "3"} {
			if got := w.call(reserve, wish(a, user, key, one)); got.status != 202 {
				t.Fatalf("%d %s", got.status, got.text)
			}
			w.consume()
		}
	}
	var orders []string
	query := "limit=2"
	for {
		got := w.call(list, ask{user: "ann", method: "GET", path: "/v1/notices", query: query})
		w.expect(got, 200, "")
		for _, one := range got.body["items"].([]any) {
			n := one.(map[string]any)
			data := n["data"].(map[string]any)
			if n["kind"] != "ORDER_CREATED" || n["activityId"] != a.ID || n["noticeId"] == "" || data["status"] != "UNPAID" || data["revision"] != 1.0 {
				t.Errorf("%v", n)
			}
			if at, err := time.Parse(time.RFC3339, n["at"].(string)); err != nil || time.Since(at) > time.Minute {
				t.Errorf("at %v", n["at"])
			}
			orders = append(orders, n["orderId"].(string))
		}
		next := got.str("nextCursor")
		if next == "" {
			break
		}
		query = "limit=2&cursor=" + url.QueryEscape(next)
	}
	f := a.Facts()
	want := []string{f.OrderID("ann", "3").String(), f.OrderID("ann", "2").String(), f.OrderID("ann", "1").String()}
	if !slices.Equal(orders, want) {
		t.Errorf("listed %q, want %q", orders, want)
	}
	w.expect(w.call(list, ask{user: "ann", method: "GET", path: "/v1/notices", query: "cursor=x"}), 422, "VALIDATION_FAILED")
	w.expect(w.call(list, ask{method: "GET", path: "/v1/notices"}), 401, "UNAUTHENTICATED")
	if got := w.call(list, ask{user: "eve", method: "GET", path: "/v1/notices"}); got.status != 200 || got.text != `{"items":[]}` {
		t.Errorf("%d %s", got.status, got.text)
	}
}

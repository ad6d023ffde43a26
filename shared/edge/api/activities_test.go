package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/sale"
)

func activity(id string) ask {
	return ask{method: "GET", path: "/v1/activities/" + id, params: map[string]string{"activityId": id}}
}

func TestAnActivityShowsWhatBuyersNeed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale(func(a *sale.Activity) { a.Metadata = []byte(`{"banner": "x"}`); a.Lang = "zh-CN" })
	h := NewGetActivity(w.d)
	got := w.call(h, activity(a.ID))
	w.expect(got, 200, "")
	for name, want := range map[string]any{"activityId": a.ID, "kind": "TICKET", "mode": "LIVE", "status": "PUBLISHED", "phase": "OPEN",
		"perUserLimit": 4.0, "payWindowSeconds": 900.0, "lang": "zh-CN"} {
		if got.body[name] != want {
			t.Errorf("%s is %v, want %v", name, got.body[name], want)
		}
	}
	if got.header["Cache-Control"] != "public, max-age=1" || got.header["ETag"] == "" || strings.Contains(got.text, "salt") ||
		!strings.Contains(got.text, `"availability":"PLENTY"`) || !strings.Contains(got.text, `"refundRule":{}`) || strings.Contains(got.text, "null") {
		t.Errorf("answered %s with %v", got.text, got.header)
	}
	if now, err := time.Parse(time.RFC3339, got.str("now")); err != nil || time.Since(now).Abs() > time.Minute {
		t.Errorf("now is %q", got.str("now"))
	}
	same := activity(a.ID)
	same.header = map[string]string{"If-None-Match": `"x", ` + got.header["ETag"]}
	if again := w.call(h, same); again.status != http.StatusNotModified || again.text != "" {
		t.Errorf("unchanged: %d %s", again.status, again.text)
	}
	for range 9 {
		w.reserved(a, "u"+time.Now().String(), "k")
	}
	if again := w.call(h, same); again.status != 200 || !strings.Contains(again.text, `"availability":"FEW"`) {
		t.Errorf("nine of ten taken: %d %s", again.status, again.text)
	}
	w.reserved(a, "u-last", "k")
	if again := w.call(h, activity(a.ID)); !strings.Contains(again.text, `"availability":"NONE"`) {
		t.Errorf("all taken: %s", again.text)
	}
}

func TestDraftsAndUnknownActivitiesAreNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	draft := w.draft()
	for _, id := range []string{draft.ID, "nobody", "a b", "", "x/../y", strings.Repeat("a", 65)} {
		w.expect(w.call(NewGetActivity(w.d), activity(id)), 404, "ACTIVITY_NOT_FOUND")
		mine := activity(id)
		mine.user = "u1"
		w.expect(w.call(NewMyActivity(w.d), mine), 404, "ACTIVITY_NOT_FOUND")
	}
	if list := w.call(NewListActivities(w.d), ask{method: "GET"}); list.text != `{"items":[]}` {
		t.Errorf("listed %s", list.text)
	}
}

func TestARowIsBelievedForASecondAndNoLonger(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	h := NewGetActivity(w.d)
	w.expect(w.call(h, activity(a.ID)), 200, "")
	w.mysql.Down()
	w.expect(w.call(h, activity(a.ID)), 200, "")
	time.Sleep(rowLife)
	w.expect(w.call(h, activity(a.ID)), 503, "ORDER_STORE_UNAVAILABLE")
	w.mysql.Up()
	if _, _, err := w.d.Catalog.Transition(t.Context(), a.ID, sale.Suspended, audit.Entry{Operator: "op", RequestID: "r"}); err != nil {
		t.Fatal(err)
	}
	if got := w.call(h, activity(a.ID)); got.str("phase") != "SUSPENDED" || got.str("status") != "SUSPENDED" {
		t.Errorf("after the change: %s", got.text)
	}
}

func TestWithoutRedisNobodyKnowsTheTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	w.redis.Down()
	got := w.call(NewGetActivity(w.d), activity(a.ID))
	w.expect(got, 503, "STOCK_STORE_UNAVAILABLE")
	if got.took > soon {
		t.Errorf("took %v", got.took)
	}
	w.expect(w.call(NewListActivities(w.d), ask{method: "GET"}), 503, "STOCK_STORE_UNAVAILABLE")
}

func TestWhileLoadingAvailabilityIsAbsent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.publish()
	got := w.call(NewGetActivity(w.d), activity(a.ID))
	w.expect(got, 200, "")
	if strings.Contains(got.text, "availability") || got.str("phase") != "OPEN" {
		t.Errorf("answered %s", got.text)
	}
}

func TestActivitiesAreListedInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.draft()
	first, second := w.sale(), w.sale(func(a *sale.Activity) { a.OpensAt = time.Now().Add(30 * time.Minute) })
	h := NewListActivities(w.d)
	page := w.call(h, ask{method: "GET", query: "limit=1"})
	w.expect(page, 200, "")
	if !strings.Contains(page.text, second.ID) || !strings.Contains(page.text, `"phase":"UPCOMING"`) || page.str("nextCursor") == "" {
		t.Errorf("first page: %s", page.text)
	}
	rest := w.call(h, ask{method: "GET", query: "limit=1&cursor=" + page.str("nextCursor")})
	if !strings.Contains(rest.text, first.ID) || rest.str("nextCursor") != "" || !strings.Contains(rest.text, "PLENTY") {
		t.Errorf("last page: %s", rest.text)
	}
	same := w.call(h, ask{method: "GET", query: "limit=1", header: map[string]string{"If-None-Match": page.header["ETag"]}})
	if same.status != http.StatusNotModified || same.header["Cache-Control"] != "public, max-age=1" {
		t.Errorf("unchanged: %d %v", same.status, same.header)
	}
	w.expect(w.call(h, ask{method: "GET", query: "cursor=%21"}), 422, "VALIDATION_FAILED")
}

func TestMyActivityKnowsOfReservationsThatAreNoOrdersYet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	h := NewMyActivity(w.d)
	mine := activity(a.ID)
	mine.user = "u1"
	got := w.call(h, mine)
	w.expect(got, 200, "")
	if got.body["held"] != 0.0 || got.body["limit"] != 4.0 || got.body["lastOrderId"] != nil || got.str("now") == "" {
		t.Errorf("a stranger: %s", got.text)
	}
	id := w.reserved(a, "u1", "k1")
	if got = w.call(h, mine); got.body["held"] != 1.0 || got.str("lastOrderId") != id {
		t.Errorf("a buyer: %s", got.text)
	}
	w.expect(w.call(h, activity(a.ID)), 401, "UNAUTHENTICATED")
}

func TestHealthRunsAScriptAndAQuery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := NewHealth(w.d)
	if got := w.call(h, ask{method: "GET"}); got.status != 200 || got.str("status") != "UP" {
		t.Errorf("both up: %d %s", got.status, got.text)
	}
	w.mysql.Down()
	if got := w.call(h, ask{method: "GET"}); got.status != 503 || got.header["Retry-After"] == "" ||
		!strings.Contains(got.text, `"orders":"DOWN"`) || !strings.Contains(got.text, `"stock":"UP"`) {
		t.Errorf("without MySQL: %d %s", got.status, got.text)
	}
	w.mysql.Up()
	w.redis.Delay(time.Hour)
	got := w.call(h, ask{method: "GET"})
	if got.status != 503 || !strings.Contains(got.text, `"stock":"DOWN"`) || got.took > 3*healthBudget {
		t.Errorf("with a Redis that hangs: %d %s after %v", got.status, got.text, got.took)
	}
}

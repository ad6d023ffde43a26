package api

import (
	"slices"
	"testing"
	"time"

	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

func TestEachStepGoesOnlyFromItsOwnStatesAndIsIdempotent(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.must(201, "POST", "/ops/v1/activities", w.draft(nil))
	step := func(name string, status int, want string) {
		t.Helper()
		got := w.call("POST", w.at("/"+name), "")
		if got.status != status || status == 409 && got.code() != "ILLEGAL_TRANSITION" || status == 200 && got.body["status"] != want {
			t.Errorf("%s: %d %s, want %d %s", name, got.status, got.text, status, want)
		}
	}
	for _, early := range []string{"suspension", "resumption", "closure"} {
		step(early, 409, "")
	}
	step("publication", 200, "PUBLISHED")
	step("publication", 200, "PUBLISHED")
	step("resumption", 200, "PUBLISHED") // already in effect
	step("suspension", 200, "SUSPENDED")
	step("suspension", 200, "SUSPENDED")
	step("publication", 409, "")
	step("resumption", 200, "PUBLISHED")
	step("suspension", 200, "SUSPENDED")
	step("closure", 200, "CLOSED")
	step("closure", 200, "CLOSED")
	for _, late := range []string{"publication", "suspension", "resumption"} {
		step(late, 409, "")
	}
	want := []string{"activity.create", "activity.publish", "activity.suspend", "activity.resume", "activity.suspend", "activity.close"}
	if got := w.audits(w.id); !slices.Equal(got, want) {
		t.Errorf("audit rows %q", got)
	}
	if s := w.snapshot(); s.Status != sale.Closed {
		t.Errorf("Redis has %s", s.Status)
	}
	if got := w.call("POST", w.at("/closure"), `{"why":"x"}`); got.status != 400 {
		t.Errorf("a body with members: %d %s", got.status, got.text)
	}
	if got := w.call("PATCH", w.at(""), `{"closesAt":"2035-01-01T00:00:00Z"}`, "If-Match", w.must(200, "GET", w.at(""), "").header["ETag"]); got.status != 422 {
		t.Errorf("a closed sale made longer: %d %s", got.status, got.text)
	}
}

func TestPublicationLoadsTheStockAndAgainAfterALoss(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.must(201, "POST", "/ops/v1/activities", w.draft(nil))
	first := w.must(200, "POST", w.at("/publication"), "")
	if s := w.snapshot(); s.State != stock.Open || s.Epoch != 1 || s.Types["STANDARD"].Left != 10 || first.body["epoch"] != 1.0 {
		t.Errorf("loaded %+v, answered %s", s, first.text)
	}
	w.must(200, "POST", w.at("/publication"), "")
	if s := w.snapshot(); s.Epoch != 1 {
		t.Errorf("what was loaded was loaded again: epoch %d", s.Epoch)
	}
	id := w.order("u1", "k1", 2)
	w.loseRedis()
	again := w.must(200, "POST", w.at("/publication"), "")
	if s := w.snapshot(); s.State != stock.Open || s.Types["STANDARD"].Left != 8 || again.body["epoch"] != 2.0 {
		t.Errorf("after the loss %+v, answered %s", s, again.text)
	}
	if got := w.must(200, "GET", "/ops/v1/orders/"+id, ""); got.body["status"] != "UNPAID" {
		t.Errorf("the order is %s", got.text)
	}
}

// loseRedis deletes all keys of the world's activity.
func (w *opsWorld) loseRedis() {
	w.t.Helper()
	keys, err := w.rdb.Keys(w.t.Context(), "hf:{"+w.id+"}:*").Result()
	if err != nil || len(keys) == 0 {
		w.t.Fatalf("keys of the activity: %v %v", keys, err)
	}
	if err := w.rdb.Unlink(w.t.Context(), keys...).Err(); err != nil {
		w.t.Fatal(err)
	}
}

func TestAStepThatTheStockCannotHearIsRecordedAndCanBeRepeated(t *testing.T) {
	t.Parallel()
	proxy := testenv.Proxy(t, testenv.RedisAddr(t))
	w := newOpsWorld(t, proxy.Addr)
	w.publish(nil)
	proxy.Down()
	got := w.call("POST", w.at("/suspension"), "")
	if got.status != 503 || got.code() != "STOCK_STORE_UNAVAILABLE" || got.body["retryable"] != true || got.header["Retry-After"] == "" {
		t.Errorf("suspension: %d %s", got.status, got.text)
	}
	if a := w.activity(); a.Status != sale.Suspended {
		t.Errorf("MySQL has %s", a.Status)
	}
	changed := w.must(200, "PATCH", w.at(""), `{"perUserLimit":9}`, "If-Match", revisionTag(w.activity().Revision))
	if changed.body["rulesApplied"] != false || changed.body["perUserLimit"] != 9.0 || changed.body["now"] != nil {
		t.Errorf("changed without the stock: %s", changed.text)
	}
	if listed := w.call("GET", "/ops/v1/activities", ""); listed.status != 200 {
		t.Errorf("the list needs the stock: %d", listed.status)
	}
	proxy.Up()
	w.must(200, "POST", w.at("/suspension"), "")
	if s := w.snapshot(); s.Status != sale.Suspended || s.RulesVersion != w.activity().RulesVersion {
		t.Errorf("Redis has %+v", s)
	}
	want := []string{"activity.create", "activity.publish", "activity.suspend", "activity.change"}
	if got := w.audits(w.id); !slices.Equal(got, want) {
		t.Errorf("audit rows %q", got)
	}
}

func TestAPublicationThatCannotLoadAsksForALoad(t *testing.T) {
	t.Parallel()
	proxy := testenv.Proxy(t, testenv.RedisAddr(t))
	w := newOpsWorld(t, proxy.Addr)
	w.must(201, "POST", "/ops/v1/activities", w.draft(nil))
	proxy.Down()
	if got := w.call("POST", w.at("/publication"), ""); got.status != 503 || got.code() != "STOCK_STORE_UNAVAILABLE" {
		t.Errorf("publication: %d %s", got.status, got.text)
	}
	if a := w.activity(); a.Status != sale.Published || w.rows("job") != 1 {
		t.Errorf("MySQL has %s and %d jobs", a.Status, w.rows("job"))
	}
	proxy.Up()
	w.must(200, "POST", w.at("/publication"), "")
	if s := w.snapshot(); s.State != stock.Open {
		t.Errorf("Redis has %+v", s)
	}
}

func TestClosureEndsReservationsAtOnce(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(map[string]any{"opensAt": stamp(time.Now().Add(-time.Minute))})
	w.must(200, "POST", w.at("/closure"), "")
	facts := w.activity().Facts()
	_, err := w.deps.Stock.Reserve(t.Context(), &facts, stock.ReserveRequest{OrderID: facts.OrderID("u", "k"), UserID: "u", TicketType: "STANDARD", Quantity: 1})
	if err == nil {
		t.Error("a closed sale sold")
	}
}

package api

import (
	"sync"
	"testing"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

// bucketSum adds one figure over all buckets of the only type.
func bucketSum(t *testing.T, answer opsAnswer, figure string) int {
	t.Helper()
	sum := 0
	for _, b := range answer.body["ticketTypes"].([]any)[0].(map[string]any)["buckets"].([]any) {
		sum += int(b.(map[string]any)[figure].(float64))
	}
	return sum
}

func wantFigures(t *testing.T, when string, answer opsAnswer, want map[string]int) {
	t.Helper()
	for figure, n := range want {
		if got := bucketSum(t, answer, figure); got != n {
			t.Errorf("%s: %s is %d, want %d in %s", when, figure, got, n, answer.text)
		}
	}
	for _, b := range answer.body["ticketTypes"].([]any)[0].(map[string]any)["buckets"].([]any) {
		if d := b.(map[string]any)["difference"].(float64); d != float64(want["difference"]) && want["difference"] == 0 {
			t.Errorf("%s: a bucket differs by %v in %s", when, d, answer.text)
		}
	}
}

func TestStockFiguresExplainEveryUnit(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.must(201, "POST", "/ops/v1/activities", w.draft(nil))
	if got := w.call("GET", w.at("/stock"), ""); got.status != 409 {
		t.Errorf("stock of a draft: %d %s", got.status, got.text)
	}
	w.must(200, "POST", w.at("/publication"), "")
	wantFigures(t, "fresh", w.must(200, "GET", w.at("/stock"), ""), map[string]int{"capacity": 10, "available": 10, "frozen": 0, "pending": 0})

	id := w.order("u1", "k1", 2)
	w.reserve("u2", "k2", 3)
	wantFigures(t, "one order, one reservation", w.must(200, "GET", w.at("/stock"), ""),
		map[string]int{"capacity": 10, "available": 5, "frozen": 2, "sold": 0, "pending": 3})

	w.must(200, "POST", "/ops/v1/orders/"+id+"/payment", `{"reference":"r1"}`)
	w.must(200, "POST", w.at("/stock-adjustments"), `{"adjustmentId":"a1","ticketType":"STANDARD","delta":5,"reason":"more"}`)
	wantFigures(t, "paid and adjusted", w.must(200, "GET", w.at("/stock"), ""),
		map[string]int{"capacity": 15, "available": 10, "frozen": 0, "sold": 2, "pending": 3})

	if err := w.rdb.HIncrBy(t.Context(), "hf:{"+w.id+"}:rules", "left:STANDARD:1", 1).Err(); err != nil {
		t.Fatal(err)
	}
	wantFigures(t, "a unit from nowhere", w.must(200, "GET", w.at("/stock"), ""), map[string]int{"difference": 1})
}

func TestUnitsOnTheirWayBackArePending(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(nil)
	id := w.order("u1", "k1", 4)
	// The row is cancelled and Redis has not heard of it: what a process that died in between leaves.
	w.cancelInDatabaseAlone("u1", id)
	wantFigures(t, "cancelled, not released", w.must(200, "GET", w.at("/stock"), ""),
		map[string]int{"capacity": 10, "available": 6, "frozen": 0, "pending": 4})
	w.ahead.Store(int64(time.Hour))
	wantFigures(t, "an hour later", w.must(200, "GET", w.at("/stock"), ""), map[string]int{"available": 6, "pending": 4})
}

// cancelInDatabaseAlone cancels a user's order while Redis is not there.
func (w *opsWorld) cancelInDatabaseAlone(user, orderID string) {
	w.t.Helper()
	nowhere := testenv.Proxy(w.t, testenv.RedisAddr(w.t))
	nowhere.Down()
	ck := checkout.New(w.deps.DB, stock.New(testenv.RedisClient(w.t, nowhere.Addr), nil), w.deps.Catalog, nil)
	id, err := sale.ParseOrderID(orderID)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := ck.Cancel(w.t.Context(), id, checkout.Canceller{UserID: user}); err != nil {
		w.t.Fatal(err)
	}
}

func TestAdjustmentsAreIdempotentAndNeverBelowWhatIsSold(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(nil)
	w.order("u1", "k1", 4)
	path := w.at("/stock-adjustments")
	first := w.must(200, "POST", path, `{"adjustmentId":"a1","ticketType":"STANDARD","delta":5,"reason":"more"}`)
	again := w.must(200, "POST", path, `{"reason":"more","delta":5,"ticketType":"STANDARD","adjustmentId":"a1"}`)
	if first.body["status"] != "APPLIED" || again.text != first.text || w.snapshot().Types["STANDARD"].Left != 11 {
		t.Errorf("%s, then %s; %d left", first.text, again.text, w.snapshot().Types["STANDARD"].Left)
	}
	for _, c := range []struct {
		name, body string
		status     int
		code       string
	}{
		{"another delta", `{"adjustmentId":"a1","ticketType":"STANDARD","delta":6,"reason":"more"}`, 409, "ADJUSTMENT_EXISTS"},
		{"more than is left", `{"adjustmentId":"a2","ticketType":"STANDARD","delta":-12,"reason":"less"}`, 409, "STOCK_BELOW_SOLD"},
		{"the same again", `{"adjustmentId":"a2","ticketType":"STANDARD","delta":-12,"reason":"less"}`, 409, "STOCK_BELOW_SOLD"},
		{"all that is left", `{"adjustmentId":"a3","ticketType":"STANDARD","delta":-11,"reason":"less"}`, 200, ""},
		{"an unknown type", `{"adjustmentId":"a4","ticketType":"NONE","delta":1,"reason":"r"}`, 422, "VALIDATION_FAILED"},
		{"nothing", `{"adjustmentId":"a5","ticketType":"STANDARD","delta":0,"reason":"r"}`, 422, "VALIDATION_FAILED"},
		{"half a unit", `{"adjustmentId":"a5","ticketType":"STANDARD","delta":0.5,"reason":"r"}`, 400, "VALIDATION_FAILED"},
		{"no reason", `{"adjustmentId":"a5","ticketType":"STANDARD","delta":1,"reason":""}`, 422, "VALIDATION_FAILED"},
		{"an id with a brace", `{"adjustmentId":"{a}","ticketType":"STANDARD","delta":1,"reason":"r"}`, 422, "VALIDATION_FAILED"},
		{"beyond the column", `{"adjustmentId":"a5","ticketType":"STANDARD","delta":2147483648,"reason":"r"}`, 422, "VALIDATION_FAILED"},
	} {
		if got := w.call("POST", path, c.body); got.status != c.status || got.code() != c.code {
			t.Errorf("%s: %d %s, want %d %s", c.name, got.status, got.text, c.status, c.code)
		}
	}
	wantFigures(t, "in the end", w.must(200, "GET", w.at("/stock"), ""), map[string]int{"capacity": 4, "available": 0, "frozen": 4})
	if n := w.rows("stock_adjustment"); n != 3 {
		t.Errorf("%d adjustments are written", n)
	}
}

func TestOneAdjustmentAskedForManyTimesAtOnceIsAppliedOnce(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(nil)
	statuses := make([]int, 12)
	var all sync.WaitGroup
	for i := range statuses {
		all.Go(func() {
			statuses[i] = w.call("POST", w.at("/stock-adjustments"), `{"adjustmentId":"a1","ticketType":"STANDARD","delta":5,"reason":"more"}`).status
		})
	}
	all.Wait()
	for _, status := range statuses {
		if status != 200 && status != 503 { // 503: another call is at it
			t.Errorf("answers %v", statuses)
			break
		}
	}
	last := w.must(200, "POST", w.at("/stock-adjustments"), `{"adjustmentId":"a1","ticketType":"STANDARD","delta":5,"reason":"more"}`)
	if last.body["status"] != "APPLIED" || w.rows("stock_adjustment") != 1 || len(w.audits(w.id)) != 3 {
		t.Errorf("%s, %d rows, audit rows %q", last.text, w.rows("stock_adjustment"), w.audits(w.id))
	}
	wantFigures(t, "after all of them", w.must(200, "GET", w.at("/stock"), ""), map[string]int{"capacity": 15, "available": 15})
}

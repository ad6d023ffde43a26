package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
)

// nested is JSON of objects in objects.
func nested(depth int) json.RawMessage {
	return json.RawMessage(strings.Repeat(`{"a":`, depth) + `1` + strings.Repeat(`}`, depth))
}

// limit is a value of a field at the edge of what is accepted, or beyond.
type limit struct {
	name    string
	changes map[string]any
}

// with gives each of some values to one field.
func with(field string, values ...any) (list []limit) {
	for _, v := range values {
		text := fmt.Sprint(v)
		list = append(list, limit{fmt.Sprintf("%s %.40s (%d)", field, text, len(text)), map[string]any{field: v}})
	}
	return list
}

// within gives each of some values to a field of the only ticket type, or of a deposit.
func within(of func(map[string]any) map[string]any, field string, values ...any) (list []limit) {
	for _, l := range with(field, values...) {
		list = append(list, limit{l.name, of(l.changes)})
	}
	return list
}

func inType(changes map[string]any) map[string]any {
	return map[string]any{"ticketTypes": []any{ticketBody(changes)}}
}

func inDeposit(changes map[string]any) map[string]any {
	deadline := "8999-12-31T23:59:59Z"
	all := map[string]any{"confirmDeadline": deadline, "remindAt": "8999-12-31T00:00:00Z"}
	maps.Copy(all, changes)
	return seats(all)
}

func cny(amount string) map[string]any { return map[string]any{"amount": amount, "currency": "CNY"} }

// activityLimits are the fields of an activity at their limits.
func activityLimits() (list []limit) {
	long, wide := strings.Repeat("x", 64), strings.Repeat("😀", 200)
	tag := func(parts ...int) (s string) {
		for i, n := range parts {
			s += strings.Repeat("-", min(i, 1)) + strings.Repeat("b", n)
		}
		return s
	}
	metadata := []any{json.RawMessage(`{"t":"` + strings.Repeat("y", 4096-8) + `"}`), json.RawMessage(`{"t":"` + strings.Repeat("😀", 1022) + `"}`),
		json.RawMessage(`{"t":"\u0000"}`), json.RawMessage(`{"t":"\ud800"}`), json.RawMessage(`{"a":1,"a":2}`), json.RawMessage(`[]`),
		json.RawMessage(`"text"`)}
	for depth := 1; depth <= 40; depth++ {
		metadata = append(metadata, nested(depth))
	}
	for _, l := range [][]limit{
		with("title", "x", wide, wide+"x", "", strings.Repeat("x", 201)),
		with("lang", "en", tag(8, 8, 8, 8), tag(8, 8, 8, 7, 1), tag(8, 8, 8, 7, 2), tag(8, 8, 8, 8, 8), tag(2, 8, 8, 8, 5), tag(2, 8, 8, 8, 6), "x-a"),
		with("timeZone", "Asia/Shanghai", "America/Argentina/ComodRivadavia", strings.Repeat("A", 65)),
		with("metadata", metadata...),
		with("opensAt", "2000-01-01T00:00:00Z", "1999-12-31T23:59:59Z"),
		with("closesAt", "9000-12-31T23:59:59.999Z", "9001-01-01T00:00:00Z"),
		with("perUserLimit", 1, 1000000, 1000001, 0),
		with("payWindowSeconds", 1, 30*24*3600, 30*24*3600+1, 0),
		with("currency", "JPY", "KWD", "cny", "XXXX"),
		with("refundRule", nested(40), json.RawMessage(`{"steps":[{"before":"P9999999999999D","keep":"1"}]}`)),
		with("kind", "VOUCHER", "DEPOSIT", strings.Repeat("K", 17)),
		with("mode", "TEST", strings.Repeat("M", 9)),
		within(inType, "ticketType", long, long+"x", ""),
		within(inType, "title", wide, wide+"x"),
		within(inType, "price", cny("0.00"), cny("9999999999999999.99"), cny("2499999999999999.99"), cny("10000000000000000.00"), cny("-0.01")),
		within(inType, "capacity", 3, 2147483647, 2147483648, 0),
		within(inType, "buckets", 1, 10, 11, 64, 65),
		within(inDeposit, "clubId", long, long+"x"),
		within(inDeposit, "ratio", "0.000001", "1", "0", "0.0000001"),
		within(inDeposit, "penaltyRatio", "0", "1", "0.123456", "1.1"),
		within(inDeposit, "offerLeadSeconds", 180, 30*24*3600, 30*24*3600+1),
		within(inDeposit, "confirmDeadline", "9000-12-31T23:59:59Z", "9001-01-01T00:00:00Z"),
		{{"deposit.amount", inDeposit(map[string]any{"ratio": nil, "amount": cny("2499999999999999.99")})},
			{"deposit.amount beyond", inDeposit(map[string]any{"ratio": nil, "amount": cny("2500000000000000.00")})}},
	} {
		list = append(list, l...)
	}
	types := make([]any, 64)
	for i := range types {
		types[i] = ticketBody(map[string]any{"ticketType": fmt.Sprint("T", i), "title": "t", "capacity": 64, "buckets": 64})
	}
	return append(list, limit{"64 types of 64 buckets", map[string]any{"ticketTypes": types}})
}

// answers fails the test for an answer that is no answer to what was asked.
func (w *opsWorld) answers(name string, got opsAnswer) {
	w.t.Helper()
	if got.status < 200 || got.status >= 500 {
		w.t.Errorf("%s: %d %s", name, got.status, got.text)
	}
}

// Whatever an operator may send is taken or refused, and what was taken can be changed: a draft to anything else and back, and the
// words of a published sale, with an audit row that says from what to what.
func TestEveryFieldOfAnActivityIsTakenOrRefusedAtItsLimits(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	base := w.id
	edit := func(body map[string]any) opsAnswer {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		return w.call("PATCH", w.at(""), string(text), "If-Match", w.must(200, "GET", w.at(""), "").header["ETag"])
	}
	for i, l := range activityLimits() {
		w.id = fmt.Sprintf("%.50s-%d", base, i)
		made := w.call("POST", "/ops/v1/activities", w.draft(l.changes), "Idempotency-Key", w.id)
		w.answers("creating with "+l.name, made)
		if made.status != 201 {
			w.must(201, "POST", "/ops/v1/activities", w.draft(nil))
			got := edit(l.changes)
			w.answers("changing to "+l.name, got)
			if got.status < 300 && l.changes["mode"] == nil && l.changes["kind"] == nil {
				t.Errorf("%s: refused when it is made, %s, and taken as a change", l.name, made.text)
			}
			continue
		}
		if l.changes["metadata"] == nil {
			continue
		}
		for _, to := range []any{json.RawMessage(`{"other":true}`), l.changes["metadata"]} {
			if got := edit(map[string]any{"metadata": to}); got.status != 200 {
				t.Errorf("%s can be made and not changed: %d %s", l.name, got.status, got.text)
			}
		}
		if got := w.call("GET", "/ops/v1/audit-log?subject="+w.id, ""); got.status != 200 || len(got.body["items"].([]any)) != 3 {
			t.Errorf("%s: the audit log: %d %s", l.name, got.status, got.text)
		}
	}
}

// The other calls of operators that write words and numbers down.
func TestEveryFieldOfOtherCallsIsTakenOrRefusedAtItsLimits(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(map[string]any{"closesAt": "8999-01-01T00:00:00Z"})
	long, words := strings.Repeat("x", 64), strings.Repeat("😀", 500)
	n := 0
	send := func(path string, body map[string]any, changes ...limit) {
		t.Helper()
		for _, l := range changes {
			n++
			all := maps.Clone(body)
			for name, v := range all {
				if v == "#" {
					all[name] = fmt.Sprint("n", n)
				}
			}
			maps.Copy(all, l.changes)
			text, err := json.Marshal(all)
			if err != nil {
				t.Fatal(err)
			}
			w.answers(path+" with "+l.name, w.call("POST", path, string(text), "X-Request-Id", strings.Repeat("r", 128)))
		}
	}
	concat := func(lists ...[]limit) (all []limit) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	reasons := with("reason", "x", words, words+"x", "")
	send(w.at("/stock-adjustments"), map[string]any{"adjustmentId": "#", "ticketType": "STANDARD", "delta": 1, "reason": "r"}, concat(reasons,
		with("adjustmentId", long, long+"x"), with("ticketType", long),
		with("delta", 1000000, -1000000, 1000001, -1000001, 2147483647, -2147483647, 2147483648, 0))...)
	if n := w.rows("stock_adjustment WHERE status = 'PENDING'"); n != 0 {
		t.Errorf("%d adjustments were taken and not finished", n)
	}
	paid, unpaid := w.order("u1", "k1", 1), w.order(strings.Repeat("u", 128), "k2", 1)
	send("/ops/v1/orders/"+paid+"/payment", map[string]any{}, with("reference", strings.Repeat("r", 101), strings.Repeat("r", 100))...)
	send("/ops/v1/orders/"+paid+"/refunds", map[string]any{"refundId": "#", "reason": "r", "amount": cny("0.01")}, concat(reasons,
		with("refundId", long, long+"x"), with("amount", cny("9999999999999999.99"), cny("10000000000000000.00"), cny("0.001")))...)
	send(w.at("/deadline-extensions"), map[string]any{"extensionId": "#", "by": "PT1M", "what": "PAYMENT", "reason": "r"}, concat(reasons,
		with("extensionId", long, long+"x"), with("by", "P30D", "PT720H", "P31D", "P99999999999999999999D", "PT0S", strings.Repeat("P", 33)))...)
	send("/ops/v1/orders/"+unpaid+"/cancellation", map[string]any{"refund": "NONE", "reason": "r"}, with("reason", words+"x", words)...)
	transfers := concat(with("reference", strings.Repeat("r", 100), strings.Repeat("r", 101)),
		with("amount", cny("9999999999999999.99"), cny("9999999999999999.99"), cny("0.01"), cny("10000000000000000.00"), cny("0.00")))
	for _, user := range []string{"u1", strings.Repeat("u", 128), strings.Repeat("u", 129)} {
		send("/ops/v1/wallets/"+user+"/top-ups", map[string]any{"reference": "#", "amount": cny("1.00")}, transfers...)
		send("/ops/v1/wallets/"+user+"/withdrawals", map[string]any{"reference": "#", "amount": cny("1.00")}, transfers...)
	}
	send("/ops/v1/reconciliations", map[string]any{"mode": "DRY_RUN"}, with("activityId", w.id, long, long+"x")...)
	send("/ops/v1/exports", map[string]any{"kind": "orders"}, with("from", "2000-01-01T00:00:00Z", "9000-12-31T23:59:59Z")...)
	send(w.at("/cancellation"), map[string]any{}, with("reason", words+"x", words)...)
}

// An extension by the longest there is still ends at an instant that can be written down.
func TestDepositDeadlineIsExtendedUpToTheLastInstant(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(seats(nil))
	topUp(t, w.deps.DB.Run, "u1", "500.00")
	id := w.order("u1", "k1", 1)
	for _, deadline := range []string{"9000-12-31T23:59:59Z", "9001-01-01T00:00:00Z", time.Now().Format(time.RFC3339)} {
		tag := w.must(200, "GET", "/ops/v1/deposits", "").body["items"].([]any)[0].(map[string]any)["revision"]
		w.answers(deadline, w.call("POST", "/ops/v1/deposits/"+id+"/extension", `{"confirmDeadline":"`+deadline+`"}`, "If-Match", fmt.Sprintf("%q", fmt.Sprint(tag))))
	}
	for _, by := range []string{"P30D", "PT1S"} {
		w.answers(by, w.call("POST", w.at("/deadline-extensions"), `{"extensionId":"e`+by+`","by":"`+by+`","what":"DEPOSIT","reason":"r"}`))
	}
}

// Counters may be beyond what the stock log has room for, by adjustments of before that was looked at. Nobody loses an order by it.
func TestOrderIsMadeAndCancelledThoughTheCounterOutgrewItsColumn(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(inType(map[string]any{"capacity": 2147483647, "buckets": 64}))
	if err := w.rdb.HIncrBy(t.Context(), "hf:{"+w.id+"}:rules", "left:STANDARD", 1000).Err(); err != nil {
		t.Fatal(err)
	}
	id := w.order("u1", "k1", 2)
	w.must(200, "POST", "/ops/v1/orders/"+id+"/cancellation", `{"refund":"NONE","reason":"r"}`)
	if n := w.rows("stock_log WHERE before_quantity IS NULL AND after_quantity IS NULL"); n != 2 {
		t.Errorf("%d movements without figures, want both", n)
	}
	if n := w.rows("trade_order WHERE status = 'CANCELLED' AND released_at IS NOT NULL"); n != 1 {
		t.Errorf("%d orders cancelled and released", n)
	}
	w.must(422, "POST", w.at("/stock-adjustments"), `{"adjustmentId":"a","ticketType":"STANDARD","delta":1,"reason":"r"}`)
}

package api

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/wallet"
)

// depositBody is a deposit of 30 % that must be confirmed within two days of the sale's end.
func depositBody(changes map[string]any) map[string]any {
	deadline := time.Now().Add(72 * time.Hour).UTC().Truncate(time.Second)
	body := map[string]any{"ratio": "0.3", "penaltyRatio": "0.2", "confirmDeadline": deadline.Format(time.RFC3339),
		"remindAt": deadline.Add(-2 * time.Hour).Format(time.RFC3339), "cancellation": "PENALTY", "clubId": "club-1"}
	for name, v := range changes {
		if body[name] = v; v == nil {
			delete(body, name)
		}
	}
	return body
}

// seats are the changes that make a sale one of deposit seats.
func seats(deposit map[string]any) map[string]any {
	return map[string]any{"kind": "DEPOSIT", "deposit": depositBody(deposit)}
}

// topUp gives a user money.
func topUp(t *testing.T, run func(context.Context, func(context.Context, *sql.Tx) error) error, user, amount string) {
	t.Helper()
	err := run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return wallet.Apply(ctx, tx, []wallet.Movement{{Type: wallet.TopUp, Reference: fmt.Sprintf("%s-%d", user, time.Now().UnixNano()), UserID: user,
			Amount: money.Of(decimal.RequireFromString(amount), "CNY")}}, time.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDepositPolicyOfADraftIsKeptInVersionsAndNeverChangedOncePublished(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	made := w.must(201, "POST", "/ops/v1/activities", w.draft(seats(nil)))
	policy, _ := made.body["deposit"].(map[string]any)
	if policy["ratio"] != "0.3" || policy["offerLeadSeconds"] != 180.0 || len(fmt.Sprint(policy["policyHash"])) != 64 {
		t.Fatalf("the policy is %v", policy)
	}
	if again := w.call("POST", "/ops/v1/activities", w.draft(seats(nil))); again.status != 200 && again.status != 409 { // the clock may have ticked
		t.Errorf("the same again: %d %s", again.status, again.text)
	}
	patch := func(status int, deposit map[string]any) opsAnswer {
		t.Helper()
		body, err := json.Marshal(map[string]any{"deposit": deposit})
		if err != nil {
			t.Fatal(err)
		}
		tag := w.must(200, "GET", w.at(""), "").header["ETag"]
		return w.must(status, "PATCH", w.at(""), string(body), "If-Match", tag)
	}
	patch(200, depositBody(map[string]any{"ratio": nil, "amount": map[string]any{"amount": "5.00", "currency": "CNY"}}))
	if n := w.rows("deposit_policy"); n != 2 {
		t.Errorf("%d versions, want 2", n)
	}
	if a := w.activity(); a.Deposit == nil || a.Deposit.Version != 2 || a.Deposit.Amount == nil || a.Deposit.Ratio != nil {
		t.Errorf("the highest version holds, and it is %+v", a.Deposit)
	}
	var hash []byte
	if err := w.deps.DB.QueryRowContext(t.Context(), `SELECT hash FROM deposit_policy WHERE version = 2`).Scan(&hash); err != nil || string(hash) != string(func() []byte { h := w.activity().Deposit.Hash(); return h[:] }()) {
		t.Errorf("the stored hash is another: %v", err)
	}
	w.must(200, "POST", w.at("/publication"), "")
	if refused := patch(422, depositBody(nil)); !strings.Contains(refused.text, "NOT_CHANGEABLE") {
		t.Errorf("after publication: %s", refused.text)
	}
	tag := w.must(200, "GET", w.at(""), "").header["ETag"]
	late := `{"closesAt":"` + time.Now().Add(72*time.Hour).UTC().Format(time.RFC3339) + `"}`
	if refused := w.must(422, "PATCH", w.at(""), late, "If-Match", tag); refused.pointers()[0] != "/closesAt OUT_OF_RANGE" {
		t.Errorf("closing too near the deadline: %s", refused.text)
	}
}

func TestDraftThatBecomesAnotherKindLeavesItsDepositBehind(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.must(201, "POST", "/ops/v1/activities", w.draft(seats(nil)))
	got := w.must(200, "PATCH", w.at(""), `{"kind":"TICKET"}`, "If-Match", `"1"`)
	if got.body["deposit"] != nil {
		t.Errorf("a sale of tickets shows %v", got.body["deposit"])
	}
	if refused := w.must(422, "PATCH", w.at(""), `{"kind":"DEPOSIT"}`, "If-Match", `"2"`); refused.pointers()[0] != "/deposit REQUIRED" {
		t.Errorf("back without terms: %s", refused.text)
	}
}

func TestDepositPolicyRefusesEachBrokenRule(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	yuan := func(amount, currency string) map[string]any {
		return map[string]any{"amount": amount, "currency": currency}
	}
	at := func(d time.Duration) string {
		return time.Now().Add(d).UTC().Truncate(time.Second).Format(time.RFC3339)
	}
	for _, c := range []struct {
		name    string
		deposit map[string]any
		more    map[string]any
		status  int
		first   string
	}{
		{"both amount and ratio", map[string]any{"amount": yuan("1.00", "CNY")}, nil, 422, "/deposit ONE_OF"},
		{"neither", map[string]any{"ratio": nil}, nil, 422, "/deposit ONE_OF"},
		{"an amount of three decimals", map[string]any{"ratio": nil, "amount": yuan("1.005", "CNY")}, nil, 422, "/deposit/amount BAD_AMOUNT"},
		{"an amount of nothing", map[string]any{"ratio": nil, "amount": yuan("0.00", "CNY")}, nil, 422, "/deposit/amount OUT_OF_RANGE"},
		{"an amount below nothing", map[string]any{"ratio": nil, "amount": yuan("-1.00", "CNY")}, nil, 422, "/deposit/amount OUT_OF_RANGE"},
		{"an amount of another currency", map[string]any{"ratio": nil, "amount": yuan("1.00", "USD")}, nil, 422, "/deposit/amount/currency OTHER_CURRENCY"},
		{"an amount beyond the column", map[string]any{"ratio": nil, "amount": yuan("9999999999999999.00", "CNY")}, nil, 422, "/deposit/amount OUT_OF_RANGE"},
		{"a ratio as a number", map[string]any{"ratio": 0.3}, nil, 400, "/deposit/ratio WRONG_TYPE"},
		{"a ratio above 1", map[string]any{"ratio": "1.1"}, nil, 422, "/deposit/ratio BAD_RATIO"},
		{"a ratio of 0", map[string]any{"ratio": "0"}, nil, 422, "/deposit/ratio OUT_OF_RANGE"},
		{"a ratio of seven decimals", map[string]any{"ratio": "0.1234567"}, nil, 422, "/deposit/ratio BAD_RATIO"},
		{"a ratio that leaves nothing", map[string]any{"ratio": "0.000001"}, nil, 422, "/ticketTypes/0/price OUT_OF_RANGE"},
		{"a penalty below 0", map[string]any{"penaltyRatio": "-0.1"}, nil, 422, "/deposit/penaltyRatio BAD_RATIO"},
		{"a penalty above 1", map[string]any{"penaltyRatio": "1.000001"}, nil, 422, "/deposit/penaltyRatio BAD_RATIO"},
		{"a reminder at the deadline", map[string]any{"remindAt": at(71 * time.Hour), "confirmDeadline": at(71 * time.Hour)}, nil, 422, "/deposit/remindAt OUT_OF_RANGE"},
		{"a deadline in fractions", map[string]any{"confirmDeadline": "2030-01-31T12:00:00.5Z"}, nil, 422, "/deposit/confirmDeadline BAD_FORMAT"},
		{"a sale that ends at the deadline", map[string]any{"confirmDeadline": at(24 * time.Hour), "remindAt": at(23 * time.Hour)}, nil, 422, "/closesAt OUT_OF_RANGE"},
		{"a lead below the least", map[string]any{"offerLeadSeconds": 179}, nil, 422, "/deposit/offerLeadSeconds OUT_OF_RANGE"},
		{"a cancellation that there is not", map[string]any{"cancellation": "NEVER"}, nil, 422, "/deposit/cancellation NOT_ALLOWED"},
		{"no club", map[string]any{"clubId": nil}, nil, 400, "/deposit/clubId REQUIRED"},
		{"an unknown field", map[string]any{"version": 1}, nil, 400, "/deposit/version UNKNOWN_FIELD"},
		{"of tickets", nil, map[string]any{"kind": "TICKET"}, 422, "/deposit NOT_ALLOWED"},
	} {
		body := seats(c.deposit)
		for name, v := range c.more {
			body[name] = v
		}
		got := w.call("POST", "/ops/v1/activities", w.draft(body))
		if got.status != c.status || len(got.pointers()) == 0 || got.pointers()[0] != c.first {
			t.Errorf("%s: %d %v, want %d %s: %s", c.name, got.status, got.pointers(), c.status, c.first, got.text)
		}
	}
	if w.rows("activity") != 0 || w.rows("deposit_policy") != 0 {
		t.Error("something was written")
	}
	if got := w.call("POST", "/ops/v1/activities", w.draft(seats(map[string]any{"ratio": nil, "amount": yuan("50.00", "CNY")}))); got.status != 201 {
		t.Errorf("a price below the deposit: %d %s", got.status, got.text)
	}
}

func TestOperatorListsExtendsAndWaivesDeposits(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(seats(nil))
	for _, user := range []string{"a", "b", "c"} {
		topUp(t, w.deps.DB.Run, user, "100.00")
	}
	first, second := w.order("a", "k", 1), w.order("b", "k", 1)
	w.order("c", "k", 1)
	list := func(query string) []any {
		t.Helper()
		items, _ := w.must(200, "GET", "/ops/v1/deposits?"+query, "").body["items"].([]any)
		return items
	}
	soon := time.Now().Add(73 * time.Hour).UTC().Format(time.RFC3339)
	if all := list("status=FROZEN&dueBefore=" + soon); len(all) != 3 {
		t.Fatalf("%d frozen and due before %s", len(all), soon)
	}
	page := w.must(200, "GET", "/ops/v1/deposits?limit=2", "")
	next, _ := page.body["nextCursor"].(string)
	if rest := list("limit=2&cursor=" + next); next == "" || len(rest) != 1 {
		t.Errorf("the second page has %d: %s", len(rest), page.text)
	}
	if east := list("dueBefore=2050-01-31T10:00:00+08:00"); len(east) != 3 { // the plus is a space for whoever decodes it
		t.Errorf("%d due in an instant of another zone", len(east))
	}
	for _, query := range []string{"status=OPEN", "dueBefore=tomorrow", "dueBefore=0001-01-01T00:00:00Z",
		"dueBefore=2030-01-31T10:00:00,5Z", "activityId=a{b}", "cursor=%21"} {
		w.must(422, "GET", "/ops/v1/deposits?"+query, "")
	}

	later := time.Now().Add(96 * time.Hour).UTC().Truncate(time.Second)
	body := `{"confirmDeadline":"` + later.Format(time.RFC3339) + `"}`
	extension := "/ops/v1/deposits/" + first + "/extension"
	var tag string
	for _, item := range list("") {
		if item := item.(map[string]any); item["orderId"] == first {
			tag, _ = item["etag"].(string)
		}
	}
	w.must(428, "POST", extension, body)
	w.must(412, "POST", extension, body, "If-Match", `"7"`)
	w.must(422, "POST", extension, `{"confirmDeadline":"2020-01-01T00:00:00Z"}`, "If-Match", `"1"`)
	got := w.must(200, "POST", extension, body, "If-Match", tag)
	if got.body["confirmDeadline"] != stamp(later) || got.header["ETag"] != `"2"` || got.body["etag"] != `"2"` {
		t.Errorf("extended: %v %s", got.header, got.text)
	}
	if due := list("status=FROZEN&dueBefore=" + soon); len(due) != 2 {
		t.Errorf("%d due before %s after the extension", len(due), soon)
	}

	waiver := "/ops/v1/deposits/" + second + "/waiver"
	for range 2 {
		got = w.must(200, "POST", waiver, `{"reason":"illness"}`)
		refund, _ := got.body["refund"].(map[string]any)
		if got.body["status"] != "REFUNDED" || refund["amount"] != "3.75" {
			t.Errorf("waived: %s", got.text)
		}
	}
	if o := w.must(200, "GET", "/ops/v1/orders/"+second, ""); o.body["status"] != "CANCELLED" || o.body["reason"] != "OPERATOR" {
		t.Errorf("the order of a waived deposit: %s", o.text)
	}
	if refused := w.call("POST", "/ops/v1/deposits/"+second+"/extension", body, "If-Match", `"2"`); refused.status != 409 || refused.code() != "DEPOSIT_NOT_FROZEN" {
		t.Errorf("extending what was waived: %d %s", refused.status, refused.text)
	}
	if audits := w.audits(first); len(audits) != 1 || audits[0] != "deposit.extend" {
		t.Errorf("audited %v", audits)
	}
	w.must(404, "POST", "/ops/v1/deposits/018f3c2e-9b40-8a31-9d02-5c7e1f6a0b94/waiver", "")
}

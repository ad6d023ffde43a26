package api

import (
	"slices"
	"strings"
	"testing"

	"holdfast/shared/edge"
	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

func TestEveryOperatorRouteHasAnOperationAndNoneIsLeft(t *testing.T) {
	calls := newOperate(edge.Deps{}).calls
	for _, r := range Routes {
		if r.Access != Operator {
			continue
		}
		if calls[r.Operation] == nil {
			t.Errorf("%s %s: nothing answers %s", r.Method, r.Path, r.Operation)
		}
		delete(calls, r.Operation)
	}
	for name := range calls {
		t.Errorf("%s answers no route", name)
	}
}

func TestOperatorsAreToldApartByTheirClaimAlone(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	read, write := "/ops/v1/activities", w.draft(nil)
	for _, c := range []struct {
		name   string
		claims map[string]any
		method string
		status int
	}{
		{"no token", nil, "GET", 401},
		{"a token without user", map[string]any{"scope": "operator"}, "GET", 401},
		{"an empty user", map[string]any{"sub": "", "scope": "operator"}, "GET", 401},
		{"a number for a user", map[string]any{"sub": 7, "scope": "operator"}, "GET", 401},
		{"a buyer", map[string]any{"sub": "u"}, "GET", 403},
		{"another scope", map[string]any{"sub": "u", "scope": "operators operator.reader"}, "GET", 403},
		{"the operator's word in another claim", map[string]any{"sub": "u", "permissions": "operator"}, "GET", 403},
		{"a reader who reads", map[string]any{"sub": "u", "scope": "openid operator.read"}, "GET", 200},
		{"a reader who writes", map[string]any{"sub": "u", "scope": "openid operator.read"}, "POST", 403},
		{"a list as text", map[string]any{"sub": "u", "scope": "[openid operator]"}, "GET", 200},
		{"a list", map[string]any{"sub": "u", "scope": []string{"openid", "operator"}}, "GET", 200},
		{"an operator who writes", operatorClaims, "POST", 201},
	} {
		body := ""
		if c.method == "POST" {
			body = write
		}
		if got := w.callAs(c.claims, c.method, read, body); got.status != c.status {
			t.Errorf("%s: %d %s, want %d", c.name, got.status, got.text, c.status)
		}
	}
	if n := w.rows("activity"); n != 1 {
		t.Errorf("%d activities were made", n)
	}
}

func TestPathsThatDoNotExistAnswer404AndOtherMethods405(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	for _, path := range []string{"/ops/v1/nothing", "/ops/v1/activities/a/b/c", "/v1/orders", "/", "/ops/v1/activities/"} {
		if got := w.call("GET", path, ""); got.status != 404 || got.code() != "ROUTE_NOT_FOUND" {
			t.Errorf("%s: %d %s", path, got.status, got.text)
		}
	}
	if got := w.call("DELETE", w.at(""), ""); got.status != 405 || got.header["Allow"] != "GET, PATCH" {
		t.Errorf("DELETE: %d %s %q", got.status, got.text, got.header["Allow"])
	}
	if got := w.callAs(nil, "GET", "/ops/v1/nothing", ""); got.status != 401 {
		t.Errorf("without a token an unknown path answers %d", got.status)
	}
}

func TestAStageBeforeThePathAndPayloadVersion1AreUnderstood(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	if got := w.call("GET", "/prod/ops/v1/activities", ""); got.status != 200 {
		t.Errorf("with a stage: %d %s", got.status, got.text)
	}
	got := w.invoke(map[string]any{"version": "1.0", "httpMethod": "GET", "path": "/ops/v1/activities",
		"multiValueQueryStringParameters": map[string]any{"limit": []string{"7"}},
		"requestContext":                  map[string]any{"authorizer": map[string]any{"claims": operatorClaims}}})
	if got.status != 200 {
		t.Errorf("version 1.0: %d %s", got.status, got.text)
	}
}

func TestUnknownActivitiesAndOrdersAre404InEveryCall(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	bodies := map[string]string{
		"changeActivity": `{"title":"x"}`, "markOrderPaid": `{"reference":"r"}`, "operatorCancelOrder": `{"reason":"r","refund":"NONE"}`,
		"adjustStock": `{"adjustmentId":"a","ticketType":"T","delta":1,"reason":"r"}`,
		"refundOrder": refundBody, "extendDeadlines": extensionBody, "extendDeposit": `{"confirmDeadline":"2031-05-01T10:00:00Z"}`,
	}
	for _, r := range Routes {
		code := ""
		switch {
		case r.Access != Operator:
		case strings.Contains(r.Path, "{activityId}"):
			code = "ACTIVITY_NOT_FOUND"
		case strings.Contains(r.Path, "{orderId}"):
			code = "ORDER_NOT_FOUND"
		}
		if code == "" {
			continue
		}
		for _, id := range []string{"none", "a%20b", "018f3c2e-9b40-8a31-9d02-5c7e1f6a0b94"} {
			path := strings.NewReplacer("{activityId}", id, "{orderId}", id).Replace(r.Path)
			if got := w.call(r.Method, path, bodies[r.Operation], "If-Match", `"1"`); got.status != 404 || got.code() != code {
				t.Errorf("%s %s: %d %s", r.Method, path, got.status, got.text)
			}
		}
	}
}

// Bodies that the calls take.
const (
	refundBody    = `{"refundId":"r1","reason":"r"}`
	extensionBody = `{"extensionId":"e1","by":"PT30M","what":"PAYMENT","reason":"r"}`
)

func TestWithoutTheDatabaseEveryCallAnswers503AndWhenToAskAgain(t *testing.T) {
	t.Parallel()
	proxy, dsn := testenv.ProxyMySQL(t, testenv.MySQLDSN(t))
	pool, err := sqltx.Open(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	w := opsWorldOver(t, "", pool)
	w.publish(nil)
	order := w.order("u1", "k1", 1)
	proxy.Down()
	bodies := map[string]string{
		"createActivity": w.draft(nil), "changeActivity": `{"title":"x"}`, "markOrderPaid": `{"reference":"r"}`,
		"operatorCancelOrder": `{"reason":"r","refund":"NONE"}`, "adjustStock": `{"adjustmentId":"a","ticketType":"STANDARD","delta":1,"reason":"r"}`,
		"startExport": `{"kind":"orders"}`, "startReconciliation": `{"mode":"DRY_RUN"}`, "resolveDifference": `{"action":"NONE","note":"n"}`,
		"redriveDeadLetters": `{"deadLetterIds":["1"]}`,
		"topUpWallet":        transferBody, "withdrawFromWallet": transferBody,
		"refundOrder": refundBody, "extendDeadlines": extensionBody, "extendDeposit": `{"confirmDeadline":"2031-05-01T10:00:00Z"}`,
	}
	for _, r := range Routes {
		if r.Access != Operator {
			continue
		}
		path := strings.NewReplacer("{activityId}", w.id, "{orderId}", order, "{differenceId}", "1", "{jobId}", "j").Replace(r.Path)
		for _, key := range []string{"", "k"} {
			got := w.call(r.Method, path, bodies[r.Operation], "If-Match", `"1"`, "Idempotency-Key", key)
			if got.status != 503 || got.code() != "ORDER_STORE_UNAVAILABLE" || got.header["Retry-After"] == "" {
				t.Errorf("%s %s with key %q: %d %s", r.Method, r.Path, key, got.status, got.text)
			}
		}
	}
	proxy.Up()
	w.must(200, "POST", w.at("/suspension"), "", "Idempotency-Key", "k")
}

func TestIdempotencyKeysReplayTheFirstAnswer(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	body := w.draft(nil)
	first := w.must(201, "POST", "/ops/v1/activities", body, "Idempotency-Key", "k1")
	again := w.must(201, "POST", "/ops/v1/activities", " "+body, "Idempotency-Key", "k1")
	if again.text != first.text || again.header["Idempotency-Replayed"] != "true" || first.header["Idempotency-Replayed"] != "" {
		t.Errorf("the replay is %v %s", again.header, again.text)
	}
	other := w.call("POST", "/ops/v1/activities", w.draft(map[string]any{"title": "Another"}), "Idempotency-Key", "k1")
	if other.status != 422 || other.code() != "IDEMPOTENCY_KEY_REUSED" {
		t.Errorf("another body: %d %s", other.status, other.text)
	}
	for range 2 { // a refusal is not remembered, and leaves no claim
		if got := w.call("POST", w.at("/suspension"), "", "Idempotency-Key", "k2"); got.status != 409 {
			t.Errorf("suspension of a draft: %d %s", got.status, got.text)
		}
	}
	if n := w.rows("idempotency"); n != 1 {
		t.Errorf("%d keys are kept", n)
	}
	if got := w.call("POST", w.at("/publication"), "", "Idempotency-Key", "tab\there"); got.status != 400 {
		t.Errorf("a key that is not printable: %d %s", got.status, got.text)
	}
	if got := w.audits(w.id); !slices.Equal(got, []string{"activity.create"}) {
		t.Errorf("audit rows %q", got)
	}
}

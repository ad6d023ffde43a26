package api

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestOperatorRefundsPartsByNameUpToWhatWasPaid(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(nil)
	id := w.order("u1", "k1", 2)
	at := "/ops/v1/orders/" + id
	w.must(200, "POST", at+"/payment", `{"reference":"bank 1"}`)
	body := func(name, amount string) string {
		return `{"refundId":"` + name + `","amount":{"amount":"` + amount + `","currency":"CNY"},"reason":"goodwill"}`
	}
	for range 3 {
		if got := w.must(200, "POST", at+"/refunds", body("r1", "10.00")); got.body["status"] != "SUCCEEDED" || got.body["refundId"] != "r1" {
			t.Fatal(got.body)
		}
	}
	for name, c := range map[string]struct {
		body   string
		status int
		code   string
	}{
		"other amount":    {body("r1", "11.00"), 409, "REFUND_EXISTS"},
		"too much":        {body("r2", "15.01"), 409, "REFUND_TOO_MUCH"},
		"another money":   {strings.Replace(body("r2", "10.00"), "CNY", "EUR", 1), 409, "REFUND_TOO_MUCH"},
		"negative":        {body("r2", "-5.00"), 422, "VALIDATION_FAILED"},
		"nothing":         {body("r2", "0.00"), 422, "VALIDATION_FAILED"},
		"three decimals":  {body("r2", "1.005"), 422, "VALIDATION_FAILED"},
		"a name of ours":  {body("rf_x", "1.00"), 422, "VALIDATION_FAILED"},
		"without a name":  {`{"reason":"r"}`, 400, "VALIDATION_FAILED"},
		"without a cause": {`{"refundId":"r2"}`, 400, "VALIDATION_FAILED"},
	} {
		if got := w.call("POST", at+"/refunds", c.body); got.status != c.status || got.code() != c.code {
			t.Errorf("%s: %d %s", name, got.status, got.text)
		}
	}
	w.must(200, "POST", at+"/refunds", `{"refundId":"r3","reason":"the rest"}`)
	got := w.must(200, "GET", at, "")
	if total, _ := json.Marshal(got.body["refundedTotal"]); !strings.Contains(string(total), "25.00") || len(got.body["refunds"].([]any)) != 2 {
		t.Fatalf("%s", got.text)
	}
	w.must(409, "POST", at+"/refunds", `{"refundId":"r4","reason":"nothing is left"}`)
}

func TestSaleIsCalledOffAndItsDeadlinesAreMovedByJobs(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(nil)
	unpaid, paid := w.order("u1", "k1", 1), w.order("u2", "k2", 1)
	w.must(200, "POST", "/ops/v1/orders/"+paid+"/payment", `{"reference":"bank 1"}`)
	before := w.must(200, "GET", "/ops/v1/orders/"+unpaid, "").body["payDeadline"].(string)
	body := `{"extensionId":"e1","by":"PT30M","what":"PAYMENT","reason":"the provider was away"}`
	first := w.must(202, "POST", w.at("/deadline-extensions"), body)
	if again := w.must(202, "POST", w.at("/deadline-extensions"), body); again.body["jobId"] != first.body["jobId"] || again.body["status"] != "SUCCEEDED" {
		t.Fatal(again.text)
	}
	if got := w.must(200, "GET", "/ops/v1/orders/"+unpaid, "").body["payDeadline"].(string); later(t, got).Sub(later(t, before)) != 30*time.Minute {
		t.Errorf("%s became %s", before, got)
	}
	for name, c := range map[string]struct {
		body   string
		status int
		code   string
	}{
		"the same name":       {strings.Replace(body, "PT30M", "PT31M", 1), 409, "EXTENSION_EXISTS"},
		"nothing":             {strings.Replace(body, "PT30M", "PT0S", 1), 422, "VALIDATION_FAILED"},
		"a month":             {strings.Replace(body, "PT30M", "P1M", 1), 422, "VALIDATION_FAILED"},
		"too long":            {strings.Replace(body, "PT30M", "P31D", 1), 422, "VALIDATION_FAILED"},
		"no such deadlines":   {strings.Replace(body, "PAYMENT", "ALL", 1), 422, "VALIDATION_FAILED"},
		"without an argument": {`{"extensionId":"e2"}`, 400, "VALIDATION_FAILED"},
	} {
		if got := w.call("POST", w.at("/deadline-extensions"), c.body); got.status != c.status || got.code() != c.code {
			t.Errorf("%s: %d %s", name, got.status, got.text)
		}
	}
	job := w.must(202, "POST", w.at("/cancellation"), `{"reason":"the band is ill"}`)
	if again := w.must(202, "POST", w.at("/cancellation"), ""); again.body["jobId"] != job.body["jobId"] || again.body["done"] != 2.0 {
		t.Fatal(again.text)
	}
	if got := w.must(200, "GET", "/ops/v1/jobs/"+job.body["jobId"].(string), ""); got.body["status"] != "SUCCEEDED" || got.body["kind"] != "CALL_OFF" {
		t.Fatal(got.text)
	}
	for _, id := range []string{unpaid, paid} {
		if got := w.must(200, "GET", "/ops/v1/orders/"+id, ""); got.body["status"] != "CANCELLED" || got.body["reason"] != "SALE_CANCELLED" {
			t.Fatal(got.text)
		}
	}
	if got := w.must(200, "GET", "/ops/v1/activities/"+w.id, ""); got.body["status"] != "CANCELLED" {
		t.Fatal(got.text)
	}
	w.must(409, "POST", w.at("/deadline-extensions"), strings.Replace(body, "e1", "e3", 1))
}

func later(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

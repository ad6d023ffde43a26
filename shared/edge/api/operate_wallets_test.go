package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/shared/wallet"
)

const transferBody = `{"reference":"r","amount":{"amount":"1.00","currency":"CNY"}}`

func transferOf(reference, amount, currency string) string {
	return fmt.Sprintf(`{"reference":%q,"amount":{"amount":%q,"currency":%q}}`, reference, amount, currency)
}

// amountOf reads a member that is an amount.
func amountOf(v any) string {
	m, _ := v.(map[string]any)
	text, _ := m["amount"].(string)
	return text
}

func (w *opsWorld) auditRows() (n int) {
	w.t.Helper()
	if err := w.deps.DB.QueryRowContext(w.t.Context(), `SELECT COUNT(*) FROM audit_log`).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

func TestTopUpsAndWithdrawalsAreCarriedOutOnceByReference(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	const at = "/ops/v1/wallets/Alice|1"
	for i, status := range []int{201, 200, 200} {
		got := w.must(status, "POST", at+"/top-ups", transferOf("bank 7", "80.00", "CNY"))
		if amountOf(got.body["available"]) != "80.00" || amountOf(got.body["frozen"]) != "0.00" || amountOf(got.body["amount"]) != "80.00" ||
			got.body["type"] != "TOP_UP" || got.body["reference"] != "bank 7" || got.body["userId"] != "Alice|1" || got.body["entryId"] == "" {
			t.Errorf("top-up %d: %s", i, got.text)
		}
	}
	for _, status := range []int{201, 200} {
		got := w.must(status, "POST", at+"/withdrawals", transferOf("bank 7", "30.00", "CNY"))
		if amountOf(got.body["available"]) != "50.00" || got.body["type"] != "WITHDRAWAL" {
			t.Error(got.text)
		}
	}
	if n := w.auditRows(); n != 2 {
		t.Errorf("%d audit rows, want one for each that was carried out", n)
	}
	log := w.must(200, "GET", "/ops/v1/audit-log?subject=Alice|1", "")
	if !strings.Contains(log.text, `"wallet.top-up"`) || !strings.Contains(log.text, `"wallet.withdraw"`) || !strings.Contains(log.text, "ops-1") {
		t.Error(log.text)
	}
	if strings.Contains(w.log.String(), "Alice") {
		t.Error("a user id stands in the log")
	}
}

func TestRefusedTransfersMoveNothing(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.must(201, "POST", "/ops/v1/wallets/u/top-ups", transferOf("r1", "10.00", "CNY"))
	for name, c := range map[string]struct {
		path, body   string
		status       int
		code, errors string
	}{
		"more than is available":      {"u/withdrawals", transferOf("w1", "10.01", "CNY"), 402, "INSUFFICIENT_BALANCE", ""},
		"of another currency":         {"u/withdrawals", transferOf("w1", "1.00", "EUR"), 402, "INSUFFICIENT_BALANCE", ""},
		"of a wallet that is not":     {"v/withdrawals", transferOf("w1", "0.01", "CNY"), 402, "INSUFFICIENT_BALANCE", ""},
		"another amount":              {"u/top-ups", transferOf("r1", "10.01", "CNY"), 409, "MOVEMENT_EXISTS", ""},
		"another user":                {"v/top-ups", transferOf("r1", "10.00", "CNY"), 409, "MOVEMENT_EXISTS", ""},
		"another currency":            {"u/top-ups", transferOf("r1", "10.00", "EUR"), 409, "MOVEMENT_EXISTS", ""},
		"three decimals":              {"u/top-ups", transferOf("r2", "1.005", "CNY"), 422, "VALIDATION_FAILED", "/amount BAD_AMOUNT"},
		"one decimal":                 {"u/top-ups", transferOf("r2", "1.5", "CNY"), 422, "VALIDATION_FAILED", "/amount BAD_AMOUNT"},
		"decimals of a yen":           {"u/top-ups", transferOf("r2", "1.50", "JPY"), 422, "VALIDATION_FAILED", "/amount BAD_AMOUNT"},
		"exponent":                    {"u/top-ups", transferOf("r2", "1e2", "CNY"), 422, "VALIDATION_FAILED", "/amount BAD_AMOUNT"},
		"unknown currency":            {"u/top-ups", transferOf("r2", "1.00", "XYZ"), 422, "VALIDATION_FAILED", "/amount BAD_AMOUNT"},
		"beyond the column":           {"u/top-ups", transferOf("r2", "10000000000000000.00", "CNY"), 422, "VALIDATION_FAILED", "/amount BAD_AMOUNT"},
		"negative":                    {"u/top-ups", transferOf("r2", "-1.00", "CNY"), 422, "VALIDATION_FAILED", "/amount OUT_OF_RANGE"},
		"negative, out":               {"u/withdrawals", transferOf("r2", "-1.00", "CNY"), 422, "VALIDATION_FAILED", "/amount OUT_OF_RANGE"},
		"zero":                        {"u/top-ups", transferOf("r2", "0.00", "CNY"), 422, "VALIDATION_FAILED", "/amount OUT_OF_RANGE"},
		"more than the wallet can":    {"u/top-ups", transferOf("r2", "9999999999999999.99", "CNY"), 422, "VALIDATION_FAILED", "/amount OUT_OF_RANGE"},
		"number":                      {"u/top-ups", `{"reference":"r2","amount":1}`, 400, "VALIDATION_FAILED", "/amount WRONG_TYPE"},
		"no reference":                {"u/top-ups", `{"amount":{"amount":"1.00","currency":"CNY"}}`, 400, "VALIDATION_FAILED", "/reference REQUIRED"},
		"empty reference":             {"u/top-ups", transferOf("", "1.00", "CNY"), 422, "VALIDATION_FAILED", "/reference BAD_FORMAT"},
		"outer space":                 {"u/top-ups", transferOf("r2 ", "1.00", "CNY"), 422, "VALIDATION_FAILED", "/reference BAD_FORMAT"},
		"long reference":              {"u/top-ups", transferOf(strings.Repeat("r", 101), "1.00", "CNY"), 422, "VALIDATION_FAILED", "/reference BAD_FORMAT"},
		"unknown field":               {"u/top-ups", `{"reference":"r2","amount":{"amount":"1.00","currency":"CNY"},"userId":"v"}`, 400, "VALIDATION_FAILED", "/userId UNKNOWN_FIELD"},
		"a user id that no claim has": {strings.Repeat("u", 129) + "/top-ups", transferBody, 422, "VALIDATION_FAILED", "userId BAD_FORMAT"},
	} {
		got := w.call("POST", "/ops/v1/wallets/"+c.path, c.body)
		if got.status != c.status || got.code() != c.code || c.errors != "" && !slices.Contains(got.pointers(), c.errors) {
			t.Errorf("%s: %d %s", name, got.status, got.text)
		}
	}
	if n := w.auditRows(); n != 1 {
		t.Errorf("%d audit rows, want the first top-up's", n)
	}
	if got := w.must(200, "GET", "/ops/v1/wallets/u", ""); len(got.body["wallets"].([]any)) != 1 || !strings.Contains(got.text, `"10.00"`) {
		t.Errorf("the wallet is %s", got.text)
	}
	readOnly := map[string]any{"sub": "ops-2", "scope": "operator.read"}
	if got := w.callAs(readOnly, "POST", "/ops/v1/wallets/u/top-ups", transferBody); got.status != 403 {
		t.Errorf("who may only read topped up: %d", got.status)
	}
	if got := w.callAs(readOnly, "GET", "/ops/v1/wallets/u", ""); got.status != 200 {
		t.Errorf("who may read could not: %d", got.status)
	}
}

func TestWalletsAreReadAtAnyPastInstant(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	const user = "/ops/v1/wallets/u"
	step := func(path, reference, amount, currency string) time.Time {
		t.Helper()
		got := w.must(201, "POST", user+path, transferOf(reference, amount, currency))
		at, err := time.Parse(time.RFC3339, got.body["at"].(string))
		if err != nil {
			t.Fatal(err)
		}
		w.ahead.Add(int64(24 * time.Hour))
		return at
	}
	first := step("/top-ups", "1", "100.00", "CNY")
	second := step("/top-ups", "2", "500", "JPY")
	third := step("/withdrawals", "3", "30.00", "CNY")
	for at, want := range map[string]string{
		stamp(first.Add(-time.Millisecond)):  "",
		stamp(first):                         "100.00 CNY 1",
		stamp(second.Add(-time.Millisecond)): "100.00 CNY 1",
		stamp(second):                        "100.00 CNY 1, 500 JPY 1",
		stamp(third.Add(-time.Millisecond)):  "100.00 CNY 1, 500 JPY 1",
		stamp(third):                         "70.00 CNY 2, 500 JPY 1",
		third.In(time.FixedZone("", 8*3600)).Format(time.RFC3339Nano):         "70.00 CNY 2, 500 JPY 1",
		third.Add(time.Hour).UTC().Format("2006-01-02T15:04:05") + "Z":        "70.00 CNY 2, 500 JPY 1",
		third.Add(time.Hour).UTC().Format("2006-01-02T15:04:05") + "%2B00:00": "70.00 CNY 2, 500 JPY 1",
		"": "70.00 CNY 2, 500 JPY 1",
	} {
		got := w.must(200, "GET", user+"?at="+at, "")
		var have []string
		for _, one := range got.body["wallets"].([]any) {
			v := one.(map[string]any)
			have = append(have, fmt.Sprintf("%s %s %v", amountOf(v["available"]), v["available"].(map[string]any)["currency"], v["version"]))
		}
		if strings.Join(have, ", ") != want || got.body["userId"] != "u" || got.body["at"] == nil || got.body["now"] == nil {
			t.Errorf("at %q: %v, want %s", at, have, want)
		}
	}
	for query, code := range map[string]string{"at=yesterday": "BAD_TIME", "at=2026-11-11T12:00:00": "BAD_TIME", "at=2026-11-11": "BAD_TIME",
		"at=" + stamp(third.Add(100*time.Hour)): "OUT_OF_RANGE"} {
		if got := w.call("GET", user+"?"+query, ""); got.status != 422 || !slices.Equal(got.pointers(), []string{"?at " + code}) {
			t.Errorf("%s: %d %s", query, got.status, got.text)
		}
	}
	if got := w.must(200, "GET", "/ops/v1/wallets/nobody", ""); !strings.Contains(got.text, `"wallets":[]`) {
		t.Errorf("nobody: %s", got.text)
	}
}

func TestTransferDropsTheHintAboutTheWallet(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	h := wallet.New(w.rdb)
	w.deps.Checkout.HintBy(h)
	user := w.id // of this test alone
	k := wallet.Key{UserID: user, Currency: "CNY"}
	w.must(201, "POST", "/ops/v1/wallets/"+user+"/top-ups", transferOf("1"+user, "5.00", "CNY"))
	t.Cleanup(func() { w.rdb.Del(t.Context(), "wallet:balance:{"+user+"}") })
	w.rdb.Del(t.Context(), "wallet:balance:{"+user+"}")
	b, err := wallet.Get(t.Context(), w.deps.DB, k)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Put(t.Context(), k, b); err != nil {
		t.Fatal(err)
	}
	w.must(201, "POST", "/ops/v1/wallets/"+user+"/withdrawals", transferOf("2"+user, "5.00", "CNY"))
	if b, found, err := h.Get(t.Context(), k); found || err != nil {
		t.Errorf("the hint still says %+v, %v", b, err)
	}
}

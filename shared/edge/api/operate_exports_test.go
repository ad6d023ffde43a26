package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"holdfast/shared/sale"
)

func TestTheMoneyOfASaleIsAddedUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, other := w.sale(), w.sale()
	operate := NewOperateSales(w.d)
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := w.d.DB.ExecContext(t.Context(), statement, args...); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	for i, of := range []*sale.Activity{a, a, a, other} {
		f := of.Facts()
		if got := w.call(NewReserveTicket(w.d), wish(of, fmt.Sprint("u", i), "k", two)); got.status != 202 {
			t.Fatalf("%d %s", got.status, got.text)
		}
		w.consume()
		id := f.OrderID(fmt.Sprint("u", i), "k")
		if i > 0 {
			exec(`UPDATE trade_order SET status = 'PAID', paid = amount, refunded = ? WHERE id = ?`, i, id[:])
		}
		exec(`INSERT INTO deposit_record (order_id, activity_id, user_id, currency, mode, status, deposit, penalty_due, penalty, refunded, consumed,
 supplement, penalty_reversed, confirm_deadline, remind_at, penalty_ratio, cancellation, club_id, policy_hash, created_at, updated_at, settled_at)
 VALUES (?, ?, 'u', 'CNY', 'LIVE', 'PENALTY', 4, 1, 1, 3, 0, 0, 0.5, '2031-05-03', '2031-05-02', 0.25, 'FREE', ?, REPEAT('h', 32),
 '2031-05-01', '2031-05-01', '2031-05-01')`, id[:], of.ID, fmt.Sprint("club", i%2))
	}
	got := w.call(operate, ask{method: "GET", path: "/ops/v1/activities/" + a.ID + "/settlement", claims: operatorClaims})
	w.expect(got, 200, "")
	delete(got.body, "at")
	text, err := json.Marshal(got.body)
	if err != nil {
		t.Fatal(err)
	}
	yuan := func(amount string) string { return `{"amount":"` + amount + `","currency":"CNY"}` }
	club := func(n int, penalties, reversed, net string) string {
		return fmt.Sprintf(`{"clubId":"club%d","net":%s,"penalties":%s,"reversed":%s}`, n, yuan(net), yuan(penalties), yuan(reversed))
	}
	want := `{"activityId":"` + a.ID + `","clubs":[` + club(0, "2.00", "1.00", "1.00") + `,` + club(1, "1.00", "0.50", "0.50") + `],` +
		`"deposits":[{"consumed":` + yuan("0.00") + `,"deposit":` + yuan("12.00") + `,"deposits":3,"penalty":` + yuan("3.00") + `,"refunded":` +
		yuan("9.00") + `,"status":"PENALTY","supplement":` + yuan("0.00") + `}],"mode":"LIVE","net":` + yuan("47.00") + `,` +
		`"orders":[{"amount":` + yuan("25.00") + `,"orders":1,"paid":` + yuan("0.00") + `,"refunded":` + yuan("0.00") + `,"status":"UNPAID","units":2},` +
		`{"amount":` + yuan("50.00") + `,"orders":2,"paid":` + yuan("50.00") + `,"refunded":` + yuan("3.00") + `,"status":"PAID","units":4}],` +
		`"paid":` + yuan("50.00") + `,"refunded":` + yuan("3.00") + `}`
	if string(text) != want {
		t.Errorf("answered %s\nwant     %s", text, want)
	}
	w.expect(w.call(operate, ask{method: "GET", path: "/ops/v1/activities/nobody/settlement", claims: operatorClaims}), 404, "ACTIVITY_NOT_FOUND")
}

func TestAnExportIsAJobAndItsWishIsChecked(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	for body, want := range map[string][]string{
		`{"kind":"users"}`: {"/kind NOT_ALLOWED"},
		`{"kind":"orders","from":"2031-05-02T00:00:00Z","to":"2031-05-02T00:00:00Z"}`: {"/to OUT_OF_RANGE"},
	} {
		if got := w.call("POST", "/ops/v1/exports", body); got.status != 422 || !slices.Equal(got.pointers(), want) {
			t.Errorf("%s: %d %s", body, got.status, got.text)
		}
	}
	if got := w.call("POST", "/ops/v1/exports", `{"kind":"orders","activityId":"nobody"}`); got.status != 404 || got.code() != "ACTIVITY_NOT_FOUND" {
		t.Errorf("%d %s", got.status, got.text)
	}
	first := w.call("POST", "/ops/v1/exports", `{"kind":"ledger"}`, "Idempotency-Key", "k")
	again := w.call("POST", "/ops/v1/exports", `{"kind":"ledger"}`, "Idempotency-Key", "k")
	if first.status != 202 || again.status != 202 || first.body["jobId"] != again.body["jobId"] {
		t.Fatalf("%d %s, %d %s", first.status, first.text, again.status, again.text)
	}
	id := first.body["jobId"].(string)
	if got := w.call("GET", "/ops/v1/jobs/"+id, ""); got.status != 200 || got.body["kind"] != "EXPORT" || got.body["status"] != "QUEUED" ||
		first.header["Location"] != "/ops/v1/jobs/"+id {
		t.Errorf("%d %s", got.status, got.text)
	}
	var jobs, audits int
	if err := w.deps.DB.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM job`).Scan(&jobs); err != nil {
		t.Fatal(err)
	}
	if err := w.deps.DB.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM audit_log WHERE action = 'export.start'`).Scan(&audits); err != nil {
		t.Fatal(err)
	}
	if jobs != 1 || audits != 1 {
		t.Errorf("%d jobs, %d audit rows", jobs, audits)
	}
}

package workflow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"holdfast/infra/local/states"
	"holdfast/shared/deposit"
	"holdfast/shared/edge/api"
	"holdfast/shared/sale"
	"holdfast/shared/testenv"
)

const envZoneDSN = "WORKFLOW_TEST_ZONE_DSN"

// The server is set to Shanghai's zone and the process to New York's: a deadline is the same instant in the row, the answer of the API,
// the execution's input and the scans, and is due at that instant.
func TestInstantsOfADepositAreTheSameWhateverTheZonesOfServerAndProcess(t *testing.T) {
	if dsn := os.Getenv(envZoneDSN); dsn != "" {
		depositFromNewYork(t, dsn)
		return
	}
	t.Parallel()
	p := testenv.OwnMariaDB(t, "--default-time-zone=+08:00")
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), "TZ=America/New_York", envZoneDSN+"="+p.DSN)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("the process in New York: %v\n%s", err, out)
	}
}

// depositFromNewYork takes a deposit through its life as a process whose own zone is New York.
func depositFromNewYork(t *testing.T, dsn string) {
	w := newWorldOn(t, dsn, 4)
	var zone string
	if err := w.d.DB.QueryRowContext(t.Context(), "SELECT @@global.time_zone").Scan(&zone); err != nil || zone != "+08:00" {
		t.Fatalf("the server's zone is %q: %v", zone, err)
	}
	if _, east := time.Now().Zone(); east >= 0 || w.deadline.Format("Z07:00") == "Z" {
		t.Fatalf("this process runs %d s east of UTC", east)
	}
	id := w.buy(1)[0]
	remind, deadline := w.deadline.Add(-6*time.Hour).UTC(), w.deadline.UTC()

	d := w.deposit(id)
	if !d.ConfirmDeadline.Equal(deadline) || !d.RemindAt.Equal(remind) || d.StartedAt == nil || time.Since(*d.StartedAt).Abs() > time.Minute {
		t.Errorf("the row says %+v, want %v and %v", d, deadline, remind)
	}
	var row string // as a person reads it
	err := w.d.DB.QueryRowContext(t.Context(), "SELECT CONCAT(remind_at, ' ', confirm_deadline) FROM deposit_record WHERE order_id = ?", id[:]).Scan(&row)
	const column = "2006-01-02 15:04:05.000"
	if want := remind.Format(column) + " " + deadline.Format(column); err != nil || row != want {
		t.Errorf("the columns hold %s, want %s: %v", row, want, err)
	}
	if got, want := w.confirmBy(id), deadline.Format("2006-01-02T15:04:05.000Z"); got != want {
		t.Errorf("the API answers %s, want %s", got, want)
	}
	e, _ := w.m.Execution(id.String())
	want := fmt.Sprintf(`{"orderId":%q,"remindAt":%q,"deadline":%q,"turns":0}`, id, remind.Format(time.RFC3339), deadline.Format(time.RFC3339))
	if e.Input != want {
		t.Errorf("the execution was given %s, want %s", e.Input, want)
	}
	w.dueAtItsInstant(id)
}

// confirmBy reads an order's deadline from the API.
func (w *world) confirmBy(id sale.OrderID) string {
	w.Helper()
	event := fmt.Sprintf(`{"version":"2.0","rawPath":"/v1/orders/%[1]s","headers":{},"pathParameters":{"orderId":%[1]q},"requestContext":
 {"requestId":"r","http":{"method":"GET","path":"/v1/orders/%[1]s"},"authorizer":{"jwt":{"claims":{"sub":"user-0"}}}}}`, id.String())
	text, err := api.NewGetOrder(w.d).Invoke(context.WithoutCancel(w.Context()), []byte(event))
	if err != nil {
		w.Fatal(err)
	}
	var answer struct{ Body string }
	var order struct {
		Deposit struct{ ConfirmDeadline string }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		w.Fatal(err)
	}
	if err := json.Unmarshal([]byte(answer.Body), &order); err != nil {
		w.Fatalf("%s: %v", answer.Body, err)
	}
	return order.Deposit.ConfirmDeadline
}

// dueAtItsInstant lets the deadline come: nothing is due two hours before, when a clock in a wrong zone would say that it has passed,
// and at the deadline the execution settles.
func (w *world) dueAtItsInstant(id sale.OrderID) {
	w.Helper()
	due := func() []sale.OrderID {
		now, err := w.d.DB.Now(w.Context(), w.d.DB)
		if err != nil {
			w.Fatal(err)
		}
		ids, err := deposit.DueToSettle(w.Context(), w.d.DB, now, 10)
		if err != nil {
			w.Fatal(err)
		}
		return ids
	}
	w.moveTo(w.deadline.Add(-2 * time.Hour))
	w.eventually("the reminder is written", func() bool { return w.deposit(id).RemindedAt != nil })
	var early struct {
		Status  string
		Seconds int64
	}
	text := w.step("settle-deposit", `{"orderId":"`+id.String()+`"}`)
	if err := json.Unmarshal([]byte(text), &early); err != nil || early.Status != "NOT_DUE" || early.Seconds > 7200 || early.Seconds < 7000 {
		w.Errorf("two hours before: %s", text)
	}
	if ids := due(); len(ids) != 0 {
		w.Errorf("due two hours before: %v", ids)
	}
	w.moveTo(w.deadline)
	if e := w.m.ended(w, id); e.Status != states.Succeeded {
		w.Errorf("%+v", e)
	}
	if d := w.deposit(id); d.Status != deposit.Refunded || slices.Contains(due(), id) {
		w.Errorf("after the deadline: %+v", d)
	}
}

package workflow_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/redis/go-redis/v9"
	"github.com/shopspring/decimal"

	"holdfast/infra/local/states"
	"holdfast/shared/audit"
	"holdfast/shared/checkout"
	"holdfast/shared/deposit"
	"holdfast/shared/edge"
	"holdfast/shared/edge/boot"
	"holdfast/shared/edge/workflow"
	"holdfast/shared/metric"
	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
	"holdfast/shared/wallet"
)

// world is a sale of deposit seats on real stores, and the state machine of their deposits, by one clock that can be moved.
type world struct {
	testing.TB
	d        edge.Deps
	a        *sale.Activity
	m        *machine
	metrics  bytes.Buffer
	deadline time.Time
}

func newWorld(t testing.TB, capacity int) *world {
	t.Helper()
	return newWorldOn(t, testenv.MySQLDSN(t), capacity)
}

func newWorldOn(t testing.TB, dsn string, capacity int) *world {
	t.Helper()
	w := &world{TB: t, m: newMachine(t)}
	db, err := sqltx.Open(dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(32)
	db.SetMaxIdleConns(32)
	t.Cleanup(func() { db.Close() })
	cache := redis.NewUniversalClient(boot.RedisOptions(testenv.RedisAddr(t)))
	t.Cleanup(func() { _ = cache.Close() })
	w.d = boot.Assemble(db, cache, nil, w.m.offset, slog.New(slog.DiscardHandler))
	boot.Connect(&w.d, boot.Outside{Workflows: w.m.starter})
	boot.Measure(&w.d, metric.New(&w.metrics, time.Now))
	w.m.handlers = map[string]lambda.Handler{"remind-deposit": workflow.NewRemindDeposit(w.d), "settle-deposit": workflow.NewSettleDeposit(w.d),
		"record-workflow-failure": workflow.NewRecordWorkflowFailure(w.d)}

	now, ratio := time.Now(), decimal.RequireFromString("0.3")
	w.deadline = now.Add(48 * time.Hour).Truncate(time.Second)
	draft := sale.Activity{ID: testenv.ActivityID(t), Kind: sale.Deposit, Mode: sale.Live, Title: "An evening", OpensAt: now.Add(-time.Hour),
		ClosesAt: now.Add(24 * time.Hour), PerUserLimit: 1, PayWindow: time.Minute, Currency: "CNY",
		TicketTypes: []sale.TicketType{{ID: "SEAT", Title: "Seat", Price: yuan("100.00"), Capacity: capacity, Buckets: min(capacity, 16)}},
		Deposit: &sale.DepositPolicy{Ratio: &ratio, PenaltyRatio: decimal.RequireFromString("0.2"), Cancellation: sale.CancelPenalty, ClubID: "club-1",
			ConfirmDeadline: w.deadline, RemindAt: w.deadline.Add(-6 * time.Hour), OfferLead: sale.MinOfferLead}}
	by := audit.Entry{Operator: "op", RequestID: "r"}
	if _, _, err := w.d.Catalog.Create(t.Context(), draft, by); err != nil {
		t.Fatal(err)
	}
	if w.a, _, err = w.d.Catalog.Transition(t.Context(), draft.ID, sale.Published, by); err != nil {
		t.Fatal(err)
	}
	if err := w.d.Reconcile.Load(t.Context(), w.a.ID); err != nil {
		t.Fatal(err)
	}
	return w
}

func yuan(amount string) money.Amount { return money.Of(decimal.RequireFromString(amount), "CNY") }

// buy gives n users 100.00 each and makes their orders, in batches as create-orders does.
func (w *world) buy(n int) (ids []sale.OrderID) {
	w.Helper()
	f := w.a.Facts()
	for start := 0; start < n; start += 100 {
		var batch []checkout.Message
		var given []wallet.Movement
		for i := start; i < min(start+100, n); i++ {
			user := fmt.Sprintf("user-%d", i)
			given = append(given, wallet.Movement{Type: wallet.TopUp, Reference: "bank-" + user, UserID: user, Amount: yuan("100.00")})
			got, err := w.d.Stock.Reserve(w.Context(), &f, stock.ReserveRequest{OrderID: f.OrderID(user, "k"), UserID: user, TicketType: "SEAT", Quantity: 1})
			if err != nil {
				w.Fatal(err)
			}
			batch = append(batch, checkout.Message{Reservation: got.Reservation, MessageID: "m-" + user})
			ids = append(ids, got.Reservation.OrderID)
		}
		if err := w.d.DB.Run(w.Context(), func(ctx context.Context, tx *sql.Tx) error { return wallet.Apply(ctx, tx, given, time.Now()) }); err != nil {
			w.Fatal(err)
		}
		out, err := w.d.Checkout.CreateOrders(w.Context(), batch)
		if err != nil {
			w.Fatal(err)
		}
		if err := w.d.Checkout.Settle(w.Context(), out); err != nil {
			w.Fatal(err)
		}
	}
	return ids
}

func (w *world) deposit(id sale.OrderID) *deposit.Record {
	w.Helper()
	d, err := deposit.Get(w.Context(), w.d.DB, id)
	if err != nil {
		w.Fatal(err)
	}
	return d
}

func (w *world) moveTo(at time.Time) { w.m.move(at.Sub(w.m.now())) }

func (w *world) step(function, event string) string {
	w.Helper()
	answer, err := w.m.handlers[function].Invoke(w.Context(), []byte(event))
	if err != nil {
		return "error: " + err.Error()
	}
	return string(answer)
}

func TestTheExecutionStartedByTheCommitSettlesTheDeposit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4)
	id := w.buy(1)[0]
	if d := w.deposit(id); d.Status != deposit.Frozen || d.StartedAt == nil {
		t.Fatalf("%+v", d)
	}
	w.moveTo(w.deadline.Add(-6*time.Hour + time.Second))
	w.eventually("the reminder is written", func() bool { return w.deposit(id).RemindedAt != nil })
	w.moveTo(w.deadline.Add(time.Second))
	if e := w.m.ended(t, id); e.Status != states.Succeeded || e.Entered != 7 {
		t.Errorf("%+v", e)
	}
	if d := w.deposit(id); d.Status != deposit.Refunded || d.Penalty.String() != "6.00" || d.Refunded.String() != "24.00" {
		t.Errorf("%+v", d)
	}
}

func (w *world) eventually(what string, holds func() bool) {
	w.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.Fatalf("after half a minute still not: %s", what)
		}
	}
}

func TestStepsAnswerWhatTheStateMachineReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4)
	id := w.buy(1)[0]
	event := `{"orderId":"` + id.String() + `","startedAt":"` + w.m.now().UTC().Format(time.RFC3339Nano) + `"}`
	var early struct {
		Status  string
		Seconds int64
	}
	for _, function := range []string{"remind-deposit", "settle-deposit"} {
		if err := json.Unmarshal([]byte(w.step(function, event)), &early); err != nil || early.Status != "NOT_DUE" || early.Seconds < 41*3600 || early.Seconds > 48*3600 {
			t.Errorf("%s, too early: %+v %v", function, early, err)
		}
	}
	// The deadline is moved beyond what an execution lives to see.
	if _, err := w.d.DB.ExecContext(t.Context(), "UPDATE deposit_record SET confirm_deadline = ? WHERE order_id = ?", w.deadline.Add(400*24*time.Hour), id[:]); err != nil {
		t.Fatal(err)
	}
	if got := w.step("settle-deposit", event); got != `{"status":"TOO_FAR","seconds":0}` {
		t.Errorf("beyond a year: %s", got)
	}
	if _, err := w.d.DB.ExecContext(t.Context(), "UPDATE deposit_record SET confirm_deadline = ? WHERE order_id = ?", w.deadline, id[:]); err != nil {
		t.Fatal(err)
	}
	w.moveTo(w.deadline.Add(-time.Hour))
	for range 2 {
		if got := w.step("remind-deposit", event); got != `{"status":"REMINDED","seconds":0}` {
			t.Errorf("reminded: %s", got)
		}
	}
	w.moveTo(w.deadline)
	w.eventually("somebody settles", func() bool { return strings.Contains(w.step("settle-deposit", event), "DONE") })
	if got := w.step("remind-deposit", event); got != `{"status":"DONE","seconds":0}` {
		t.Errorf("after its end: %s", got)
	}
	for _, function := range []string{"remind-deposit", "settle-deposit"} {
		if got := w.step(function, `{"orderId":"`+orderID(9).String()+`"}`); got != `{"status":"DONE","seconds":0}` {
			t.Errorf("%s of nobody's order: %s", function, got)
		}
		for _, bad := range []string{`{}`, `{"orderId":"x"}`, `[`} {
			if got := w.step(function, bad); !strings.HasPrefix(got, "error: "+function) {
				t.Errorf("%s of %s: %s", function, bad, got)
			}
		}
	}
}

func TestAFailedWorkflowIsCountedAndRaisedAsOneAlert(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4)
	id := w.buy(1)[0]
	w.metrics.Reset()
	event := `{"orderId":"` + id.String() + `","execution":"` + id.String() + `","error":"Lambda.ServiceException","cause":"` + strings.Repeat("x", 5000) + `"}`
	for range 2 {
		if got := w.step("record-workflow-failure", event); got != `{"status":"RECORDED","seconds":0}` {
			t.Fatal(got)
		}
	}
	var activity, detail string
	var occurrences int
	err := w.d.DB.QueryRowContext(t.Context(), "SELECT activity_id, detail, occurrences FROM alert WHERE kind = 'DEPOSIT_WORKFLOW_FAILED' AND subject = ?", id.String()).
		Scan(&activity, &detail, &occurrences)
	if err != nil || activity != w.a.ID || occurrences != 2 || !strings.Contains(detail, "Lambda.ServiceException") || !strings.Contains(detail, "FROZEN") || len(detail) > 1500 {
		t.Errorf("%s %d %s: %v", activity, occurrences, detail, err)
	}
	if n := strings.Count(w.metrics.String(), `"deposit_workflow_failed_total":1`); n != 2 {
		t.Errorf("counted %d times: %s", n, w.metrics.String())
	}
	if d := w.deposit(id); d.Status != deposit.Frozen {
		t.Errorf("a record changes nothing: %+v", d)
	}
}

// BenchmarkSettlementsByExecutions settles 2 000 deposits of one club at one deadline, each by its own execution.
func BenchmarkSettlementsByExecutions(b *testing.B) {
	const deposits = 2000
	for b.Loop() {
		b.StopTimer()
		w := newWorld(b, deposits)
		ids := w.buy(deposits)
		w.moveTo(w.deadline.Add(-time.Hour))
		w.eventually("all are reminded", func() bool { return strings.Count(w.m.called(), "remind-deposit") == deposits })
		b.StartTimer()
		began := time.Now()
		w.moveTo(w.deadline)
		for _, id := range ids {
			if e := w.m.ended(b, id); e.Status != states.Succeeded {
				b.Fatalf("%+v", e)
			}
		}
		b.ReportMetric(deposits/time.Since(began).Seconds(), "settlements/s")
		for _, id := range ids {
			if d := w.deposit(id); d.Status != deposit.Refunded {
				b.Fatalf("%+v", d)
			}
		}
	}
}

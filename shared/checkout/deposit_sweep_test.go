package checkout_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/metric"
	"holdfast/shared/notice"
	"holdfast/shared/order"
	"holdfast/shared/reconcile"
	"holdfast/shared/stock"
)

func (w *world) compensate() reconcile.CompensateSummary {
	w.t.Helper()
	sum, err := reconcile.NewCompensate(w.reconciler(), reconcile.CompensateConfig{}).Run(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return sum
}

func TestRepairFreezesMoneyOnlyForWhoWasPromisedASeat(t *testing.T) {
	t.Parallel()
	w := depositWorld(t)
	w.topUp("30.00", "promised", "refused")
	promised, refused := w.mustReserve("promised", "k", 1), w.mustReserve("refused", "k", 1)
	if err := w.stock.MarkSent(t.Context(), w.activity.ID, promised.OrderID); err != nil {
		t.Fatal(err)
	}
	if sum := w.compensate(); sum.Pending != (reconcile.Swept{}) {
		t.Fatalf("within the grace: %+v", sum.Pending)
	}
	w.pass(2 * time.Minute)
	if sum := w.compensate(); sum.Pending != (reconcile.Swept{Created: 1, Refused: 1}) {
		t.Fatalf("after the grace: %+v", sum.Pending)
	}
	w.wantSeat(promised.OrderID, "UNPAID FROZEN 0.00 0.00 0.00 0.00")
	w.wantPurse("promised", "0.00 30.00")
	if o := w.get(refused.OrderID); o.Status != order.Cancelled || o.Reason != order.Undeliverable {
		t.Errorf("%s for %s, want CANCELLED for UNDELIVERABLE", o.Status, o.Reason)
	}
	w.wantPurse("refused", "30.00 0.00")
	if out := w.create(refused); len(out.Cancelled) != 1 { // its message comes after all
		t.Errorf("%+v", out)
	}
	w.wantPurse("refused", "30.00 0.00")
	w.agree()
	w.moneyHolds()
}

func TestMinutePassRemindsAndSettlesWhatItsWorkflowLeft(t *testing.T) {
	t.Parallel()
	w := depositWorld(t)
	w.topUp("30.00", "u", "v")
	missed, late := w.buy("u", "k", 1), w.buy("v", "k", 1)
	w.pass(untilDeadline - time.Hour)
	if sum := w.compensate(); sum.Deposits != (reconcile.SweptDeposits{Reminded: 2}) {
		t.Fatalf("%+v", sum.Deposits)
	}
	d := w.deposit(late.ID)
	if _, err := w.checkout.ExtendDeposit(t.Context(), late.ID, d.ConfirmDeadline.Add(24*time.Hour), d.Revision, operator("deposit.extend")); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Hour + time.Minute)
	if sum := w.compensate(); sum.Deposits != (reconcile.SweptDeposits{Settled: 1}) {
		t.Fatalf("%+v", sum.Deposits)
	}
	w.wantSeat(missed.ID, "CANCELLEDDEPOSIT_FORFEITED REFUNDED 0.00 6.00 24.00 0.00")
	w.wantSeat(late.ID, "UNPAID FROZEN 0.00 0.00 0.00 0.00")
	if sum := w.compensate(); sum.Deposits != (reconcile.SweptDeposits{}) {
		t.Errorf("nothing is left to do: %+v", sum.Deposits)
	}
	w.agree()
	w.moneyHolds()
}

// The call-off's job gives all back, so that nobody is to be reminded, not even by a notice that was written before.
func TestNobodyIsRemindedOfADepositOfASaleThatWasCalledOff(t *testing.T) {
	t.Parallel()
	w := depositWorld(t)
	w.topUp("30.00", "told", "u")
	told, o := w.buy("told", "k", 1), w.buy("u", "k", 1)
	w.pass(untilDeadline - time.Hour)
	if r, err := w.checkout.RemindDeposit(t.Context(), told.ID); err != nil || r.Step != checkout.StepReminded {
		t.Fatalf("%+v: %v", r, err)
	}
	w.callOff()
	if r, err := w.checkout.RemindDeposit(t.Context(), o.ID); err != nil || r.Step != checkout.StepDone {
		t.Errorf("%+v: %v", r, err)
	}
	w.pass(time.Minute)
	if s, err := w.checkout.SweepDeposits(t.Context(), 10); err != nil || s.Found != 0 {
		t.Errorf("%+v: %v", s, err)
	}
	w.wantCount(1, "SELECT COUNT(*) FROM notice WHERE kind = 'DEPOSIT_REMINDER'")
	_, err := w.checkout.SendNotices(t.Context(), func(_ context.Context, messages []notice.Message) []error {
		for _, m := range messages {
			if m.Attributes["type"] == notice.DepositReminder.EventType() {
				t.Errorf("sent: %+v", m)
			}
		}
		return make([]error, len(messages))
	}, 100)
	if err != nil {
		t.Fatal(err)
	}
	w.pass(2 * time.Hour)
	if r, err := w.checkout.SettleDeposit(t.Context(), o.ID); err != nil || r.Step != checkout.StepSettled {
		t.Errorf("%+v: %v", r, err)
	}
	w.wantSeat(o.ID, "CANCELLEDSALE_CANCELLED REFUNDED 0.00 0.00 30.00 0.00")
}

func TestDepositsAreCountedByActivityAndTestSalesAreNot(t *testing.T) {
	t.Parallel()
	count := func(p plan) string {
		w := newWorld(t, p)
		var lines bytes.Buffer
		w.checkout.CountBy(metric.New(&lines, time.Now))
		w.topUp("500.00", "u")
		w.buy("u", "k", 1)
		confirmed, missed := w.buy("u", "1", 1), w.buy("u", "2", 1)
		if err := w.confirm("u", confirmed.ID); err != nil {
			t.Fatal(err)
		}
		w.pass(untilDeadline)
		if _, err := w.checkout.SettleDeposit(t.Context(), missed.ID); err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(lines.String(), w.activity.ID, "it")
	}
	live := count(plan{price: "100.00", deposit: byRatio()})
	for name, want := range map[string]int{metric.DepositFreeze: 3, metric.DepositConfirm: 1, metric.DepositPenalty: 1} {
		if got := strings.Count(live, `"activity":"it","`+name+`":1`); got != want {
			t.Errorf("%s is written %d times, want %d:\n%s", name, got, want, live)
		}
	}
	if rehearsed := count(plan{price: "100.00", deposit: byRatio(), mode: "TEST"}); strings.Contains(rehearsed, "deposit_") {
		t.Errorf("a TEST sale is counted:\n%s", rehearsed)
	}
}

// A message may be faster than the note that its reservation was sent: then the note has nothing to say.
func TestNoteOfSendingAfterTheOrderWasMadeChangesNothing(t *testing.T) {
	t.Parallel()
	w := depositWorld(t)
	w.topUp("30.00", "u")
	m := w.mustReserve("u", "k", 1)
	w.create(m)
	if err := w.stock.MarkSent(t.Context(), w.activity.ID, m.OrderID); err != nil {
		t.Fatal(err)
	}
	e, err := w.stock.Entry(t.Context(), w.activity.ID, m.OrderID)
	if err != nil || e.Sent || e.Standing != stock.Acknowledged {
		t.Errorf("%+v: %v", e, err)
	}
	if out, err := w.checkout.CreateOrders(t.Context(), []checkout.Message{m}); err != nil || len(out.Live) != 1 {
		t.Errorf("%+v: %v", out, err)
	}
	w.agree()
}

package checkout_test

import (
	"errors"
	"testing"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/deposit"
	"holdfast/shared/notice"
	"holdfast/shared/order"
	"holdfast/shared/sale"
)

func TestBuyerCancelsAsThePolicySays(t *testing.T) {
	t.Parallel()
	free := "CANCELLEDUSER REFUNDED 0.00 0.00 30.00 0.00"
	frozen := "UNPAID FROZEN 0.00 0.00 0.00 0.00"
	for name, c := range map[string]struct {
		policy sale.Cancellation
		before func(w *world)
		want   error
		seat   string
		told   []string // of a penalty
	}{
		"free": {sale.CancelFree, nil, nil, free, nil},
		"at a price": {sale.CancelPenalty, nil, nil, "CANCELLEDUSER REFUNDED 0.00 6.00 24.00 0.00",
			[]string{"REFUNDED 30.00, penalty 6.00, refund 24.00, supplement - USER"}},
		"not at all":                   {sale.CancelForbidden, nil, checkout.ErrNotCancellable, frozen, nil},
		"not after the deadline":       {sale.CancelFree, func(w *world) { w.pass(untilDeadline) }, checkout.ErrNotCancellable, frozen, nil},
		"of a sale that is called off": {sale.CancelForbidden, func(w *world) { w.callOff(); w.pass(untilDeadline) }, nil, free, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := depositWorld(t, cancellation(c.policy))
			w.topUp("30.00", "u")
			o := w.buy("u", "k", 1)
			if c.before != nil {
				c.before(w)
			}
			if _, err := w.checkout.Cancel(t.Context(), o.ID, checkout.Canceller{UserID: "u"}); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			w.wantSeat(o.ID, c.seat)
			w.wantTold(notice.DepositPenalty, o.ID, c.told...)
			w.agree()
			w.moneyHolds()
		})
	}
}

func TestOperatorGivesEverythingBackWhateverThePolicyAndTheDeadline(t *testing.T) {
	t.Parallel()
	w := depositWorld(t, cancellation(sale.CancelForbidden), penalty("1"))
	w.topUp("30.00", "u", "v")
	waived, cancelled := w.buy("u", "k", 1), w.buy("v", "k", 1)
	w.pass(untilDeadline + time.Hour)
	for range 2 { // again: the same
		o, d, err := w.checkout.WaiveDeposit(t.Context(), waived.ID, operator("deposit.waive"))
		if err != nil || o.Reason != order.ByOperator || d.Status != deposit.Refunded {
			t.Fatalf("%+v: %v", d, err)
		}
	}
	entry := operator("order.cancel")
	if _, err := w.checkout.Cancel(t.Context(), cancelled.ID, checkout.Canceller{Operator: &entry}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []sale.OrderID{waived.ID, cancelled.ID} {
		w.wantSeat(id, "CANCELLEDOPERATOR REFUNDED 0.00 0.00 30.00 0.00")
	}
	if n := w.count("SELECT COUNT(*) FROM audit_log WHERE action = 'deposit.waive'"); n != 1 {
		t.Errorf("%d rows about the waiver", n)
	}
	w.agree()
	w.moneyHolds()
}

func TestDeadlineMovesLaterOnlyAndOnlyByWhoHasReadIt(t *testing.T) {
	t.Parallel()
	w := depositWorld(t)
	w.topUp("30.00", "u")
	o := w.buy("u", "k", 1)
	d := w.deposit(o.ID)
	extend := func(by time.Duration, revision int64) error {
		_, err := w.checkout.ExtendDeposit(t.Context(), o.ID, d.ConfirmDeadline.Add(by), revision, operator("deposit.extend"))
		return err
	}
	for _, by := range []time.Duration{-time.Second, 0, 999 * time.Millisecond} {
		if err := extend(by, d.Revision); !errors.Is(err, checkout.ErrDeadlineNotLater) {
			t.Errorf("by %s: %v", by, err)
		}
	}
	if err := extend(time.Hour, d.Revision+1); !errors.Is(err, checkout.ErrDepositStale) {
		t.Errorf("another revision: %v", err)
	}
	w.pass(untilDeadline + 2*time.Hour) // a missed one that is not settled yet can be extended, to an instant that is ahead
	if err := extend(time.Hour, d.Revision); !errors.Is(err, checkout.ErrDeadlineNotLater) {
		t.Errorf("to the past: %v", err)
	}
	if err := extend(3*time.Hour, d.Revision); err != nil {
		t.Fatal(err)
	}
	if r, err := w.checkout.SettleDeposit(t.Context(), o.ID); err != nil || r.Step != checkout.StepNotDue {
		t.Errorf("settling at the old deadline: %+v: %v", r, err)
	}
	w.wantTold(notice.DeadlineExtended, o.ID, "FROZEN 30.00, penalty -, refund -, supplement -")
	w.callOff()
	if err := extend(9*time.Hour, d.Revision+1); !errors.Is(err, checkout.ErrDepositNotFrozen) {
		t.Errorf("of a sale that was called off: %v", err)
	}
}

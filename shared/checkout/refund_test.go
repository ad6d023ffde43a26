package checkout_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	simulated "holdfast/infra/local/provider"
	"holdfast/shared/checkout"
	"holdfast/shared/money"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/reconcile"
	"holdfast/shared/wallet"
)

// paidByProvider buys for 50.00 and pays by the provider.
func (w *till) paidByProvider(user, key string) order.Order {
	w.t.Helper()
	o := w.buy(user, key, 4)
	w.mustTell(w.begin(o, "pay "+key))
	return w.get(o.ID)
}

func (w *till) refund(o order.Order, id, amount string) (*payment.Refund, error) {
	in := checkout.RefundRequest{OrderID: o.ID, RefundID: id, Reason: "goodwill"}
	if amount != "" {
		in.Amount = ptr(yuan(amount))
	}
	_, r, err := w.checkout.Refund(w.t.Context(), in, operator("order.refund"))
	return r, err
}

// B51: the answer is lost five times over, and one refund goes out; two true ones both go, and a third finds too little left.
func TestRefundWithLostAnswersGoesOutOnceAndTrueOnesAllGo(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{})
	o := w.paidByProvider("u1", "k1")
	w.provider.Follow(simulated.Plan{LoseAnswers: 5})
	for i := range 5 {
		r, err := w.refund(o, "r1", "20.00")
		if err != nil || r.Status.Final() {
			t.Fatalf("try %d: %+v, %v", i, r, err)
		}
		w.clock.Add(int64(2 * time.Hour))
		if _, err := w.checkout.SendRefunds(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := w.refund(o, "r1", "20.00"); err != nil || r.Status != payment.RefundSucceeded {
		t.Fatalf("%+v, %v", r, err)
	}
	if n := w.count("SELECT COUNT(*) FROM wallet_log WHERE type = 'REFUND'"); n != 1 || w.provider.Held("CNY").String() != "30.00" {
		t.Fatalf("%d entries, the provider holds %s", n, w.provider.Held("CNY"))
	}
	if _, err := w.refund(o, "r2", "20.00"); err != nil {
		t.Fatal(err)
	}
	_, err := w.refund(o, "r3", "20.00")
	wantErr(t, err, checkout.ErrRefundTooMuch)
	_, err = w.refund(o, "r1", "19.00")
	wantErr(t, err, checkout.ErrRefundExists)
	other := w.paidByProvider("u2", "k2")
	_, err = w.refund(other, "r1", "20.00")
	wantErr(t, err, checkout.ErrRefundExists)
	for _, amount := range []string{"-5.00", "0.00"} {
		_, err = w.refund(o, "r4", amount)
		wantErr(t, err, checkout.ErrRefundTooMuch)
	}
	if got := w.get(o.ID); got.Refunded.String() != "40.00" || got.Status != order.Paid {
		t.Fatalf("order %s, %s went back", got.Status, got.Refunded)
	}
	w.balanced()
}

func TestRefundsAtOnceNeverExceedWhatWasPaid(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{})
	w.topUp("u1", "50.00")
	o := w.buy("u1", "k1", 4)
	if _, err := w.checkout.PayByWallet(t.Context(), paying(o, "p")); err != nil {
		t.Fatal(err)
	}
	var g sync.WaitGroup
	for i := range 12 {
		g.Go(func() {
			if _, err := w.refund(o, fmt.Sprint("r", i%6), "20.00"); err != nil && !errors.Is(err, checkout.ErrRefundTooMuch) {
				t.Error(err)
			}
		})
	}
	g.Wait()
	if got := w.available("u1"); got != "40.00" {
		t.Errorf("%s came back", got)
	}
	w.balanced()
}

// B04: all ways by which units and money of a paid order can come back, at once. There is as much as one order needs, and a buyer may
// have as much, so that each round also shows that the one before gave everything back.
func TestEveryWayBackAtOnceIsOneCancellationOneReleaseAndNoMoreThanWasPaid(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{capacity: 4, limit: 4, refundRule: `{"from":"CLOSES_AT","steps":[{"before":"PT1H","ratio":"0.5"}]}`})
	w.topUp("u1", "1000.00")
	for i := range 8 {
		key := fmt.Sprint("k", i)
		m := w.mustReserve("u1", key, 4)
		o := w.create(m).Live[0]
		again := func() error { _, err := w.checkout.PayByWallet(t.Context(), paying(o, "pay")); return err }
		if i%2 == 0 {
			p := w.begin(o, "pay")
			again = func() error { return w.tell(p) }
		}
		if err := again(); err != nil {
			t.Fatal(err)
		}
		w.clock.Add(int64(16 * time.Minute)) // the deadline of what is not paid
		amount, ends := "20.00", []string{"25.00", "45.00", "50.00"}
		if i%4 > 1 {
			amount, ends = "", []string{"50.00"} // whoever asks for all gets what is left
		}
		w.atOnce(i, w.waysBack(o, m, key, amount, again))
		w.wentBack(o, ends)
		w.balanced()
	}
	w.clock.Add(int64(10 * time.Minute))
	run, err := w.reconciler().Reconcile(t.Context(), reconcile.RunRequest{ActivityID: w.activity.ID, Mode: reconcile.Repairing, Cause: reconcile.ByOperator})
	if err != nil || run.Status != reconcile.StatusSucceeded || run.Differences != 0 {
		t.Errorf("%+v, %v", run, err)
	}
	w.mustReserve("u1", "again", 4)
}

// waysBack are the calls by which units and money of a paid order come back, and those that come again from before. The refund is of this
// amount, or of all that is left.
func (w *till) waysBack(o order.Order, m checkout.Message, refundID, amount string, again func() error) []func() error {
	ctx, entry := w.t.Context(), operator("order.cancel")
	entry.Subject = o.ID.String()
	cancel := func(by checkout.Canceller) func() error {
		return func() error { _, err := w.checkout.Cancel(ctx, o.ID, by); return err }
	}
	return []func() error{
		cancel(checkout.Canceller{UserID: "u1"}),
		cancel(checkout.Canceller{Operator: &entry, Refund: checkout.RefundFull}),
		func() error { _, err := w.refund(o, refundID, amount); return err },
		again,
		func() error {
			out, err := w.checkout.CreateOrders(ctx, []checkout.Message{m})
			return errors.Join(err, w.checkout.Settle(ctx, out))
		},
		func() error { _, _, err := w.checkout.Expire(ctx, 100); return err },
		func() error { _, err := w.reconciler().ReleaseUnreleased(ctx, 100); return err },
		func() error {
			_, err := w.reconciler().Reconcile(ctx, reconcile.RunRequest{ActivityID: o.ActivityID, Mode: reconcile.Repairing, Cause: reconcile.ByOperator})
			return err
		},
		func() error {
			_, err := reconcile.NewCompensate(w.reconciler(), reconcile.CompensateConfig{}).Run(ctx)
			return err
		},
	}
}

// atOnce does all calls at once, each twice, beginning with another one in each round; none may fail but for too little being left.
func (w *till) atOnce(round int, calls []func() error) {
	gate := make(chan struct{})
	var g sync.WaitGroup
	for i := range 2 * len(calls) {
		g.Go(func() {
			<-gate
			if err := calls[(round+i)%len(calls)](); err != nil && !errors.Is(err, checkout.ErrRefundTooMuch) {
				w.t.Error(err)
			}
		})
	}
	close(gate)
	g.Wait()
}

// wentBack checks that a paid order was cancelled once, and that one of these amounts went back of it, by its refunds and by the ledger.
func (w *till) wentBack(o order.Order, ends []string) {
	w.t.Helper()
	got := w.get(o.ID)
	sum := money.Zero("CNY")
	for _, r := range w.refunds(o.ID) {
		sum = sum.Plus(r.Amount)
	}
	if got.Status != order.Cancelled || got.Paid.String() != "50.00" || sum.Cmp(got.Refunded) != 0 || !slices.Contains(ends, sum.String()) {
		w.t.Errorf("the order is %s for %s, %s of %s went back, by refunds %s; want one of %s", got.Status, got.Reason, got.Refunded, got.Paid, sum, ends)
	}
	w.wantCount(1, "SELECT SUM(amount) = ? FROM wallet_log WHERE type = 'REFUND' AND order_id = ?", sum.String(), o.ID[:])
	w.wantCount(1, "SELECT COUNT(*) FROM stock_log WHERE direction = 1 AND order_id = ?", o.ID[:])
	w.wantCount(1, "SELECT COUNT(*) FROM notice WHERE kind = 'ORDER_CANCELLED' AND order_id = ?", o.ID[:])
	w.wantCount(btoi(got.Reason == order.ByOperator), "SELECT COUNT(*) FROM audit_log WHERE action = 'order.cancel' AND subject = ?", o.ID.String())
}

func TestRefundThatTheProviderRefusesWaitsInSuspenseForAPerson(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{})
	o := w.paidByProvider("u1", "k1")
	w.provider.Follow(simulated.Plan{Refunds: "FAILED"})
	r, err := w.refund(o, "r1", "20.00")
	if err != nil || r.Status != payment.RefundFailed {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := w.account(wallet.Suspense); got != "20.00" {
		t.Errorf("suspense %s", got)
	}
	w.wantAlert("REFUND_FAILED", "r1")
	w.wantCount(1, "SELECT COUNT(*) FROM notice WHERE kind = 'REFUND_FAILED' AND subject = 'r1'")
	w.balanced()
}

func TestRefundThatIsPendingEndsByTheProvidersNewsOnce(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{})
	o := w.paidByProvider("u1", "k1")
	w.provider.Follow(simulated.Plan{Refunds: "PENDING"})
	if r, err := w.refund(o, "r1", ""); err != nil || r.Status != payment.RefundSent || r.Amount.String() != "50.00" {
		t.Fatalf("%+v, %v", r, err)
	}
	w.balanced()
	news := checkout.RefundNews{RefundID: "r1", State: payment.RefundState{Status: payment.RefundSucceeded}, Amount: yuan("49.00")}
	wantErr(t, w.checkout.LearnRefund(t.Context(), news), checkout.ErrAmountDiffers)
	w.provider.EndRefund("r1", "SUCCEEDED")
	w.until("the refund has ended", func() bool { return w.refunds(o.ID)[0].Status == payment.RefundSucceeded })
	news.Amount, news.State = yuan("50.00"), payment.RefundState{Status: payment.RefundFailed, Failure: "LATE"}
	if err := w.checkout.LearnRefund(t.Context(), news); err != nil || w.refunds(o.ID)[0].Status != payment.RefundSucceeded {
		t.Fatalf("a failure after the success: %v", err)
	}
	if n := w.count("SELECT COUNT(*) FROM notice WHERE kind LIKE 'REFUND%'"); n != 1 {
		t.Errorf("%d notices", n)
	}
	w.balanced()
}

// What the row says stays, for money has moved by it; but a bank may have sent back what had gone out, or the other way round.
func TestNewsThatContradictHowARefundEndedAreShownToAPerson(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ended, news payment.RefundStatus
		alerts      int
	}{
		"failed after it had succeeded": {payment.RefundSucceeded, payment.RefundFailed, 1},
		"succeeded after it had failed": {payment.RefundFailed, payment.RefundSucceeded, 1},
		"succeeded, told again":         {payment.RefundSucceeded, payment.RefundSucceeded, 0},
		"failed, told again":            {payment.RefundFailed, payment.RefundFailed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTill(t, plan{})
			o := w.paidByProvider("u1", "k1")
			w.provider.Follow(simulated.Plan{Refunds: string(c.ended)})
			if r, err := w.refund(o, "r1", "20.00"); err != nil || r.Status != c.ended {
				t.Fatalf("%+v, %v", r, err)
			}
			news := checkout.RefundNews{RefundID: "r1", State: payment.RefundState{Status: c.news, Failure: "ACCOUNT_CLOSED"}, Amount: yuan("20.00")}
			for range 2 {
				if err := w.checkout.LearnRefund(t.Context(), news); err != nil {
					t.Fatal(err)
				}
			}
			w.wantCount(c.alerts, `SELECT COUNT(*) FROM alert WHERE kind = 'REFUND_CONTRADICTED' AND subject = 'r1' AND occurrences = 2
 AND JSON_VALUE(detail, '$.recorded') = ? AND JSON_VALUE(detail, '$.reported') = ?`, string(c.ended), string(c.news))
			w.wantCount(c.alerts, "SELECT COUNT(*) FROM alert WHERE kind <> 'REFUND_FAILED'")
			if got := w.refunds(o.ID)[0].Status; got != c.ended {
				t.Errorf("the refund is %s", got)
			}
			w.balanced()
		})
	}
}

func TestCancellationGivesBackWhatTheRuleLeavesOverWhatWentBack(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{refundRule: `{"from":"CLOSES_AT","steps":[{"before":"PT1H","ratio":"0.5"}]}`})
	w.topUp("u1", "100.00")
	byWallet, byProvider := w.buy("u1", "k1", 4), w.paidByProvider("u1", "k2")
	if _, err := w.checkout.PayByWallet(t.Context(), paying(byWallet, "p")); err != nil {
		t.Fatal(err)
	}
	for _, o := range []order.Order{byWallet, byProvider} {
		if _, err := w.refund(o, "r"+o.Reference, "10.00"); err != nil {
			t.Fatal(err)
		}
		got, err := w.checkout.Cancel(t.Context(), o.ID, checkout.Canceller{UserID: "u1"})
		if err != nil || got.Refunded.String() != "25.00" {
			t.Fatalf("%+v, %v", got, err)
		}
		if _, err := w.checkout.Cancel(t.Context(), o.ID, checkout.Canceller{UserID: "u1"}); err != nil {
			t.Fatal(err)
		}
	}
	if w.available("u1") != "75.00" || w.provider.Held("CNY").String() != "25.00" {
		t.Errorf("wallet %s, provider %s", w.available("u1"), w.provider.Held("CNY"))
	}
	if _, err := w.refund(byWallet, "later", "25.00"); err != nil { // a cancelled order can still be treated well
		t.Fatal(err)
	}
	w.balanced()
}

func TestMarkedPaymentIsInTheLedgerAndGoesBackByHand(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{})
	o := w.buy("u1", "k1", 4)
	p := w.begin(o, "p1")
	for range 2 {
		if _, err := w.checkout.MarkPaid(t.Context(), o.ID, "bank 7", operator("order.pay")); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.payment(p.ID).Status; got != payment.Expired {
		t.Errorf("the payment beside is %s", got)
	}
	w.mustTell(p) // and succeeded all the same: it goes back
	r, err := w.refund(o, "r1", "")
	if err != nil || r.Target != payment.ToOutside || r.Status != payment.RefundSucceeded {
		t.Fatalf("%+v, %v", r, err)
	}
	if w.account(wallet.Outside) != "0.00" || w.account(wallet.House) != "0.00" || w.provider.Held("CNY").String() != "0.00" {
		t.Errorf("outside %s, house %s", w.account(wallet.Outside), w.account(wallet.House))
	}
	w.balanced()
}

func TestPenaltyComesBackFromTheClub(t *testing.T) {
	t.Parallel()
	w, o := forfeited(t)
	give := func(id string, amount *money.Amount) (*payment.Refund, error) {
		_, r, err := w.checkout.Refund(t.Context(), checkout.RefundRequest{OrderID: o.ID, RefundID: id, Amount: amount, Reason: "a mistake"}, operator("order.refund"))
		return r, err
	}
	penalty := w.deposit(o.ID)
	part := penalty.Penalty.Minus(yuan("1.00"))
	for range 3 {
		if r, err := give("r1", &part); err != nil || !r.Penalty || r.Amount.Cmp(part) != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	_, err := give("r2", &part)
	wantErr(t, err, checkout.ErrRefundTooMuch)
	if r, err := give("r3", nil); err != nil || r.Amount.String() != "1.00" {
		t.Fatalf("%+v, %v", r, err)
	}
	w.wantAccount(wallet.ClubPrefix+penalty.ClubID, "0.00")
	w.wantPurse("u1", "1000.00 0.00")
}

// forfeited is a deposit seat whose buyer did not confirm in time.
func forfeited(t *testing.T) (*world, order.Order) {
	t.Helper()
	w := depositWorld(t)
	w.topUp("1000.00", "u1")
	o := w.buy("u1", "k1", 1)
	w.pass(time.Until(w.deposit(o.ID).ConfirmDeadline) + time.Minute)
	if _, err := w.checkout.SettleDeposit(t.Context(), o.ID); err != nil {
		t.Fatal(err)
	}
	return w, w.get(o.ID)
}

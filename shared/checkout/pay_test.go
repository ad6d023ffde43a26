package checkout_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	simulated "holdfast/infra/local/provider"
	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/testenv"
	"holdfast/shared/wallet"
)

func TestOrderIsPaidByWalletOnceAndItsKeyAnswersTheSame(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{})
	w.topUp("u1", "100.00")
	o := w.buy("u1", "k1", 2)
	in := paying(o, "p1")
	paid, err := w.checkout.PayByWallet(t.Context(), in)
	if err != nil || paid.Status != order.Paid || in.Wish.Kept != nil {
		t.Fatalf("%+v, %v", paid, err)
	}
	again := paying(o, "p1")
	if _, err := w.checkout.PayByWallet(t.Context(), again); err != nil || again.Wish.Kept == nil || string(again.Wish.Kept.Body) != "PAID" {
		t.Fatalf("the key again: %+v, %v", again.Wish.Kept, err)
	}
	_, err = w.checkout.PayByWallet(t.Context(), paying(o, "p2"))
	wantErr(t, err, checkout.ErrNotPayable)
	p := w.payment(payment.NewID(o.ID, "p1"))
	if p.Status != payment.Succeeded || p.Disposition != payment.ToOrder || w.get(o.ID).PaidBy != p.ID {
		t.Fatalf("payment %+v, order paid by %s", p, w.get(o.ID).PaidBy)
	}
	if got := w.available("u1"); got != "75.00" {
		t.Errorf("%s are left", got)
	}
	w.wantCount(1, "SELECT COUNT(*) FROM wallet_log WHERE type = 'PAYMENT_WALLET'")
	w.wantCount(1, "SELECT COUNT(*) FROM notice WHERE kind = 'ORDER_PAID'")
	w.balanced()
}

func TestTooLittleMoneyMovesNothingAndTheSameKeyMaySucceedLater(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{})
	w.topUp("u1", "24.99")
	o := w.buy("u1", "k1", 2)
	_, err := w.checkout.PayByWallet(t.Context(), paying(o, "p1"))
	wantErr(t, err, checkout.ErrInsufficientBalance)
	if got := w.get(o.ID); got.Status != order.Unpaid || w.available("u1") != "24.99" || w.count("SELECT COUNT(*) FROM payment") != 0 {
		t.Fatalf("order %s, %s left", got.Status, w.available("u1"))
	}
	w.topUp("u1", "0.01")
	if _, err := w.checkout.PayByWallet(t.Context(), paying(o, "p1")); err != nil {
		t.Fatal(err)
	}
	w.balanced()
}

func TestManyPaymentsOfOneOrderAtOnceTakeTheMoneyOnce(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{})
	w.topUp("u1", "1000.00")
	o := w.buy("u1", "k1", 2)
	var g sync.WaitGroup
	for i := range 12 {
		g.Go(func() {
			_, err := w.checkout.PayByWallet(t.Context(), paying(o, fmt.Sprint("p", i%4)))
			if err != nil && !errors.Is(err, checkout.ErrNotPayable) {
				t.Error(err)
			}
		})
	}
	g.Wait()
	if got := w.available("u1"); got != "975.00" {
		t.Errorf("%s are left", got)
	}
	w.balanced()
}

func TestWalletHasToWaitForAPaymentByTheProviderAndTheSameKeyGoesOn(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{})
	w.topUp("u1", "100.00")
	o := w.buy("u1", "k1", 2)
	w.provider.Follow(simulated.Plan{LoseAnswers: 1})
	_, _, err := w.checkout.PayByProvider(t.Context(), paying(o, "p1"))
	wantErr(t, err, payment.ErrNoProvider)
	_, err = w.checkout.PayByWallet(t.Context(), paying(o, "p2"))
	wantErr(t, err, checkout.ErrPaymentPending)
	_, _, err = w.checkout.PayByProvider(t.Context(), paying(o, "p3"))
	wantErr(t, err, checkout.ErrPaymentPending)
	p := w.begin(o, "p1")
	if p.Status != payment.Pending || p.Action == nil || p.Action.URL == "" || !p.ExpiresAt.Equal(*o.PayDeadline) {
		t.Fatalf("the key again: %+v", p)
	}
	w.provider.Happen(p.ID, simulated.Event{Status: "SUCCEEDED", Times: 5})
	w.until("the order is paid", func() bool { return w.get(o.ID).Status == order.Paid })
	if got := w.get(o.ID).PaidBy; got != p.ID {
		t.Errorf("paid by %s", got)
	}
	if got := w.provider.Held("CNY").String(); got != "25.00" {
		t.Errorf("the provider holds %s", got)
	}
	w.balanced()
}

func TestFailureEndsAPaymentAndASuccessAfterItCountsAllTheSame(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{})
	o := w.buy("u1", "k1", 2)
	first := w.begin(o, "p1")
	w.provider.Happen(first.ID, simulated.Event{Status: "FAILED"})
	w.until("the payment has failed", func() bool { return w.payment(first.ID).Status == payment.Failed })
	if got := w.payment(first.ID).Failure; got != "DECLINED" {
		t.Errorf("failure %q", got)
	}
	second := w.begin(o, "p2")
	w.mustTell(first) // out of order: it had succeeded
	if got := w.get(o.ID); got.Status != order.Paid || got.PaidBy != first.ID {
		t.Fatalf("order %s by %s", got.Status, got.PaidBy)
	}
	if got := w.payment(second.ID).Status; got != payment.Expired {
		t.Errorf("the other attempt is %s", got)
	}
	w.mustTell(second) // and so had the other: paid twice
	w.mustTell(second)
	if err := w.checkout.LearnPayment(t.Context(), checkout.PaymentNews{PaymentID: first.ID, Failure: "DECLINED", Amount: first.Amount}); err != nil {
		t.Fatal(err)
	}
	if got := w.payment(first.ID).Status; got != payment.Succeeded {
		t.Errorf("a failure that came late made it %s", got)
	}
	refunds := w.refunds(o.ID)
	if len(refunds) != 1 || !refunds[0].Surplus || refunds[0].PaymentID != second.ID || w.get(o.ID).Refunded.String() != "0.00" {
		t.Fatalf("refunds %+v", refunds)
	}
	w.balanced()
	if got := w.provider.Held("CNY").String(); got != "25.00" {
		t.Errorf("the provider holds %s", got)
	}
}

func TestNewsOfAnUnknownPaymentOrAnotherAmountChangeNothing(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{})
	w.topUp("u1", "100.00")
	o, byWallet := w.buy("u1", "k1", 2), w.buy("u1", "k2", 1)
	p := w.begin(o, "p1")
	if _, err := w.checkout.PayByWallet(t.Context(), paying(byWallet, "p2")); err != nil {
		t.Fatal(err)
	}
	wantErr(t, w.checkout.LearnPayment(t.Context(), checkout.PaymentNews{PaymentID: p.ID, Succeeded: true, Amount: yuan("25.01")}), checkout.ErrAmountDiffers)
	wantErr(t, w.checkout.LearnPayment(t.Context(), checkout.PaymentNews{PaymentID: "pay_x", Succeeded: true, Amount: yuan("25.00")}), payment.ErrNotFound)
	wantErr(t, w.checkout.LearnPayment(t.Context(), checkout.PaymentNews{PaymentID: payment.NewID(byWallet.ID, "p2"), Succeeded: true, Amount: yuan("12.50")}), payment.ErrNotFound)
	if got := w.payment(p.ID).Status; got != payment.Pending || w.account(wallet.Suspense) != "0.00" {
		t.Fatalf("payment %s", got)
	}
	w.balanced()
}

func TestPaymentRefusedByTheProviderFailsAndAnotherKeyTriesAgain(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{})
	o := w.buy("u1", "k1", 2)
	w.provider.Follow(simulated.Plan{Refuse: true})
	if p := w.begin(o, "p1"); p.Status != payment.Failed || p.Failure != "REFUSED" {
		t.Fatalf("%+v", p)
	}
	w.provider.Follow(simulated.Plan{})
	if p := w.begin(o, "p1"); p.Status != payment.Failed {
		t.Fatalf("the same key: %+v", p)
	}
	w.mustTell(w.begin(o, "p2"))
	w.balanced()
}

func TestTestSaleIsPaidAndRefundedWithoutMoney(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{mode: "TEST"})
	first, second := w.buy("u1", "k1", 2), w.buy("u1", "k2", 1)
	if _, err := w.checkout.PayByWallet(t.Context(), paying(first, "p1")); err != nil {
		t.Fatal(err)
	}
	o, p, err := w.checkout.PayByProvider(t.Context(), paying(second, "p2"))
	if err != nil || o.Status != order.Paid || p.Status != payment.Succeeded {
		t.Fatalf("%+v, %+v, %v", o, p, err)
	}
	for _, id := range []order.Order{first, second} {
		if _, err := w.checkout.Cancel(t.Context(), id.ID, checkout.Canceller{Operator: ptr(operator("order.cancel")), Refund: checkout.RefundFull}); err != nil {
			t.Fatal(err)
		}
		if r := w.refunds(id.ID); len(r) != 1 || r[0].Status != payment.RefundSucceeded {
			t.Fatalf("refunds %+v", r)
		}
	}
	if n := w.count("SELECT COUNT(*) FROM wallet_log"); n != 0 {
		t.Errorf("%d movements", n)
	}
	w.balanced()
}

func ptr[T any](v T) *T { return &v }

// B49: the process dies, or its connection does, after the effect and before the answer. The same key goes on where that ended, and
// nothing happens twice.
func TestCallWhoseCommitStaysWithoutAnswerIsDoneOnceAndItsKeyGoesOn(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{refundRule: `{"from":"CLOSES_AT","steps":[{"before":"PT1H","ratio":"1"}]}`})
	proxy, dsn := testenv.ProxyMySQL(t, w.dsn)
	through := checkout.New(w.open(dsn), w.stock, w.catalog, nil)
	w.topUp("u1", "1000.00")
	for i := range 8 {
		o := w.buy("u1", fmt.Sprint("k", i), 1)
		cutNextCommit(proxy)
		if got, err := through.PayByWallet(t.Context(), paying(o, "p")); err != nil || got.Status != order.Paid {
			t.Fatalf("round %d: %+v, %v", i, got, err)
		}
		again := paying(o, "p")
		if _, err := w.checkout.PayByWallet(t.Context(), again); err != nil || again.Wish.Kept == nil {
			t.Fatalf("round %d: the key again: %v", i, err)
		}
		cutNextCommit(proxy)
		cancelling := paying(o, "c").Wish
		if got, err := through.Cancel(t.Context(), o.ID, checkout.Canceller{UserID: "u1", Wish: cancelling}); err != nil || got.Status != order.Cancelled {
			t.Fatalf("round %d: %+v, %v", i, got, err)
		}
		cancelling = paying(o, "c").Wish
		if _, err := w.checkout.Cancel(t.Context(), o.ID, checkout.Canceller{UserID: "u1", Wish: cancelling}); err != nil || cancelling.Kept == nil {
			t.Fatalf("round %d: the key of the cancellation again: %v", i, err)
		}
		if proxy.Cuts() != 2*(i+1) {
			t.Fatalf("round %d: %d cuts", i, proxy.Cuts())
		}
	}
	if got := w.available("u1"); got != "1000.00" {
		t.Errorf("%s are left", got)
	}
	if n := w.count("SELECT COUNT(*) FROM wallet_log WHERE type IN ('PAYMENT_WALLET', 'REFUND')"); n != 16 {
		t.Errorf("%d movements", n)
	}
	w.balanced()
}

// Four come to each order at once: its buyer who pays, its buyer who cancels, its deadline, and the provider. Whoever wins, the order has
// one end, and every cent is somewhere.
func TestPaymentCancellationExpiryAndNewsRaceToOneEnd(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{refundRule: `{"from":"CLOSES_AT","steps":[{"before":"PT1H","ratio":"0.5"}]}`})
	const n = 16
	w.topUp("u1", "1000.00")
	w.topUp("u2", "1000.00")
	var orders []order.Order
	var payments []*payment.Payment
	for i := range n {
		user := fmt.Sprint("u", 1+i%8)
		orders = append(orders, w.buy(user, fmt.Sprint("k", i), 1))
		if i%2 == 0 {
			payments = append(payments, w.begin(orders[i], "p"))
		}
	}
	w.clock.Add(int64(15*time.Minute - 200*time.Millisecond)) // the deadlines pass while they run
	var g sync.WaitGroup
	race := func(f func() error) {
		g.Go(func() {
			if err := f(); err != nil && !errors.Is(err, checkout.ErrNotPayable) && !errors.Is(err, checkout.ErrExpired) &&
				!errors.Is(err, checkout.ErrPaymentPending) && !errors.Is(err, checkout.ErrNotCancellable) && !errors.Is(err, checkout.ErrInsufficientBalance) {
				t.Error(err)
			}
		})
	}
	for i, o := range orders {
		race(func() error { _, err := w.checkout.PayByWallet(t.Context(), paying(o, "w")); return err })
		if i%3 == 0 {
			race(func() error {
				_, err := w.checkout.Cancel(t.Context(), o.ID, checkout.Canceller{UserID: o.UserID})
				return err
			})
		}
	}
	for range 3 {
		race(func() error { _, _, err := w.checkout.Expire(t.Context(), 100); return err })
	}
	for _, p := range payments {
		race(func() error { return w.tell(p) })
		race(func() error { return w.tell(p) })
	}
	g.Wait()
	w.expire()
	for _, p := range payments {
		if got := w.payment(p.ID); got.Status != payment.Succeeded || got.Disposition == "" {
			t.Errorf("payment %s is %s, %q", p.ID, got.Status, got.Disposition)
		}
	}
	if n := w.count("SELECT COUNT(*) FROM trade_order WHERE status = 'UNPAID'"); n != 0 {
		t.Errorf("%d orders are still unpaid", n)
	}
	w.balanced()
}

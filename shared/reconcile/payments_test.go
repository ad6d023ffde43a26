package reconcile_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	simulated "holdfast/infra/local/provider"
	"holdfast/shared/checkout"
	"holdfast/shared/edge/provider"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/reconcile"
)

// What died half-way is finished by one pass: a success that nobody decided, a refund that nobody sent, a payment that nobody answered, a job
// that nobody ran.
func TestMinutePassFinishesWhatPaymentsAndRefundsLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	now := func() time.Time { return time.Now().Add(time.Duration(w.clock.Load())) }
	key := func(context.Context) ([]byte, error) { return []byte("key"), nil }
	bank := simulated.Start(simulated.Options{Key: []byte("key"), Now: now, Webhook: func() string { return "" }})
	front := httptest.NewServer(bank)
	t.Cleanup(func() {
		bank.Close()
		front.Close()
	})
	bank.Follow(simulated.Plan{})
	client := provider.New(front.URL, key, now)
	w.checkout.ChargeBy(client)
	begin := func(o order.Order) *payment.Payment {
		t.Helper()
		_, p, err := w.checkout.PayByProvider(t.Context(), checkout.Paying{OrderID: o.ID, UserID: o.UserID, Key: "p"})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	learn := func(p *payment.Payment) {
		t.Helper()
		bank.Happen(p.ID, simulated.Event{Status: "SUCCEEDED"})
		if err := w.checkout.LearnPayment(t.Context(), checkout.PaymentNews{PaymentID: p.ID, Succeeded: true, Amount: p.Amount}); err != nil {
			t.Fatal(err)
		}
	}
	paid, undecided, waiting := w.buy("u1", "k1", 1), w.buy("u2", "k2", 1), w.buy("u3", "k3", 1)
	learn(begin(paid))
	half, pending := begin(undecided), begin(waiting)
	if _, err := w.db.ExecContext(t.Context(), `UPDATE payment SET status = 'SUCCEEDED', succeeded_at = ? WHERE payment_id = ?`, now().UTC(), half.ID); err != nil {
		t.Fatal(err)
	}
	w.checkout.ChargeBy(nil) // the provider is away while this is asked for
	_, refund, err := w.checkout.Refund(t.Context(), checkout.RefundRequest{OrderID: paid.ID, RefundID: "r1", Reason: "r"}, operator("order.refund"))
	if err != nil || refund.Status != payment.RefundRequested {
		t.Fatalf("%+v, %v", refund, err)
	}
	w.checkout.ChargeBy(client)
	w.clock.Add(int64(16 * time.Minute))
	job, err := w.checkout.ExtendDeadlines(t.Context(), w.activity.ID, checkout.Extension{ID: "e", By: time.Hour, What: checkout.ExtendPayments, Reason: "r"}, operator("x"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := reconcile.NewCompensate(w.reconciler, reconcile.CompensateConfig{}).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := (reconcile.SweptPayments{Decided: 1, GivenUp: 1, Sent: 1, Finished: 1, Jobs: 1}); sum.Payments != want {
		t.Errorf("the pass says %+v, want %+v", sum.Payments, want)
	}
	if p, err := payment.Get(t.Context(), w.db, half.ID); err != nil || p.Disposition != payment.ToOrder {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := payment.Get(t.Context(), w.db, pending.ID); err != nil || p.Status != payment.Expired {
		t.Errorf("%+v, %v", p, err)
	}
	if j, err := reconcile.GetJob(t.Context(), w.db, job); err != nil || j.Status != "SUCCEEDED" {
		t.Errorf("%+v, %v", j, err)
	}
	if bank.Calls("r1") != 1 {
		t.Errorf("the refund was sent %d times", bank.Calls("r1"))
	}
}

// stuck is a provider that answers nothing about refunds for as long as it is listened to.
type stuck struct{ asked atomic.Int64 }

func (s *stuck) Begin(context.Context, payment.Charge) (payment.Action, error) {
	return payment.Action{}, nil
}

func (s *stuck) Refund(ctx context.Context, _ payment.RefundOrder) (payment.RefundState, error) {
	s.asked.Add(1)
	<-ctx.Done()
	return payment.RefundState{}, payment.ErrNoProvider
}

func (*stuck) List(context.Context, payment.Listing) (payment.ListPage, error) {
	return payment.ListPage{}, payment.ErrNoProvider
}

func TestProviderThatAnswersNothingKeepsNoOtherJobOfThePassWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	slow := &stuck{}
	w.checkout.ChargeBy(slow)
	for i := range 6 { // successes of orders that were paid otherwise: each is a surplus, which goes back
		o := w.buy(fmt.Sprint("u", i), "k", 1)
		_, p, err := w.checkout.PayByProvider(t.Context(), checkout.Paying{OrderID: o.ID, UserID: o.UserID, Key: "p"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.checkout.MarkPaid(t.Context(), o.ID, fmt.Sprint("m", i), operator("order.pay")); err != nil {
			t.Fatal(err)
		}
		_, err = w.db.ExecContext(t.Context(), `UPDATE payment SET status = 'SUCCEEDED', succeeded_at = ?, disposition = NULL WHERE payment_id = ?`,
			time.Now().UTC(), p.ID)
		if err != nil {
			t.Fatal(err)
		}
	}
	job, err := w.checkout.ExtendDeadlines(t.Context(), w.activity.ID, checkout.Extension{ID: "e", By: time.Hour, What: checkout.ExtendPayments, Reason: "r"}, operator("x"))
	if err != nil {
		t.Fatal(err)
	}
	w.advance(2 * time.Minute) // notices are late, and their sender has to be woken
	rung := false
	w.checkout.RingBy(func(context.Context) error { rung = true; return nil })
	pass := reconcile.NewCompensate(w.reconciler, reconcile.CompensateConfig{Budget: 12 * time.Second, Provider: 500 * time.Millisecond})
	sum, err := pass.Run(t.Context())
	if err != nil || slow.asked.Load() == 0 {
		t.Errorf("it was asked %d times, and the pass failed with %v", slow.asked.Load(), err)
	}
	if sum.Payments.Jobs != 1 || sum.RolledUp == 0 || !sum.Rung || !rung {
		t.Errorf("the other jobs: %+v, rolled up %d, rung %v", sum.Payments, sum.RolledUp, sum.Rung)
	}
	if j, err := reconcile.GetJob(t.Context(), w.db, job); err != nil || j.Status != "SUCCEEDED" {
		t.Errorf("%+v, %v", j, err)
	}
	// What the provider did not answer is not lost.
	if decided := w.count(`SELECT COUNT(*) FROM payment WHERE disposition IS NOT NULL`); decided == 0 || decided < sum.Payments.Decided {
		t.Errorf("%d are decided, the pass says %d", decided, sum.Payments.Decided)
	}
	if lost := w.count(`SELECT COUNT(*) FROM refund WHERE status NOT IN ('REQUESTED', 'SENT')`); lost != 0 {
		t.Errorf("%d refunds ended without an answer", lost)
	}
}

func TestPassWithoutTimeIsNoFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	if _, err := reconcile.NewCompensate(w.reconciler, reconcile.CompensateConfig{Budget: time.Nanosecond}).Run(t.Context()); err != nil {
		t.Errorf("the minute pass: %v", err)
	}
	if _, err := reconcile.NewReconcileStock(w.reconciler, reconcile.ReconcileConfig{Budget: time.Nanosecond}).Run(t.Context()); err != nil {
		t.Errorf("the full reconcile: %v", err)
	}
}

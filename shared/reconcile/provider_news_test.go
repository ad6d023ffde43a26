package reconcile_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	simulated "holdfast/infra/local/provider"
	"holdfast/shared/checkout"
	"holdfast/shared/edge/provider"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/reconcile"
	"holdfast/shared/reconcile/money"
	"holdfast/shared/sale"
)

// silent is a provider that does what it is asked for and never says so.
type silent struct {
	*simulated.Provider
	client *provider.Client
}

func (w *world) silentProvider() silent {
	now := func() time.Time { return time.Now().Add(time.Duration(w.clock.Load())) }
	bank := simulated.Start(simulated.Options{Key: []byte("key"), Now: now, Webhook: func() string { return "" }})
	front := httptest.NewServer(bank)
	w.t.Cleanup(func() {
		bank.Close()
		front.Close()
	})
	bank.Follow(simulated.Plan{Refunds: "PENDING"})
	s := silent{bank, provider.New(front.URL, func(context.Context) ([]byte, error) { return []byte("key"), nil }, now)}
	w.checkout.ChargeBy(s.client)
	return s
}

// daily runs a daily round, a little later than everything else, and gives the open differences with the provider by what they are about.
func (w *world) daily(s silent) map[string]reconcile.Difference {
	w.t.Helper()
	w.advance(12 * time.Minute)
	sum, err := money.Run(w.t.Context(), w.db, nil, money.Config{Provider: s.client})
	if err != nil || sum.Provider != "ASKED" {
		w.t.Fatalf("%+v, %v", sum, err)
	}
	out := make(map[string]reconcile.Difference)
	for _, d := range w.openDifferences() {
		if d.Kind == reconcile.ProviderDiffers {
			out[d.Subject] = d
		}
	}
	return out
}

func (w *world) begun(o order.Order) *payment.Payment {
	w.t.Helper()
	_, p, err := w.checkout.PayByProvider(w.t.Context(), checkout.Paying{OrderID: o.ID, UserID: o.UserID, Key: "p"})
	w.must(err)
	return p
}

func TestMoneyThatNobodyHeardOfIsTakenInByAPersonAsItsNewsWouldHaveBeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	bank := w.silentProvider()
	o := w.buy("u1", "k1", 1)
	p := w.begun(o)
	bank.Happen(p.ID, simulated.Event{Status: "SUCCEEDED"})
	found := w.daily(bank)
	d, is := found["payment "+p.ID]
	if len(found) != 1 || !is || d.Proposed != reconcile.ActLearn {
		t.Fatalf("%+v", found)
	}
	w.resolve(reconcile.ActLearn)
	if o := w.get(o.ID); o.Status != order.Paid || o.PaidBy != p.ID {
		t.Errorf("%+v", o)
	}
	news := checkout.PaymentNews{PaymentID: p.ID, Succeeded: true, Amount: p.Amount}
	w.must(w.checkout.LearnPayment(t.Context(), news)) // it comes after all
	if n := w.count("SELECT COUNT(*) FROM wallet_log WHERE type IN ('PAYMENT_RECEIVED', 'PAYMENT_APPLIED')"); n != 2 {
		t.Errorf("%d movements", n)
	}
	for range 2 { // its success is of a later time here than the provider lists it
		if found := w.daily(bank); len(found) > 0 {
			t.Errorf("open again: %+v", found)
		}
		w.advance(24 * time.Hour)
	}
	w.compensate()
	w.agree()
}

func TestMoneyThatIsTakenInTooLateGoesBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	bank := w.silentProvider()
	o := w.buy("u1", "k1", 1)
	p := w.begun(o)
	bank.Happen(p.ID, simulated.Event{Status: "SUCCEEDED"})
	w.cancel(o)
	w.daily(bank)
	w.resolve(reconcile.ActLearn)
	rows, err := payment.RefundsOf(t.Context(), w.db, []sale.OrderID{o.ID})
	if refunds := rows[o.ID]; err != nil || len(refunds) != 1 || !refunds[0].Surplus {
		t.Fatalf("%+v, %v", rows, err)
	}
	back := rows[o.ID][0].ID
	bank.EndRefund(back, "SUCCEEDED")
	found := w.daily(bank)
	if _, is := found["refund "+back]; !is || len(found) != 1 {
		t.Fatalf("%+v", found)
	}
	w.resolve(reconcile.ActLearn)
	if r, err := payment.GetRefund(t.Context(), w.db, back); err != nil || r.Status != payment.RefundSucceeded {
		t.Errorf("%+v, %v", r, err)
	}
	if found := w.daily(bank); len(found) > 0 {
		t.Errorf("open again: %+v", found)
	}
}

func TestOnlyLostNewsAreTakenIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	bank := w.silentProvider()
	p := w.begun(w.buy("u1", "k1", 1))
	bank.Happen(p.ID, simulated.Event{Status: "SUCCEEDED"})
	d := w.daily(bank)["payment "+p.ID]
	var e reconcile.ProviderEvidence
	w.must(json.Unmarshal(d.Evidence, &e))
	if !slices.Equal(e.Differs, []string{reconcile.NewsLost}) || !e.Provider.Listed || e.MySQL == nil || e.MySQL.Status != "PENDING" {
		t.Errorf("%s", d.Evidence)
	}
	more := p.Amount.Plus(p.Amount)
	for name, spoil := range map[string]func(e *reconcile.ProviderEvidence){
		"not listed": func(e *reconcile.ProviderEvidence) {
			e.Provider.Listed, e.Differs = false, []string{reconcile.NotListed}
		},
		"another amount":     func(e *reconcile.ProviderEvidence) { e.Provider.Amount = &more },
		"never asked for":    func(e *reconcile.ProviderEvidence) { e.Provider.PaymentID = "elsewhere" },
		"a refund of nobody": func(e *reconcile.ProviderEvidence) { e.Provider.PaymentID, e.Provider.RefundID = "", "elsewhere" },
		"something else":     func(e *reconcile.ProviderEvidence) { e.Differs = []string{reconcile.OtherCharge} },
	} {
		says := e
		spoil(&says)
		text, err := json.Marshal(says)
		w.must(err)
		w.exec(`UPDATE difference SET evidence = ? WHERE difference_id = ?`, string(text), d.ID)
		t.Log(name)
		w.refuses(d, reconcile.ActLearn, reconcile.ErrActionImpossible)
	}
	if got, err := payment.Get(t.Context(), w.db, p.ID); err != nil || got.Status != payment.Pending {
		t.Errorf("%+v, %v", got, err)
	}
}

package checkout_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	simulated "holdfast/infra/local/provider"
	"holdfast/shared/checkout"
	"holdfast/shared/edge/provider"
	"holdfast/shared/idempotency"
	"holdfast/shared/money"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
	"holdfast/shared/wallet"
)

// till is a world with a payment provider, whose notifications reach the checkout as its webhook would take them.
type till struct {
	*world
	provider *simulated.Provider
}

func newTill(t *testing.T, p plan) *till {
	t.Helper()
	w := &till{world: newWorld(t, p)}
	now := func() time.Time { return time.Now().Add(time.Duration(w.clock.Load())) }
	key := func(context.Context) ([]byte, error) { return []byte("a key of both"), nil }
	webhook := httptest.NewServer(http.HandlerFunc(w.hear))
	w.provider = simulated.Start(simulated.Options{Key: []byte("a key of both"), Now: now, Webhook: func() string { return webhook.URL }})
	front := httptest.NewServer(w.provider)
	t.Cleanup(func() {
		w.provider.Close()
		front.Close()
		webhook.Close()
	})
	w.provider.Follow(simulated.Plan{}) // charges stay pending until a test says otherwise
	w.checkout.ChargeBy(provider.New(front.URL, key, now))
	return w
}

// hear takes a notification of the provider.
func (w *till) hear(out http.ResponseWriter, r *http.Request) {
	var says struct {
		PaymentID, RefundID, Status, Reference, Failure string
		Amount                                          money.Amount
	}
	err := json.NewDecoder(r.Body).Decode(&says)
	if err == nil && says.RefundID != "" {
		state := payment.RefundState{Status: payment.RefundStatus(says.Status), Failure: says.Failure}
		err = w.checkout.LearnRefund(r.Context(), checkout.RefundNews{RefundID: says.RefundID, State: state, Amount: says.Amount})
	} else if err == nil {
		err = w.checkout.LearnPayment(r.Context(), checkout.PaymentNews{PaymentID: says.PaymentID, Succeeded: says.Status == "SUCCEEDED",
			Failure: says.Failure, Amount: says.Amount, Reference: says.Reference})
	}
	if err != nil {
		out.WriteHeader(http.StatusInternalServerError)
		return
	}
	out.WriteHeader(http.StatusNoContent)
}

func (w *till) topUp(user, amount string) {
	w.t.Helper()
	w.run(func(ctx context.Context, tx *sql.Tx) error {
		return wallet.Apply(ctx, tx, []wallet.Movement{{Type: wallet.TopUp, Reference: "top-up " + user + amount, UserID: user, Amount: yuan(amount)}}, time.Now())
	})
}

func (w *till) run(f func(ctx context.Context, tx *sql.Tx) error) {
	w.t.Helper()
	if err := w.db.Run(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
}

func (w *till) available(user string) string {
	w.t.Helper()
	b, err := wallet.Get(w.t.Context(), w.db, wallet.Key{UserID: user, Currency: "CNY"})
	if err != nil {
		w.t.Fatal(err)
	}
	return b.Available.String()
}

func (w *till) account(name string) string {
	w.t.Helper()
	a, err := wallet.AccountBalance(w.t.Context(), w.db, name, "CNY")
	if err != nil {
		w.t.Fatal(err)
	}
	return a.String()
}

// paying is the wish to pay an order, with a key that is kept.
func paying(o order.Order, key string) checkout.Paying {
	return checkout.Paying{OrderID: o.ID, UserID: o.UserID, Key: key, Wish: &checkout.Wish{
		Key:  idempotency.Key{User: o.UserID, Route: "pay " + o.ID.String(), Key: key},
		Hash: idempotency.Hash([]byte(o.ID.String())),
		Answer: func(_ context.Context, _ *sql.Tx, o *order.Order, _ time.Time) (idempotency.Answer, error) {
			return idempotency.Answer{Status: 200, Body: []byte(o.Status)}, nil
		}}}
}

// begin opens a payment by the provider.
func (w *till) begin(o order.Order, key string) *payment.Payment {
	w.t.Helper()
	_, p, err := w.checkout.PayByProvider(w.t.Context(), paying(o, key))
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// tell gives the news of a success, as the webhook does.
func (w *till) tell(p *payment.Payment) error {
	w.provider.Happen(p.ID, simulated.Event{Status: "SUCCEEDED"})
	return w.checkout.LearnPayment(w.t.Context(), checkout.PaymentNews{PaymentID: p.ID, Succeeded: true, Amount: p.Amount, Reference: p.Action.Reference})
}

func (w *till) mustTell(p *payment.Payment) {
	w.t.Helper()
	if err := w.tell(p); err != nil {
		w.t.Fatal(err)
	}
}

func (w *till) payment(id string) payment.Payment {
	w.t.Helper()
	p, err := payment.Get(w.t.Context(), w.db, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return *p
}

// refunds are those of an order.
func (w *till) refunds(id sale.OrderID) []payment.Refund {
	w.t.Helper()
	all, err := payment.RefundsOf(w.t.Context(), w.db, []sale.OrderID{id})
	if err != nil {
		w.t.Fatal(err)
	}
	return all[id]
}

// until waits for what the provider brings about by itself.
func (w *till) until(what string, is func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("it never came that %s", what)
		}
	}
}

// expire moves the clock past the deadlines and cancels what is overdue.
func (w *till) expire() {
	w.t.Helper()
	w.clock.Add(int64(16 * time.Minute))
	for {
		n, _, err := w.checkout.Expire(w.t.Context(), 100)
		if err != nil {
			w.t.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

// balanced checks that every cent is accounted for, and that both stores agree on every unit.
func (w *till) balanced() {
	w.t.Helper()
	w.until("the provider's news are heard", func() bool {
		_, err := w.checkout.SendRefunds(w.t.Context(), 100)
		return err == nil && w.count("SELECT COUNT(*) FROM payment WHERE disposition IS NULL AND status = 'SUCCEEDED'") == 0
	})
	sum := func(query string) string {
		w.t.Helper()
		var d decimal.Decimal
		if err := w.db.QueryRowContext(w.t.Context(), query).Scan(&d); err != nil {
			w.t.Fatalf("%s: %v", query, err)
		}
		return d.StringFixed(2)
	}
	for what, pair := range map[string][2]string{
		"HOUSE and what orders have paid and not got back": {w.account(wallet.House),
			sum("SELECT COALESCE(SUM(paid - refunded), 0) FROM trade_order WHERE mode = 'LIVE'")},
		"SUSPENSE and failed refunds": {w.account(wallet.Suspense), sum("SELECT COALESCE(SUM(amount), 0) FROM refund WHERE status = 'FAILED'")},
		"all accounts together and nothing": {sum(`SELECT (SELECT COALESCE(SUM(available + frozen), 0) FROM wallet)
 + (SELECT COALESCE(SUM(amount), 0) FROM account_inbox) + (SELECT COALESCE(SUM(balance), 0) FROM account)`), "0.00"},
		"wallets and their entries": {sum("SELECT COALESCE(SUM(available + frozen), 0) FROM wallet"), sum(`SELECT
 COALESCE(SUM(CASE WHEN to_account IN ('AVAIL', 'FROZEN') THEN amount ELSE 0 END), 0)
 - COALESCE(SUM(CASE WHEN from_account IN ('AVAIL', 'FROZEN') THEN amount ELSE 0 END), 0) FROM wallet_log`)},
		"PROVIDER and what the provider holds, less what it has not answered": {yuan(w.account(wallet.Provider)).Negated().String(),
			w.provider.Held("CNY").Minus(yuan(sum(`SELECT COALESCE(SUM(r.amount), 0) FROM refund r JOIN trade_order o ON o.id = r.order_id
 WHERE r.target = 'PROVIDER' AND r.status IN ('REQUESTED', 'SENT') AND o.mode = 'LIVE'`))).String()},
	} {
		if pair[0] != pair[1] {
			w.t.Errorf("%s: %s and %s", what, pair[0], pair[1])
		}
	}
	w.agree()
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
}

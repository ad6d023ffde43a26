package api

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/shopspring/decimal"

	simulated "holdfast/infra/local/provider"
	"holdfast/shared/edge/provider"
	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/wallet"
)

const webhookKey = "a key of both"

// payWorld is a world where buyers can pay.
type payWorld struct {
	*world
	a        *sale.Activity
	pay      lambda.Handler
	get      lambda.Handler
	notify   lambda.Handler
	provider *simulated.Provider
}

func newPayWorld(t *testing.T) *payWorld {
	t.Helper()
	w := &payWorld{world: newWorld(t)}
	w.a = w.sale()
	key := func(context.Context) ([]byte, error) { return []byte(webhookKey), nil }
	w.d.WebhookSecret = key
	w.notify, w.pay, w.get = NewNotifyPayment(w.d), NewPayOrder(w.d), NewGetOrder(w.d)
	webhook := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		var body json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&body)
		out.WriteHeader(w.news(string(body), r.Header.Get(provider.TimestampHeader), r.Header.Get(provider.SignatureHeader)).status)
	}))
	w.provider = simulated.Start(simulated.Options{Key: []byte(webhookKey), Now: time.Now, Webhook: func() string { return webhook.URL }})
	front := httptest.NewServer(w.provider)
	t.Cleanup(func() {
		w.provider.Close()
		front.Close()
		webhook.Close()
	})
	w.provider.Follow(simulated.Plan{})
	w.d.Checkout.ChargeBy(provider.New(front.URL, key, time.Now))
	return w
}

// news calls the webhook.
func (w *payWorld) news(body, timestamp, signature string) answer {
	return w.call(w.notify, ask{method: "POST", path: "/v1/payments/notifications", body: body,
		header: map[string]string{provider.TimestampHeader: timestamp, provider.SignatureHeader: signature}})
}

func (w *payWorld) signedNews(body string, at time.Time) answer {
	timestamp, signature := provider.Sign([]byte(webhookKey), []byte(body), at)
	return w.news(body, timestamp, signature)
}

// order buys two for 25.00.
func (w *payWorld) order(user, key string) string {
	w.t.Helper()
	got := w.call(NewReserveTicket(w.d), wish(w.a, user, key, two))
	if got.status != 202 {
		w.t.Fatal(got.text)
	}
	w.consume()
	return got.str("orderId")
}

func (w *payWorld) topUp(user, amount string) {
	w.t.Helper()
	err := w.d.DB.Run(w.t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return wallet.Apply(ctx, tx, []wallet.Movement{{Type: wallet.TopUp, Reference: user + amount, UserID: user,
			Amount: money.Of(decimal.RequireFromString(amount), "CNY")}}, time.Now())
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func payFor(user, key, id, body string) ask {
	return ask{user: user, key: key, body: body, method: "POST", path: "/v1/orders/" + id + "/payment", params: map[string]string{"orderId": id}}
}

const byWallet, byProvider = `{"method":"WALLET"}`, `{"method":"PROVIDER","returnUrl":"https://shop.example/back"}`

func paymentOf(a answer) map[string]any {
	p, _ := a.body["payment"].(map[string]any)
	return p
}

func TestWalletPaysAnOrderAndItsKeyAnswersTheSameAgain(t *testing.T) {
	t.Parallel()
	w := newPayWorld(t)
	id := w.order("u1", "k1")
	w.expect(w.call(w.pay, payFor("u1", "p1", id, byWallet)), 402, "INSUFFICIENT_BALANCE")
	w.topUp("u1", "30.00")
	first := w.call(w.pay, payFor("u1", "p1", id, byWallet))
	w.expect(first, 200, "")
	if first.str("status") != "PAID" || paymentOf(first)["status"] != "SUCCEEDED" || paymentOf(first)["method"] != "WALLET" {
		t.Fatal(first.text)
	}
	again := w.call(w.pay, payFor("u1", "p1", id, byWallet))
	var kept, told map[string]any
	if json.Unmarshal([]byte(first.text), &told) != nil || json.Unmarshal([]byte(again.text), &kept) != nil || again.header["Idempotency-Replayed"] != "true" {
		t.Fatal(again.text)
	}
	if delete(kept, "now"); kept["revision"] != told["revision"] || kept["status"] != "PAID" {
		t.Fatalf("first %s\nagain %s", first.text, again.text)
	}
	w.expect(w.call(w.pay, payFor("u1", "p1", id, `{"method":"PROVIDER"}`)), 422, "IDEMPOTENCY_KEY_REUSED")
	w.expect(w.call(w.pay, payFor("u1", "p2", id, byWallet)), 409, "ORDER_NOT_PAYABLE")
	if got := w.call(w.get, seek("u1", id)); got.str("status") != "PAID" || paymentOf(got)["status"] != "SUCCEEDED" {
		t.Fatal(got.text)
	}
}

func TestPaymentsThatCannotBeAreClearRefusals(t *testing.T) {
	t.Parallel()
	w := newPayWorld(t)
	id, other := w.order("u1", "k1"), w.order("u2", "k2")
	for name, c := range map[string]struct {
		q      ask
		status int
		code   string
	}{
		"another's order":       {payFor("u1", "p", other, byWallet), 404, "ORDER_NOT_FOUND"},
		"no such order":         {payFor("u1", "p", "0190a3c2-9b40-8a31-9d02-5c7e1f6a0b94", byWallet), 404, "ORDER_NOT_FOUND"},
		"no id":                 {payFor("u1", "p", "x", byWallet), 404, "ORDER_NOT_FOUND"},
		"no key":                {payFor("u1", "", id, byWallet), 400, "IDEMPOTENCY_KEY_MISSING"},
		"nobody":                {payFor("", "p", id, byWallet), 401, "UNAUTHENTICATED"},
		"no method":             {payFor("u1", "p", id, `{}`), 400, "VALIDATION_FAILED"},
		"a method of one's own": {payFor("u1", "p", id, `{"method":"CASH"}`), 422, "VALIDATION_FAILED"},
		"an address of scripts": {payFor("u1", "p", id, `{"method":"PROVIDER","returnUrl":"javascript:alert(1)"}`), 422, "VALIDATION_FAILED"},
		"an address for wallet": {payFor("u1", "p", id, `{"method":"WALLET","returnUrl":"https://a.example/"}`), 422, "VALIDATION_FAILED"},
		"an unknown field":      {payFor("u1", "p", id, `{"method":"WALLET","amount":"1"}`), 400, "VALIDATION_FAILED"},
	} {
		t.Run(name, func(t *testing.T) {
			inner := *w.world
			inner.t = t
			inner.expect(w.call(w.pay, c.q), c.status, c.code)
		})
	}
	waiting := w.call(NewReserveTicket(w.d), wish(w.a, "u1", "k3", one)).str("orderId") // no row yet
	w.expect(w.call(w.pay, payFor("u1", "p", waiting, byWallet)), 409, "ORDER_NOT_PAYABLE")
	w.expect(w.call(w.pay, payFor("u2", "p", waiting, byWallet)), 404, "ORDER_NOT_FOUND")
}

func TestProviderIsAskedOnceAndTheOrderIsPaidByItsNews(t *testing.T) {
	t.Parallel()
	w := newPayWorld(t)
	w.topUp("u1", "30.00")
	id := w.order("u1", "k1")
	first := w.call(w.pay, payFor("u1", "p1", id, byProvider))
	w.expect(first, 202, "")
	action, _ := paymentOf(first)["action"].(map[string]any)
	if first.str("status") != "UNPAID" || paymentOf(first)["status"] != "PENDING" || action["type"] != "REDIRECT" || first.body["pollAfterMs"] == nil {
		t.Fatal(first.text)
	}
	w.expect(w.call(w.pay, payFor("u1", "p2", id, byWallet)), 409, "PAYMENT_PENDING")
	again := w.call(w.pay, payFor("u1", "p1", id, byProvider))
	if w.expect(again, 202, ""); again.header["Idempotency-Replayed"] != "true" || paymentOf(again)["paymentId"] != paymentOf(first)["paymentId"] {
		t.Fatal(again.text)
	}
	w.provider.Happen(paymentOf(first)["paymentId"].(string), simulated.Event{Status: "SUCCEEDED", Times: 3})
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		got := w.call(w.get, seek("u1", id))
		if got.str("status") == "PAID" && paymentOf(got)["status"] == "SUCCEEDED" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(got.text)
		}
	}
	w.expect(w.call(w.pay, payFor("u1", "p1", id, byProvider)), 200, "")
}

func TestWebhookTakesOnlyWhatTheProviderSignedLately(t *testing.T) {
	t.Parallel()
	w := newPayWorld(t)
	id := w.order("u1", "k1")
	paymentID := paymentOf(w.call(w.pay, payFor("u1", "p1", id, byProvider)))["paymentId"].(string)
	body := fmt.Sprintf(`{"paymentId":%q,"status":"SUCCEEDED","amount":{"amount":"25.00","currency":"CNY"},"reference":"ch"}`, paymentID)
	timestamp, signature := provider.Sign([]byte(webhookKey), []byte(body), time.Now())
	_, foreign := provider.Sign([]byte("another key"), []byte(body), time.Now())
	_, empty := provider.Sign(nil, []byte(body), time.Now())
	for name, got := range map[string]answer{
		"no signature":           w.news(body, timestamp, ""),
		"no timestamp":           w.news(body, "", signature),
		"another timestamp":      w.news(body, strconv.FormatInt(time.Now().Unix()+1, 10), signature),
		"another body":           w.news(strings.Replace(body, "25.00", "26.00", 1), timestamp, signature),
		"another key":            w.news(body, timestamp, foreign),
		"no key":                 w.news(body, timestamp, empty),
		"signed six minutes ago": w.signedNews(body, time.Now().Add(-6*time.Minute)),
		"signed in six minutes":  w.signedNews(body, time.Now().Add(6*time.Minute)),
	} {
		if got.status != 401 || got.str("code") != "UNAUTHENTICATED" {
			t.Errorf("%s: %d %s", name, got.status, got.text)
		}
	}
	w.expect(w.signedNews(strings.Replace(body, paymentID, "pay_nobody", 1), time.Now()), 404, "PAYMENT_NOT_FOUND")
	w.expect(w.signedNews(strings.Replace(body, "25.00", "25.01", 1), time.Now()), 409, "AMOUNT_DIFFERS")
	w.expect(w.signedNews(strings.Replace(body, "CNY", "EUR", 1), time.Now()), 409, "AMOUNT_DIFFERS")
	w.expect(w.signedNews(strings.Replace(body, `"25.00"`, `"25.001"`, 1), time.Now()), 422, "VALIDATION_FAILED")
	w.expect(w.signedNews(strings.Replace(body, "SUCCEEDED", "MAYBE", 1), time.Now()), 422, "VALIDATION_FAILED")
	w.expect(w.signedNews(`{"status":"SUCCEEDED","amount":{"amount":"25.00","currency":"CNY"}}`, time.Now()), 422, "VALIDATION_FAILED")
	if got := w.call(w.get, seek("u1", id)); got.str("status") != "UNPAID" || w.rows("wallet_log") != 0 {
		t.Fatal(got.text)
	}
	for range 3 {
		if got := w.signedNews(body, time.Now()); got.status != 204 || got.text != "" {
			t.Fatalf("%d %s", got.status, got.text)
		}
	}
	if got := w.call(w.get, seek("u1", id)); got.str("status") != "PAID" || w.rows("wallet_log") != 2 {
		t.Fatalf("%s, %d movements", got.text, w.rows("wallet_log"))
	}
	without := w.d
	without.WebhookSecret = nil
	if got := w.call(NewNotifyPayment(without), ask{method: "POST", path: "/v1/payments/notifications", body: body,
		header: map[string]string{provider.TimestampHeader: timestamp, provider.SignatureHeader: signature}}); got.status != 401 {
		t.Errorf("without a key of ours: %d %s", got.status, got.text)
	}
}

func TestProviderThatIsAwayLeavesThePaymentToTheSameKey(t *testing.T) {
	t.Parallel()
	w := newPayWorld(t)
	id := w.order("u1", "k1")
	w.provider.Follow(simulated.Plan{LoseAnswers: 1})
	w.expect(w.call(w.pay, payFor("u1", "p1", id, byProvider)), 503, "PROVIDER_UNAVAILABLE")
	w.expect(w.call(w.pay, payFor("u1", "p1", id, byProvider)), 202, "")
	w.d.Checkout.ChargeBy(nil)
	w.expect(w.call(w.pay, payFor("u2", "p1", w.order("u2", "k2"), byProvider)), 503, "PROVIDER_UNAVAILABLE")
}

package provider_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	simulated "holdfast/infra/local/provider"
	"holdfast/shared/edge/provider"
	"holdfast/shared/money"
	"holdfast/shared/payment"
)

// bench is a provider under a clock of the test, with a webhook that keeps what it hears.
type bench struct {
	*simulated.Provider
	client *provider.Client
	url    string
	clock  atomic.Int64
	mu     sync.Mutex
	heard  []string
	refuse atomic.Int32 // so many notifications are answered 500
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{}
	now := func() time.Time { return time.Now().Add(time.Duration(b.clock.Load())) }
	webhook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if provider.CheckSignature([]byte("k"), body, r.Header.Get(provider.TimestampHeader), r.Header.Get(provider.SignatureHeader)) != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if b.refuse.Add(-1) >= 0 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		status := "FAILED"
		if strings.Contains(string(body), "SUCCEEDED") {
			status = "SUCCEEDED"
		}
		b.heard = append(b.heard, status)
		w.WriteHeader(http.StatusNoContent)
	}))
	b.Provider = simulated.Start(simulated.Options{Key: []byte("k"), Now: now, Webhook: func() string { return webhook.URL }})
	front := httptest.NewServer(b.Provider)
	b.url = front.URL
	b.client = provider.New(front.URL, func(context.Context) ([]byte, error) { return []byte("k"), nil }, now)
	t.Cleanup(func() {
		b.Close()
		front.Close()
		webhook.Close()
	})
	return b
}

func (b *bench) hears(t *testing.T, want ...string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		b.mu.Lock()
		heard := slices.Clone(b.heard)
		b.mu.Unlock()
		if slices.Equal(heard, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("heard %q, want %q", heard, want)
		}
	}
}

func (b *bench) steer(t *testing.T, path, body string, status int) {
	t.Helper()
	response, err := http.Post(b.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); response.StatusCode != status {
		t.Fatalf("%s: %d %s", path, response.StatusCode, text)
	}
}

func yuan(cents int64) money.Amount { return money.Of(decimal.New(cents, -2), "CNY") }

func (b *bench) begin(t *testing.T, id string) {
	t.Helper()
	if _, err := b.client.Begin(t.Context(), payment.Charge{PaymentID: id, Amount: yuan(2500)}); err != nil {
		t.Fatal(err)
	}
}

func TestEventsHappenInTheirOrderByTheMovableClockAndAsOftenAsWished(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.steer(t, "/plan", `{"events":[{"status":"FAILED","after":"0s"},{"status":"SUCCEEDED","after":"20m","times":2}]}`, 200)
	b.begin(t, "p1")
	b.begin(t, "p1") // the same charge
	b.hears(t, "FAILED")
	if held := b.Held("CNY").String(); held != "0.00" {
		t.Fatalf("%s are held before the success", held)
	}
	b.clock.Add(int64(20 * time.Minute))
	b.hears(t, "FAILED", "SUCCEEDED", "SUCCEEDED")
	if held := b.Held("CNY").String(); held != "25.00" {
		t.Fatalf("%s are held", held)
	}
	b.steer(t, "/charges/p1", `{"events":[{"status":"FAILED"}]}`, 200)
	b.hears(t, "FAILED", "SUCCEEDED", "SUCCEEDED", "FAILED")
	b.steer(t, "/charges/p2", `{"events":[{"status":"FAILED"}]}`, 404)
	b.steer(t, "/plan", `{"events":[{"status":"MAYBE"}]}`, 400)
	b.steer(t, "/plan", `{"colour":"red"}`, 400)
}

func TestNotificationIsSentAgainUntilItIsHeard(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.refuse.Store(2)
	b.steer(t, "/plan", `{"events":[{"status":"SUCCEEDED"}]}`, 200)
	b.begin(t, "p1")
	for range 2 {
		time.Sleep(50 * time.Millisecond)
		b.clock.Add(int64(2 * time.Second))
	}
	b.hears(t, "SUCCEEDED")
}

func TestRefundsAreGivenOnceUpToTheCharge(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.begin(t, "p1")
	refund := func(id string, cents int64) (payment.RefundState, error) {
		return b.client.Refund(t.Context(), payment.RefundOrder{RefundID: id, PaymentID: "p1", Amount: yuan(cents)})
	}
	if _, err := refund("r0", 1); err == nil {
		t.Fatal("money that never came went back")
	}
	b.steer(t, "/charges/p1", `{"events":[{"status":"SUCCEEDED"}]}`, 200)
	for range 3 {
		if state, err := refund("r1", 2000); err != nil || state.Status != payment.RefundSucceeded {
			t.Fatalf("%+v, %v", state, err)
		}
	}
	if _, err := refund("r2", 501); err == nil {
		t.Fatal("more went back than came")
	}
	if b.Calls("r1") != 3 || b.Held("CNY").String() != "5.00" {
		t.Errorf("%d calls, %s held", b.Calls("r1"), b.Held("CNY"))
	}
}

package provider_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/edge/provider"
	"holdfast/shared/money"
	"holdfast/shared/payment"
)

func key(context.Context) ([]byte, error) { return []byte("secret"), nil }

var charge = payment.Charge{PaymentID: "pay_1", Amount: money.Of(decimal.New(2500, -2), "CNY")}

func TestAnswersAreTakenForWhatTheyMean(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		want   error
	}{
		"opened":               {200, `{"reference":"ch","action":{"type":"REDIRECT","url":"https://a.example/"}}`, nil},
		"made":                 {201, `{"reference":"ch","action":{"type":"SDK","clientToken":"t"}}`, nil},
		"refused":              {422, `{}`, payment.ErrRefused},
		"unknown":              {404, `{}`, payment.ErrRefused},
		"too many":             {429, `{}`, payment.ErrNoProvider},
		"our key is not taken": {401, `{}`, payment.ErrNoProvider},
		"broken":               {500, `{}`, payment.ErrNoProvider},
		"elsewhere":            {302, ``, payment.ErrNoProvider},
		"no JSON":              {200, `<html>`, payment.ErrNoProvider},
		"nothing in it":        {200, `{}`, payment.ErrNoProvider},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				calls++
				w.Header().Set("Location", "https://elsewhere.example/")
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer server.Close()
			action, err := provider.New(server.URL+"/", key, time.Now).Begin(t.Context(), charge)
			if !errors.Is(err, c.want) || c.want == nil && (err != nil || action.Reference != "ch") {
				t.Fatalf("%+v, %v", action, err)
			}
			if calls != 1 {
				t.Errorf("%d calls", calls)
			}
			if err != nil && strings.Contains(err.Error(), server.URL) {
				t.Errorf("the error names the address: %v", err)
			}
		})
	}
}

func TestProviderThatHangsIsGivenUpInTime(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := provider.New(server.URL, key, time.Now).Begin(ctx, charge); !errors.Is(err, payment.ErrNoProvider) {
		t.Fatalf("got %v", err)
	}
}

func TestSignatureIsOfTimestampAndBodyUnderTheKey(t *testing.T) {
	t.Parallel()
	now := time.Unix(1794398409, 0)
	timestamp, signature := provider.Sign([]byte("secret"), []byte("body"), now)
	// openssl: printf '1794398409.body' | openssl dgst -sha256 -hmac secret
	if timestamp != "1794398409" || signature != "fea298ac4d94b1d592e1bf83e17ae11066366f616b4e0441b05ad066985c9345" {
		t.Errorf("%s %s", timestamp, signature)
	}
	if err := provider.CheckSignature([]byte("secret"), []byte("body"), timestamp, signature); err != nil {
		t.Error(err)
	}
	for _, bad := range []error{
		provider.CheckSignature([]byte("secret2"), []byte("body"), timestamp, signature),
		provider.CheckSignature([]byte("secret"), []byte("body2"), timestamp, signature),
		provider.CheckSignature([]byte("secret"), []byte("body"), "1794398410", signature),
		provider.CheckSignature([]byte("secret"), []byte("body"), timestamp, signature[:62]),
		provider.CheckSignature([]byte("secret"), []byte("body"), timestamp, ""),
		provider.CheckSignature(nil, []byte("body"), timestamp, signature),
	} {
		if !errors.Is(bad, provider.ErrBadSignature) {
			t.Errorf("got %v", bad)
		}
	}
	for apart, want := range map[time.Duration]error{provider.Tolerance: nil, -provider.Tolerance: nil,
		provider.Tolerance + time.Second: provider.ErrStale, -provider.Tolerance - time.Second: provider.ErrStale} {
		if err := provider.CheckAge(timestamp, now.Add(apart)); !errors.Is(err, want) {
			t.Errorf("%v apart: %v", apart, err)
		}
	}
}

func TestFailuresBecomeCodes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": "FAILED", "card-declined": "CARD_DECLINED", "过期": "FAILED", strings.Repeat("a", 99): strings.Repeat("A", 64)} {
		if got := provider.Code(in); got != want {
			t.Errorf("%q: %s", in, got)
		}
	}
}

package provider_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"holdfast/shared/edge/provider"
	"holdfast/shared/payment"
)

var interval = payment.Listing{From: time.Date(2031, 5, 17, 10, 0, 0, 0, time.UTC), To: time.Date(2031, 5, 17, 11, 0, 0, 0, time.UTC),
	After: "7", Limit: 2}

// listing is a server that answers one body to the list of an interval.
func listing(t *testing.T, status int, body string) *provider.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, _ := io.ReadAll(r.Body)
		if provider.CheckSignature([]byte("secret"), asked, r.Header.Get(provider.TimestampHeader), r.Header.Get(provider.SignatureHeader)) != nil {
			t.Error("the call is not signed")
		}
		want := `{"from":"2031-05-17T10:00:00Z","to":"2031-05-17T11:00:00Z","after":"7","limit":2}`
		if r.Method != http.MethodPost || r.URL.Path != "/list" || !json.Valid(asked) || string(asked) != want {
			t.Errorf("%s %s %s", r.Method, r.URL.Path, asked)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return provider.New(server.URL, key, time.Now)
}

func TestListIsReadPageByPage(t *testing.T) {
	t.Parallel()
	page, err := listing(t, 200, `{"entries":[{"paymentId":"p","amount":{"amount":"25.00","currency":"CNY"},"at":"2031-05-17T12:00:00.0007+02:00","reference":"ch"},
 {"refundId":"r","amount":{"amount":"5.00","currency":"CNY"},"at":"2031-05-17T10:59:59.999Z"}],"next":"9"}`).List(t.Context(), interval)
	if err != nil || page.Next != "9" || len(page.Successes) != 2 {
		t.Fatalf("%+v, %v", page, err)
	}
	p, r := page.Successes[0], page.Successes[1]
	if p.PaymentID != "p" || p.RefundID != "" || p.Amount.String() != "25.00" || !p.At.Equal(interval.From) || p.Reference != "ch" {
		t.Errorf("%+v", p)
	}
	if r.PaymentID != "" || r.RefundID != "r" || !r.At.Equal(interval.To.Add(-time.Millisecond)) {
		t.Errorf("%+v", r)
	}
	if page, err := listing(t, 200, `{"entries":[]}`).List(t.Context(), interval); err != nil || page.Next != "" || len(page.Successes) != 0 {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestListThatBreaksAPromiseIsNoAnswer(t *testing.T) {
	t.Parallel()
	one := `{"paymentId":"p","amount":{"amount":"25.00","currency":"CNY"},"at":"2031-05-17T10:30:00Z"}`
	later := strings.ReplaceAll(one, "10:30", "10:40")
	for name, c := range map[string]struct {
		status int
		body   string
		want   error
	}{
		"refused":            {404, `{}`, payment.ErrRefused},
		"broken":             {500, `{}`, payment.ErrNoProvider},
		"no JSON":            {200, `<html>`, payment.ErrNoProvider},
		"backwards":          {200, `{"entries":[` + later + `,` + one + `]}`, payment.ErrNoProvider},
		"before the start":   {200, `{"entries":[` + strings.ReplaceAll(one, "10:30", "09:59") + `]}`, payment.ErrNoProvider},
		"at the end":         {200, `{"entries":[` + strings.ReplaceAll(one, "10:30", "11:00") + `]}`, payment.ErrNoProvider},
		"more than asked":    {200, `{"entries":[` + one + `,` + one + `,` + one + `]}`, payment.ErrNoProvider},
		"empty, and more":    {200, `{"entries":[],"next":"9"}`, payment.ErrNoProvider},
		"the same page":      {200, `{"entries":[` + one + `],"next":"7"}`, payment.ErrNoProvider},
		"of nothing":         {200, `{"entries":[` + strings.ReplaceAll(one, `"paymentId":"p",`, "") + `]}`, payment.ErrNoProvider},
		"of two things":      {200, `{"entries":[` + strings.ReplaceAll(one, `{"paymentId"`, `{"refundId":"r","paymentId"`) + `]}`, payment.ErrNoProvider},
		"no money":           {200, `{"entries":[` + strings.ReplaceAll(one, "25.00", "0.00") + `]}`, payment.ErrNoProvider},
		"no currency":        {200, `{"entries":[{"paymentId":"p","at":"2031-05-17T10:30:00Z"}]}`, payment.ErrNoProvider},
		"an id without end":  {200, `{"entries":[` + strings.ReplaceAll(one, `"p"`, `"`+strings.Repeat("p", 192)+`"`) + `]}`, payment.ErrNoProvider},
		"an answer too long": {200, `{"entries":[` + one + `],"next":"` + strings.Repeat("n", 2<<20) + `"}`, payment.ErrNoProvider},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if page, err := listing(t, c.status, c.body).List(t.Context(), interval); !errors.Is(err, c.want) {
				t.Errorf("%+v, %v", page, err)
			}
		})
	}
}

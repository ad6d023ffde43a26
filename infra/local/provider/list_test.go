package provider_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"holdfast/shared/payment"
)

// listed gives the ids of everything that the provider lists of an interval, in pages of two.
func (b *bench) listed(t *testing.T, from, to time.Time) (ids []string) {
	t.Helper()
	w := payment.Listing{From: from, To: to, Limit: 2}
	for {
		page, err := b.client.List(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Successes {
			ids = append(ids, s.PaymentID+s.RefundID)
		}
		if w.After = page.Next; w.After == "" {
			return ids
		}
	}
}

func TestTheListHasWhatSucceededWhenItDid(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	began := time.Now().Add(-time.Minute)
	b.steer(t, "/plan", `{"events":[],"refunds":"PENDING"}`, 200)
	for _, id := range []string{"p1", "p2", "p3", "p4"} {
		b.begin(t, id)
	}
	for _, id := range []string{"p1", "p2"} {
		b.steer(t, "/charges/"+id, `{"events":[{"status":"SUCCEEDED"}]}`, 200)
	}
	b.steer(t, "/charges/p3", `{"events":[{"status":"FAILED"}]}`, 200)
	b.clock.Add(int64(time.Hour))
	b.steer(t, "/charges/p4", `{"events":[{"status":"SUCCEEDED"}]}`, 200)
	for _, id := range []string{"r1", "r2", "r3"} {
		if _, err := b.client.Refund(t.Context(), payment.RefundOrder{RefundID: id, PaymentID: "p1", Amount: yuan(500)}); err != nil {
			t.Fatal(err)
		}
	}
	b.steer(t, "/refunds/r1", `{"status":"FAILED"}`, 200)
	b.clock.Add(int64(time.Hour))
	b.steer(t, "/refunds/r2", `{"status":"SUCCEEDED"}`, 200)
	end := began.Add(24 * time.Hour)
	same := func(got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Fatalf("lists %q, want %q", got, want)
		}
	}
	same(b.listed(t, began, end), "p1", "p2", "p4", "r2")
	same(b.listed(t, began.Add(time.Hour), end), "p4", "r2")
	same(b.listed(t, began, began.Add(time.Hour)), "p1", "p2")
	page, err := b.client.List(t.Context(), payment.Listing{From: began, To: end, Limit: 500})
	if err != nil || len(page.Successes) != 4 {
		t.Fatalf("%+v, %v", page, err)
	}
	r := page.Successes[3]
	same(b.listed(t, r.At, r.At.Add(time.Millisecond)), "r2") // in the interval that begins with its instant, not in the one that ends with it
	same(b.listed(t, page.Successes[2].At.Add(time.Millisecond), r.At))
	if _, err := b.client.List(t.Context(), payment.Listing{From: began, To: end, Limit: 501}); !errors.Is(err, payment.ErrRefused) {
		t.Errorf("a page of 501: %v", err)
	}
}

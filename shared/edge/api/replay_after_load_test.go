package api

import (
	"testing"

	"holdfast/shared/checkout"
	"holdfast/shared/sale"
)

// After a load the log knows of a dead order no more than its id and its buyer. Its key still names one wish.
func TestReplayOfADeadOrderWithAnotherBodyIsRefusedAfterALoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale(func(a *sale.Activity) {
		other := a.TicketTypes[0]
		other.ID = "OTHER"
		a.TicketTypes = append(a.TicketTypes, other)
	})
	h := NewReserveTicket(w.d)
	first := w.call(h, wish(a, "u1", "k1", two))
	w.expect(first, 202, "")
	w.consume()
	w.expect(w.call(NewCancelOrder(w.d), cancellation("u1", "c1", first.str("orderId"))), 200, "")
	for _, when := range []string{"before", "after"} {
		for _, body := range []string{one, `{"ticketType":"OTHER","quantity":2}`} {
			if got := w.call(h, wish(a, "u1", "k1", body)); got.status != 422 || got.str("code") != "IDEMPOTENCY_KEY_REUSED" {
				t.Errorf("%s a load, %s: %d %s", when, body, got.status, got.text)
			}
		}
		got := w.call(h, wish(a, "u1", "k1", two))
		if got.status != 202 || got.str("status") != "CANCELLED" || got.header["Idempotency-Replayed"] != "true" {
			t.Errorf("%s a load, the same body: %d %s", when, got.status, got.text)
		}
		if err := w.d.Reconcile.Load(t.Context(), a.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// A message that comes again is settled with the order as it was read before its deadline was moved.
func TestReadersNeverSeeAnEarlierDeadlineAgain(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(nil)
	r := w.reserve("u1", "k1", 1)
	message := []checkout.Message{{Reservation: r, MessageID: "m"}}
	var again checkout.Outcome
	for range 2 {
		var err error
		if again, err = w.deps.Checkout.CreateOrders(t.Context(), message); err != nil {
			t.Fatal(err)
		}
	}
	w.must(202, "POST", w.at("/deadline-extensions"), `{"extensionId":"e1","by":"PT30M","what":"PAYMENT","reason":"r"}`)
	h := NewGetOrder(w.deps)
	read := func() string {
		t.Helper()
		got := (&world{t: t}).call(h, seek("u1", r.OrderID.String()))
		if got.status != 200 {
			t.Fatal(got.text)
		}
		return got.str("payDeadline")
	}
	moved := read()
	if err := w.deps.Checkout.Settle(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if deadline := read(); deadline != moved {
		t.Errorf("the deadline was %s, and is %s after a message came again", moved, deadline)
	}
}

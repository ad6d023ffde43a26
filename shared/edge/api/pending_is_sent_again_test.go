package api

import "testing"

// Nobody knows of a pending reservation whether its message arrived. So each repetition of its key sends one, and promises the order
// only when that one was accepted.
func TestAPendingReservationIsPromisedOnlyWhenItsMessageIsAccepted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	h := NewReserveTicket(w.d)
	w.queue.set(always("refuse"))
	for range 3 {
		w.expect(w.call(h, wish(a, "u1", "k1", two)), 503, "RESERVATION_UNCONFIRMED")
	}
	w.queue.set(nil)
	if sent := w.queue.take(); len(sent) != 0 {
		t.Fatalf("a queue that refused has %d messages", len(sent))
	}
	facts := a.Facts()
	for range 2 {
		w.expect(w.call(h, wish(a, "u1", "k1", two)), 202, "")
		if sent := w.queue.take(); len(sent) != 1 || sent[0].OrderID != facts.OrderID("u1", "k1") || sent[0].Quantity != 2 {
			t.Errorf("promised, and sent %+v", sent)
		}
	}
	if w.left(a) != 8 || w.pending(a) != 1 {
		t.Errorf("%d left, %d pending", w.left(a), w.pending(a))
	}
}

package payment_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/shared/payment"
	"holdfast/shared/sale"
)

func TestPaymentMovesOnlyAlongTheDrawnEdges(t *testing.T) {
	t.Parallel()
	all := []payment.Status{payment.Pending, payment.Succeeded, payment.Failed, payment.Expired}
	legal := map[[2]payment.Status]bool{
		{payment.Pending, payment.Succeeded}: true, {payment.Pending, payment.Failed}: true, {payment.Pending, payment.Expired}: true,
		{payment.Failed, payment.Succeeded}: true, {payment.Expired, payment.Succeeded}: true,
	}
	for _, from := range all {
		for _, to := range all {
			if got := from.CanBecome(to); got != legal[[2]payment.Status{from, to}] {
				t.Errorf("%s -> %s: %v", from, to, got)
			}
		}
	}
	for _, s := range []payment.RefundStatus{payment.RefundRequested, payment.RefundSent} {
		if s.Final() {
			t.Errorf("%s is final", s)
		}
	}
}

func TestPaymentIsNamedByOrderAndKeyAndDoesNotShowTheKey(t *testing.T) {
	t.Parallel()
	one, other := sale.OrderID{1}, sale.OrderID{2}
	id := payment.NewID(one, "my-key")
	if id != payment.NewID(one, "my-key") || id == payment.NewID(one, "my-key2") || id == payment.NewID(other, "my-key") {
		t.Error("ids are not of order and key")
	}
	if len(id) > 64 || strings.Contains(id, "my-key") || !strings.HasPrefix(id, "pay_") {
		t.Errorf("id %s", id)
	}
	if r := payment.NewRefundID("surplus", id); r == payment.NewRefundID("cancellation", id) || !strings.HasPrefix(r, "rf_") || len(r) > 64 {
		t.Errorf("refund id %s", r)
	}
}

func TestPaymentEndsAtTheInstantItself(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	p := payment.Payment{ExpiresAt: &at}
	if p.ExpiredAt(at.Add(-time.Millisecond)) || !p.ExpiredAt(at) || (&payment.Payment{}).ExpiredAt(at) {
		t.Error("an end that is reached is passed, and no end never is")
	}
}

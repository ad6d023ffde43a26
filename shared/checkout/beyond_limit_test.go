package checkout_test

import (
	"fmt"
	"testing"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/payment"
)

// beyond are the ways in which a user comes to hold more than the sale's limit: a person has corrected the holding to what its live orders
// have, or the limit was lowered since.
var beyond = map[string]string{
	"corrected": `UPDATE purchase_limit SET quantity = quantity + 1, max_quantity = max_quantity + 1 WHERE user_id = 'u1'`,
	"lowered":   `UPDATE activity SET per_user_limit = per_user_limit - 1`,
}

func TestAMessageOfAUserWhoHoldsMoreThanTheLimitIsRefusedAlone(t *testing.T) {
	t.Parallel()
	for how, statement := range beyond {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, plan{limit: 2})
			w.buy("u1", "k", 2)
			if _, err := w.db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
			batch := []checkout.Message{w.message("u1", "k2", 1)}
			for i := range 3 {
				batch = append(batch, w.message(fmt.Sprint("other", i), "k", 1))
			}
			out, err := w.checkout.CreateOrders(t.Context(), batch)
			if err != nil || len(out.Live) != 3 || len(out.Cancelled) != 1 {
				t.Fatalf("%+v, %v", out, err)
			}
			if o := w.get(batch[0].OrderID); o.Status != order.Cancelled || o.Reason != order.PurchaseLimit {
				t.Errorf("%s for %s", o.Status, o.Reason)
			}
		})
	}
}

func TestALatePaymentOfAUserWhoHoldsMoreThanTheLimitGoesBack(t *testing.T) {
	t.Parallel()
	for how, statement := range beyond {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newTill(t, plan{limit: 3})
			o := w.buy("u1", "k", 1)
			p := w.begin(o, "p")
			w.expire()
			w.buy("u1", "k2", 3)
			if _, err := w.db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
			w.mustTell(p)
			for range 2 {
				w.clock.Add(int64(time.Minute))
				w.compensate()
			}
			if got := w.payment(p.ID); got.Disposition != payment.ToRefund {
				t.Errorf("the payment is %s, decided %q; %s in SUSPENSE", got.Status, got.Disposition, w.account("SUSPENSE"))
			}
			if refunds := w.refunds(o.ID); len(refunds) != 1 {
				t.Errorf("%+v", refunds)
			}
		})
	}
}

// Units go on coming back to a holding that is beyond the limit, and once it is within, the limit is the gate again.
func TestAHoldingBeyondTheLimitShrinksBelowIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{limit: 4})
	first, second := w.buy("u1", "k", 2), w.buy("u1", "k2", 2)
	if _, err := w.db.ExecContext(t.Context(), `UPDATE activity SET per_user_limit = 2`); err != nil {
		t.Fatal(err)
	}
	for _, o := range []order.Order{first, second} {
		if out := w.create(w.message("u1", "beyond "+o.ID.String(), 1)); len(out.Cancelled) != 1 {
			t.Fatalf("%+v", out)
		}
		if _, err := w.checkout.Cancel(t.Context(), o.ID, byUser("u1")); err != nil {
			t.Fatal(err)
		}
	}
	if out := w.create(w.message("u1", "within", 2)); len(out.Live) != 1 {
		t.Errorf("%+v", out)
	}
	w.wantCount(1, `SELECT COUNT(*) FROM purchase_limit WHERE user_id = 'u1' AND quantity = 2 AND max_quantity = 2`)
}

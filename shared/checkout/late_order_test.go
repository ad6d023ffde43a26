package checkout_test

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"

	simulated "holdfast/infra/local/provider"
	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
	"holdfast/shared/wallet"
)

func TestLatePaymentMakesANewOrderWhileAUnitIsFree(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{capacity: 4, limit: 2})
	o := w.buy("u1", "k1", 2)
	p := w.begin(o, "p1")
	w.expire()
	if got := w.payment(p.ID).Status; got != payment.Expired {
		t.Fatalf("the payment of an order that ran out is %s", got)
	}
	var g sync.WaitGroup
	for range 4 {
		g.Go(func() {
			if err := w.tell(p); err != nil {
				t.Error(err)
			}
		})
	}
	g.Wait()
	old, id := w.get(o.ID), w.activity.LateOrderID(o.ID, p.ID)
	fresh := w.get(id)
	if old.Status != order.Cancelled || old.ReplacedBy == nil || *old.ReplacedBy != id {
		t.Fatalf("the old order: %+v", old)
	}
	if fresh.Status != order.Paid || fresh.Source != order.FromLate || fresh.Replaces == nil || *fresh.Replaces != o.ID || fresh.PaidBy != p.ID {
		t.Fatalf("the new order: %+v", fresh)
	}
	if got := w.payment(p.ID); got.Disposition != payment.ToNewOrder || *got.NewOrderID != id {
		t.Fatalf("payment %+v", got)
	}
	entry, err := w.stock.Entry(t.Context(), w.activity.ID, id)
	if err != nil || !entry.HasTaken {
		t.Fatalf("redis has %+v, %v", entry, err)
	}
	if n := w.count("SELECT COUNT(*) FROM trade_order"); n != 2 {
		t.Errorf("%d orders", n)
	}
	if n := w.count("SELECT COUNT(*) FROM refund"); n != 0 {
		t.Errorf("%d refunds", n)
	}
	if n := w.count("SELECT COUNT(*) FROM reconcile_run"); n != 0 {
		t.Errorf("%d reconciles were asked for: nothing was lost", n)
	}
	w.balanced()
}

func TestLatePaymentGoesBackOnceWhenNoUnitIsFree(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(w *till) checkout.Message // what others hold only in Redis
		reason    order.Reason
	}{
		"others have them":                {func(w *till) (m checkout.Message) { w.buy("u2", "k2", 3); return m }, order.InsufficientStock},
		"others hold them in redis":       {func(w *till) checkout.Message { return w.mustReserve("u2", "k2", 3) }, order.InsufficientStock},
		"the buyer has as many as may be": {func(w *till) (m checkout.Message) { w.buy("u1", "k3", 3); return m }, order.PurchaseLimit},
		"the sale is closed":              {func(w *till) (m checkout.Message) { w.close(); return m }, order.SaleClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTill(t, plan{capacity: 4 + 4*btoi(c.reason == order.PurchaseLimit), buckets: 1, limit: 4})
			o := w.buy("u1", "k1", 2)
			p := w.begin(o, "p1")
			w.expire()
			held := c.meanwhile(w)
			w.mustTell(p)
			w.mustTell(p)
			if held.Quantity > 0 {
				if out := w.create(held); len(out.Live) != 1 {
					t.Fatalf("what redis had promised was taken: %+v", out)
				}
			}
			got := w.payment(p.ID)
			if got.Disposition != payment.ToRefund || got.NewOrderID == nil {
				t.Fatalf("payment %+v", got)
			}
			// The provider's own notification may have decided, and its handler may still be at what follows the commit.
			w.until("the tombstone is released and the refund answered", func() bool {
				refunds := w.refunds(o.ID)
				return w.get(*got.NewOrderID).ReleasedAt != nil && len(refunds) > 0 && refunds[0].Status.Final()
			})
			dead := w.get(*got.NewOrderID)
			if dead.Status != order.Cancelled || dead.Reason != c.reason || w.get(o.ID).ReplacedBy != nil {
				t.Fatalf("tombstone %s %s, replaced by %v", dead.Status, dead.Reason, w.get(o.ID).ReplacedBy)
			}
			if dead.PayDeadline != nil {
				t.Errorf("the tombstone is to be paid by %v", dead.PayDeadline)
			}
			refunds := w.refunds(o.ID)
			if len(refunds) != 1 || refunds[0].Amount.String() != "25.00" || refunds[0].Status != payment.RefundSucceeded {
				t.Fatalf("refunds %+v", refunds)
			}
			w.balanced()
		})
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A buyer who cancelled does not want another order: the payment goes back without one being tried.
func TestPaymentOfAnOrderThatItsBuyerCancelledGoesBack(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{})
	o := w.buy("u1", "k1", 2)
	p := w.begin(o, "p1")
	if _, err := w.checkout.Cancel(t.Context(), o.ID, checkout.Canceller{UserID: "u1"}); err != nil {
		t.Fatal(err)
	}
	w.mustTell(p)
	if got := w.payment(p.ID); got.Disposition != payment.ToRefund || got.NewOrderID != nil {
		t.Fatalf("payment %+v", got)
	}
	w.balanced()
}

// The deadline has passed, and nobody has cancelled the order yet: its units are still held for the buyer whose money is here.
func TestPaymentBeatsAnExpiryThatComesLater(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{})
	o := w.buy("u1", "k1", 2)
	p := w.begin(o, "p1")
	w.clock.Add(int64(16 * 60e9))
	w.mustTell(p)
	w.expire()
	if got := w.get(o.ID); got.Status != order.Paid || got.PaidBy != p.ID {
		t.Fatalf("order %s", got.Status)
	}
	w.balanced()
}

// A success is recorded first, and what becomes of it is decided in a second transaction. Between the two the process may die.
func TestSuccessThatWasNotDecidedIsDecidedByALaterPass(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{})
	o := w.buy("u1", "k1", 2)
	p := w.begin(o, "p1")
	w.expire()
	w.checkoutDiesAfterReceiving(p)
	if got := w.account(wallet.Suspense); got != "25.00" {
		t.Fatalf("suspense %s", got)
	}
	decided, err := w.checkout.DecideUndecided(t.Context(), 10)
	if err != nil || decided != 1 {
		t.Fatalf("%d decided, %v", decided, err)
	}
	if got := w.payment(p.ID); got.Disposition != payment.ToNewOrder {
		t.Fatalf("payment %+v", got)
	}
	w.provider.Happen(p.ID, simulated.Event{Status: "SUCCEEDED"})
	w.until("the provider has it", func() bool { return w.provider.Held("CNY").String() == "25.00" })
	w.balanced()
}

// close closes the sale.
func (w *till) close() {
	w.t.Helper()
	if _, _, err := w.catalog.Transition(w.t.Context(), w.activity.ID, sale.Closed, operator("activity.close")); err != nil {
		w.t.Fatal(err)
	}
}

// checkoutDiesAfterReceiving records a success as the first of the two transactions does, and nothing after it.
func (w *till) checkoutDiesAfterReceiving(p *payment.Payment) {
	w.t.Helper()
	w.run(func(ctx context.Context, tx *sql.Tx) error {
		locked, err := payment.GetForUpdate(ctx, tx, p.ID)
		if err != nil {
			return err
		}
		now, err := w.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		if err := payment.Succeed(ctx, tx, locked, "", now); err != nil {
			return err
		}
		return wallet.Apply(ctx, tx, []wallet.Movement{{Type: wallet.PaymentReceived, Reference: p.ID, UserID: p.UserID, OrderID: p.OrderID, Amount: p.Amount}}, now)
	})
}

// Rows that contradict each other keep a payment from being decided: its money waits, so a person has to hear of it, and the others go on.
func TestALatePaymentThatCannotBeDecidedIsAnAlertAndKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	w := newTill(t, plan{})
	stuck, sound := w.buy("u1", "k", 1), w.buy("u2", "k", 1)
	p, q := w.begin(stuck, "p"), w.begin(sound, "q")
	w.expire()
	id := w.activity.LateOrderID(stuck.ID, p.ID)
	if _, err := w.db.ExecContext(t.Context(), `INSERT INTO order_router (order_id, user_id, activity_id, created_at) VALUES (?, 'x', 'x', ?)`,
		id[:], time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, late := range []*payment.Payment{p, q} {
		_ = w.tell(late) // what it could not decide at once is left to the pass
	}
	for range 2 {
		if _, err := w.checkout.DecideUndecided(t.Context(), 1); err == nil {
			t.Error("it says that all is decided")
		}
	}
	if a, b := w.payment(p.ID).Disposition, w.payment(q.ID).Disposition; a != "" || b != payment.ToNewOrder {
		t.Errorf("the one is decided %q, the other %q", a, b)
	}
	w.wantCount(1, `SELECT COUNT(*) FROM alert WHERE kind = 'COMPENSATION_STUCK' AND subject = ? AND activity_id = ? AND occurrences = 2`, p.ID, w.activity.ID)
	w.wantCount(1, `SELECT COUNT(*) FROM alert`)
}

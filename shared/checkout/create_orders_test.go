package checkout_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/sale"
)

func TestBatchBecomesUnpaidOrdersWithADeadlineInWholeSeconds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	var batch []checkout.Message
	for i := range 30 {
		batch = append(batch, w.mustReserve(fmt.Sprintf("u%d", i%10), fmt.Sprintf("k%d", i), 1+i%3))
	}
	out := w.create(batch...)
	if len(out.Live) != 30 || len(out.Cancelled)+len(out.Poison) != 0 {
		t.Fatalf("%d live, %d cancelled, %d poison", len(out.Live), len(out.Cancelled), len(out.Poison))
	}
	now, err := w.db.Now(t.Context(), w.db)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range batch {
		o := w.get(m.OrderID)
		if o.Status != order.Unpaid || o.Quantity != m.Quantity || o.Source != order.FromSale || o.MessageID != m.MessageID {
			t.Fatalf("got %+v", o)
		}
		left := o.PayDeadline.Sub(now)
		if o.PayDeadline.Nanosecond() != 0 || left > w.activity.PayWindow || left < w.activity.PayWindow-time.Minute {
			t.Fatalf("deadline %v at %v", o.PayDeadline, now)
		}
	}
	figures := w.count("SELECT COUNT(*) FROM stock_log WHERE before_quantity IS NOT NULL AND action = 'FREEZE' AND seq > 0")
	if figures != 30 {
		t.Errorf("%d rows of the stock log have the figures of their moment", figures)
	}
	w.agree()
}

func TestFreeOrdersArePaidAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{price: "0.00"})
	o := w.get(w.buy("u1", "k", 2).ID)
	if o.Status != order.Paid || o.PayDeadline != nil {
		t.Fatalf("got %+v", o)
	}
	if frozen, sold := w.units(); frozen != 0 || sold != 2 {
		t.Fatalf("%d frozen, %d sold", frozen, sold)
	}
	if n := w.count("SELECT COUNT(*) FROM stock_log WHERE action = 'DEDUCT'"); n != 1 {
		t.Fatalf("%d rows say DEDUCT", n)
	}
	w.agree()
}

func TestOneMessageTwiceInABatchIsOneOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	m := w.mustReserve("u1", "k", 2)
	again := m
	again.MessageID = "another delivery"
	out := w.create(m, again, m)
	if len(out.Live) != 1 || len(out.Poison) != 0 {
		t.Fatalf("got %+v", out)
	}
	w.agree()
}

func TestRedeliveredBatchIsReportedAsItStandsAndChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 10, buckets: 2})
	batch := []checkout.Message{w.mustReserve("u1", "k", 5), w.mustReserve("u2", "k", 5)} // all there is
	w.create(batch...)
	updated := w.count("SELECT CAST(MAX(UNIX_TIMESTAMP(updated_at) * 1000) AS SIGNED) FROM stock_bucket")
	cancelled, err := w.checkout.Cancel(t.Context(), batch[1].OrderID, checkout.Canceller{UserID: "u2"})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		out := w.create(batch...)
		if len(out.Live) != 1 || len(out.Cancelled) != 1 || len(out.Poison) != 0 {
			t.Fatalf("got %+v", out)
		}
		if out.Cancelled[0].ID != cancelled.ID || out.Cancelled[0].Reason != order.ByUser {
			t.Fatalf("got %+v", out.Cancelled[0])
		}
	}
	if updated == 0 {
		t.Fatal("no bucket was ever written")
	}
	w.agree()
	if frozen, _ := w.units(); frozen != 5 {
		t.Fatalf("%d frozen", frozen)
	}
}

func TestIDThatIsKnownForAnotherWishIsPoisonAndNeverAlreadyDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	m := w.mustReserve("u1", "k", 2)
	user, quantity := m, m
	user.UserID = "u2"
	quantity.Quantity, quantity.Allocations = 1, sale.Allocations{{Bucket: m.Allocations[0].Bucket, Count: 1}}
	t.Run("in one batch", func(t *testing.T) {
		late := user
		late.Seq++
		out := w.create(late, m)
		if len(out.Live) != 1 || out.Live[0].UserID != "u1" || len(out.Poison) != 1 || out.Poison[0].Message.UserID != "u2" {
			t.Fatalf("got %+v", out)
		}
	})
	for name, foreign := range map[string]checkout.Message{"another user": user, "another quantity": quantity} {
		out := w.create(foreign)
		if len(out.Live)+len(out.Cancelled) != 0 || len(out.Poison) != 1 {
			t.Errorf("%s: got %+v", name, out)
		}
	}
	t.Run("again in one batch, and first in it", func(t *testing.T) {
		unfit := m
		unfit.ActivityID = "nobody"
		out := w.create(unfit, user, quantity, m, user)
		if len(out.Live) != 1 || out.Live[0].UserID != "u1" || len(out.Poison) != 3 {
			t.Fatalf("got %+v", out)
		}
	})
	if o := w.get(m.OrderID); o.UserID != "u1" || o.Quantity != 2 {
		t.Fatalf("the row became %+v", o)
	}
	w.agree()
}

func TestMessagesThatCanNeverBecomeOrdersArePoisonAndStopNobodyElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{unloaded: true})
	change := func(f func(*checkout.Message)) checkout.Message {
		m := w.message("bad", fmt.Sprint(w.seq.Load()), 2)
		f(&m)
		return m
	}
	bad := map[string]checkout.Message{
		"unknown activity":   change(func(m *checkout.Message) { m.ActivityID = "none" }),
		"unknown type":       change(func(m *checkout.Message) { m.TicketType = "none" }),
		"id of another sale": change(func(m *checkout.Message) { m.OrderID[5]++ }),
		"no user":            change(func(m *checkout.Message) { m.UserID = "" }),
		"user too long":      change(func(m *checkout.Message) { m.UserID = fmt.Sprintf("%0129d", 1) }),
		"no quantity":        change(func(m *checkout.Message) { m.Quantity, m.Allocations = 0, nil }),
		"no allocation":      change(func(m *checkout.Message) { m.Allocations = nil }),
		"too few allocated":  change(func(m *checkout.Message) { m.Allocations[0].Count = 1 }),
		"bucket that is not": change(func(m *checkout.Message) { m.Allocations[0].Bucket = 4 }),
		"negative share": change(func(m *checkout.Message) {
			m.Allocations = sale.Allocations{{Bucket: 0, Count: 3}, {Bucket: 1, Count: -1}}
		}),
		"bucket twice": change(func(m *checkout.Message) {
			m.Allocations = sale.Allocations{{Bucket: 0, Count: 1}, {Bucket: 0, Count: 1}}
		}),
	}
	batch := []checkout.Message{w.message("good", "k", 1)}
	for _, m := range bad {
		batch = append(batch, m)
	}
	out, err := w.checkout.CreateOrders(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Live) != 1 || out.Live[0].UserID != "good" || len(out.Poison) != len(bad) {
		t.Fatalf("%d live, %d poison of %d", len(out.Live), len(out.Poison), len(bad))
	}
	for name, m := range bad {
		if !slices.ContainsFunc(out.Poison, func(p checkout.Poison) bool { return p.Message.OrderID == m.OrderID && p.Reason != "" }) {
			t.Errorf("%s is not among the poison", name)
		}
	}
	w.agreeInMySQL()
}

func TestMessagesOfAClosedSaleBecomeCancelledOrdersAndTheirUnitsComeBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	before := w.buy("u1", "k1", 1)
	late := w.mustReserve("u2", "k", 3)
	if _, _, err := w.catalog.Transition(t.Context(), w.activity.ID, sale.Closed, operator("activity.close")); err != nil {
		t.Fatal(err)
	}
	out := w.create(late)
	if len(out.Cancelled) != 1 || out.Cancelled[0].Reason != order.SaleClosed {
		t.Fatalf("got %+v", out)
	}
	if o := w.get(late.OrderID); o.ReleasedAt == nil || o.PayDeadline != nil {
		t.Fatalf("got %+v", o)
	}
	if o := w.get(before.ID); o.Status != order.Unpaid {
		t.Fatalf("an order from before is %s", o.Status)
	}
	w.agree()
}

func TestOrderWithoutAFreeReferenceIsMadeWithoutOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{unloaded: true})
	m := w.message("u1", "k", 1)
	if _, err := w.checkout.CreateOrders(t.Context(), []checkout.Message{m}); err != nil {
		t.Fatal(err)
	}
	twin := w.message("u2", "k", 1)
	if _, err := w.db.ExecContext(t.Context(), "UPDATE trade_order SET reference = ? WHERE id = ?", twin.OrderID.Reference(), m.OrderID[:]); err != nil {
		t.Fatal(err)
	}
	out, err := w.checkout.CreateOrders(t.Context(), []checkout.Message{twin})
	if err != nil || len(out.Live) != 1 {
		t.Fatalf("got %+v, %v", out, err)
	}
	if o := w.get(twin.OrderID); o.Reference != "" {
		t.Fatalf("got %+v", o)
	}
	w.agreeInMySQL()
}

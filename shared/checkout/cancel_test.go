package checkout_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

func byUser(id string) checkout.Canceller { return checkout.Canceller{UserID: id} }

func byOperator() checkout.Canceller {
	e := operator("order.cancel")
	return checkout.Canceller{Operator: &e}
}

func TestUserCancelsAnUnpaidOrderAndTheUnitsAreBackInBothStores(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 5, buckets: 2})
	o := w.buy("u1", "k", 3)
	for range 2 { // the second time answers the same
		got, err := w.checkout.Cancel(t.Context(), o.ID, byUser("u1"))
		if err != nil || got.Status != order.Cancelled || got.Reason != order.ByUser || got.Revision != 2 {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
	if stored := w.get(o.ID); stored.ReleasedAt == nil {
		t.Fatalf("got %+v", stored)
	}
	row := "SELECT COUNT(*) FROM stock_log WHERE direction = 1 AND before_quantity = 2 AND after_quantity = 5 AND business_type = 3"
	if w.count(row) != 1 {
		t.Error("the stock log has not the figures of the release")
	}
	w.agree()
	w.buy("u2", "k", 5) // all of it can be sold again
}

func TestOperatorCancelsWithAnAuditRowOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	o := w.buy("u1", "k", 1)
	for range 2 {
		got, err := w.checkout.Cancel(t.Context(), o.ID, byOperator())
		if err != nil || got.Reason != order.ByOperator {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
	if n := w.count("SELECT COUNT(*) FROM audit_log WHERE action = 'order.cancel'"); n != 1 {
		t.Errorf("%d audit rows", n)
	}
	w.agree()
}

func TestOrderOfSomebodyElseIsNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	made := w.buy("u1", "k1", 1).ID
	reserved := w.mustReserve("u1", "k2", 1).OrderID
	unknown := w.facts.OrderID("u1", "k3")
	elsewhere := sale.NewOrderID(1, w.facts.Salt, "u1", "k")
	for name, id := range map[string]sale.OrderID{"made": made, "reserved": reserved, "unknown": unknown, "of no activity": elsewhere} {
		if _, err := w.checkout.Cancel(t.Context(), id, byUser("u2")); !errors.Is(err, order.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := w.count("SELECT COUNT(*) FROM trade_order"); n != 1 {
		t.Errorf("%d rows: an id that is not known got one", n)
	}
}

func TestPaidOrderIsCancelledAsTheRefundRuleLeavesIt(t *testing.T) {
	t.Parallel()
	const half, over = `{"from":"CLOSES_AT","steps":[{"before":"PT48H","ratio":"1"},{"before":"PT1H","ratio":"0.5"}]}`,
		`{"from":"OPENS_AT","steps":[{"before":"PT0S","ratio":"1"}]}`
	operators := func(scope checkout.RefundScope) checkout.Canceller {
		by := byOperator()
		by.Refund = scope
		return by
	}
	for name, c := range map[string]struct {
		price, rule string
		by          checkout.Canceller
		want        error
		refunded    string
	}{
		"free, user, no rule":             {"0.00", "", byUser("u1"), checkout.ErrNotCancellable, "0.00"},
		"free, user, rule":                {"0.00", half, byUser("u1"), nil, "0.00"},
		"free, operator, no rule":         {"0.00", "", byOperator(), nil, "0.00"},
		"paid for, user, no rule":         {"5.01", "", byUser("u1"), checkout.ErrNotCancellable, "0.00"},
		"paid for, user, rule":            {"5.01", half, byUser("u1"), nil, "5.01"},
		"paid for, user, too late":        {"5.01", over, byUser("u1"), checkout.ErrNotCancellable, "0.00"},
		"paid for, operator, rule":        {"5.01", half, operators(checkout.RefundByRule), nil, "5.01"},
		"paid for, operator, too late":    {"5.01", over, operators(checkout.RefundByRule), nil, "0.00"},
		"paid for, operator, full":        {"5.01", over, operators(checkout.RefundFull), nil, "10.02"},
		"paid for, operator, nothing":     {"5.01", half, operators(checkout.RefundNone), nil, "0.00"},
		"paid for, user, unreadable rule": {"5.01", `{"any":1}`, byUser("u1"), checkout.ErrNotCancellable, "0.00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, plan{price: c.price, refundRule: c.rule})
			o := w.buy("u1", "k", 2)
			if c.price != "0.00" {
				if _, err := w.checkout.MarkPaid(t.Context(), o.ID, "r", operator("order.pay")); err != nil {
					t.Fatal(err)
				}
			}
			_, err := w.checkout.Cancel(t.Context(), o.ID, c.by)
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if _, sold := w.units(); (sold == 0) != (c.want == nil) {
				t.Errorf("%d units are sold", sold)
			}
			if got := w.get(o.ID).Refunded.String(); got != c.refunded {
				t.Errorf("%s went back, want %s", got, c.refunded)
			}
			w.agree()
		})
	}
}

func TestReservationWithoutARowBecomesATombstoneThatStopsItsMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 5, buckets: 2})
	m := w.mustReserve("u1", "k", 3)
	got, err := w.checkout.Cancel(t.Context(), m.OrderID, byUser("u1"))
	if err != nil || got.Status != order.Cancelled || got.Reason != order.ByUser || got.Source != order.FromCancel {
		t.Fatalf("got %+v, %v", got, err)
	}
	out := w.create(m) // the message comes after all
	if len(out.Live) != 0 || len(out.Cancelled) != 1 {
		t.Fatalf("got %+v", out)
	}
	w.agree()
	w.buy("u2", "k", 5)
}

func TestCancelAndCreateAtOnceEndInOneCancelledOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 200, buckets: 4, limit: 100})
	var group sync.WaitGroup
	for i := range 40 {
		m := w.mustReserve(fmt.Sprintf("u%d", i), "k", 2)
		group.Go(func() { w.create(m) })
		group.Go(func() {
			if got, err := w.checkout.Cancel(t.Context(), m.OrderID, byUser(m.UserID)); err != nil || got.Status != order.Cancelled {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	group.Wait()
	if n := w.count("SELECT COUNT(*) FROM trade_order WHERE status = 'CANCELLED'"); n != 40 {
		t.Errorf("%d orders are CANCELLED", n)
	}
	w.agree()
}

// B03: forty come and forty go at once on one bucket.
func TestReservingAndCancellingAtOnceKeepsEveryUnit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 60, buckets: 1, limit: 100})
	for round := range 5 {
		var old []order.Order
		for i := range 20 {
			old = append(old, w.buy(fmt.Sprintf("old-%d-%d", round, i), "k", 1))
		}
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() {
				o := w.buy(fmt.Sprintf("new-%d-%d", round, i), "k", 1)
				if _, err := w.checkout.Cancel(t.Context(), o.ID, byUser(o.UserID)); err != nil {
					t.Error(err)
				}
			})
			group.Go(func() {
				if _, err := w.checkout.Cancel(t.Context(), old[i].ID, byUser(old[i].UserID)); err != nil {
					t.Error(err)
				}
			})
			shot, err := w.stock.Snapshot(t.Context(), &w.facts)
			if err != nil || shot.Types[ticket].Left < 0 || shot.Types[ticket].Left > 60 {
				t.Errorf("sampled %d units left, %v", shot.Types[ticket].Left, err)
			}
		}
		group.Wait()
		w.agree()
	}
	if frozen, sold := w.units(); frozen+sold != 0 {
		t.Errorf("%d frozen, %d sold", frozen, sold)
	}
}

// B10: nothing remembers that the sale was sold out.
func TestUnitThatIsCancelledCanBeBoughtAtOnceByEveryInstance(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 5, buckets: 2})
	var last order.Order
	for i := range 5 {
		last = w.buy(fmt.Sprintf("u%d", i), "k", 1)
	}
	for instance := range 4 {
		buyer := fmt.Sprintf("late%d", instance)
		if _, err := w.reserve(buyer, "k", 1); !errors.Is(err, stock.ErrInsufficient) {
			t.Fatalf("sold out: %v", err)
		}
		if _, err := w.checkout.Cancel(t.Context(), last.ID, byUser(last.UserID)); err != nil {
			t.Fatal(err)
		}
		last = w.buy(buyer, "k", 1)
	}
	w.agree()
}

// B13: a cancelled order does not count against its user.
func TestUserBuysAgainAfterCancellingWhereOnlyOneIsAllowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{limit: 1})
	first := w.buy("u1", "first", 1)
	if _, err := w.checkout.Cancel(t.Context(), first.ID, byUser("u1")); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	var made []checkout.Message
	for i := range 2 {
		group.Go(func() {
			m, err := w.reserve("u1", fmt.Sprintf("again%d", i), 1)
			if err != nil && !errors.Is(err, stock.ErrAlreadyReserved) {
				t.Error(err)
			}
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				made = append(made, m)
			}
		})
	}
	group.Wait()
	if len(made) != 1 {
		t.Fatalf("%d of two at once were made", len(made))
	}
	if out := w.create(made...); len(out.Live) != 1 {
		t.Fatalf("got %+v", out)
	}
	if o := w.get(first.ID); o.Status != order.Cancelled {
		t.Errorf("the first order is %s", o.Status)
	}
	w.agree()
}

func TestOverdueOrdersAreCancelledAtTheirDeadlineAndNotBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 50, buckets: 4})
	var ids []sale.OrderID
	for i := range 12 {
		ids = append(ids, w.buy(fmt.Sprintf("u%d", i), "k", 2).ID)
	}
	paid := w.get(ids[0])
	if _, err := w.checkout.MarkPaid(t.Context(), paid.ID, "r", operator("order.pay")); err != nil {
		t.Fatal(err)
	}
	if n, _, err := w.checkout.Expire(t.Context(), 100); n != 0 || err != nil {
		t.Fatalf("before the deadline: %d, %v", n, err)
	}
	w.clock.Store(int64(w.activity.PayWindow + time.Second))
	if n, failed, err := w.checkout.Expire(t.Context(), 5); n != 11 || failed != 0 || err != nil {
		t.Fatalf("%d expired, %d failed, %v", n, failed, err)
	}
	for _, id := range ids[1:] {
		if o := w.get(id); o.Status != order.Cancelled || o.Reason != order.PayTimeout || o.ReleasedAt == nil {
			t.Fatalf("got %+v", o)
		}
	}
	if n := w.count("SELECT COUNT(*) FROM stock_log WHERE business_type = 2 AND after_quantity - before_quantity = 2"); n != 11 {
		t.Errorf("%d rows of the stock log say timeout", n)
	}
	w.agree()
}

func TestPayingExpiringAndCancellingAtOnceLeaveOneOutcome(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 50, buckets: 2, limit: 50})
	var orders []order.Order
	for i := range 16 {
		orders = append(orders, w.buy(fmt.Sprintf("u%d", i), "k", 1))
	}
	var group sync.WaitGroup
	for _, o := range orders {
		group.Go(func() {
			_, err := w.checkout.MarkPaid(t.Context(), o.ID, "r", operator("order.pay"))
			if err != nil && !errors.Is(err, checkout.ErrNotPayable) {
				t.Error(err)
			}
		})
		group.Go(func() {
			_, err := w.checkout.Cancel(t.Context(), o.ID, byUser(o.UserID))
			if err != nil && !errors.Is(err, checkout.ErrNotCancellable) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, o := range orders {
		if got := w.get(o.ID); got.Status == order.Unpaid || got.Revision != 2 {
			t.Errorf("got %+v", got)
		}
	}
	w.agree()
}

func TestMarkingPaidAnswersTheSameReferenceAgainAndRefusesTheRest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	o := w.buy("u1", "k1", 2)
	pay := func(id sale.OrderID, reference string) (*order.Order, error) {
		return w.checkout.MarkPaid(t.Context(), id, reference, audit.Entry{Operator: "op", Action: "order.pay", Subject: id.String(), RequestID: "r"})
	}
	for range 2 {
		got, err := pay(o.ID, "bank-1")
		if err != nil || got.Status != order.Paid || got.Paid.String() != "25.00" || got.Revision != 2 {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
	if n := w.count("SELECT COUNT(*) FROM audit_log WHERE action = 'order.pay'"); n != 1 {
		t.Errorf("%d audit rows", n)
	}
	if _, err := pay(o.ID, "bank-2"); !errors.Is(err, checkout.ErrNotPayable) {
		t.Errorf("another reference: %v", err)
	}
	cancelled := w.buy("u2", "k", 1)
	if _, err := w.checkout.Cancel(t.Context(), cancelled.ID, byUser("u2")); err != nil {
		t.Fatal(err)
	}
	if _, err := pay(cancelled.ID, "bank-3"); !errors.Is(err, checkout.ErrNotPayable) {
		t.Errorf("a cancelled order: %v", err)
	}
	late := w.buy("u3", "k", 1)
	w.clock.Store(int64(time.Until(*late.PayDeadline) + time.Second))
	for _, state := range []string{"overdue", "expired"} {
		if _, err := pay(late.ID, "bank-4"); !errors.Is(err, checkout.ErrExpired) {
			t.Errorf("%s: %v", state, err)
		}
		if _, _, err := w.checkout.Expire(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pay(w.facts.OrderID("u9", "k"), "r"); !errors.Is(err, order.ErrNotFound) {
		t.Errorf("an unknown order: %v", err)
	}
	w.agree()
}

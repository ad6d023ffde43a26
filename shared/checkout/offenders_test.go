package checkout_test

import (
	"fmt"
	"testing"

	"holdfast/shared/checkout"
	"holdfast/shared/order"
)

func TestOnlyTheOffendersOfABatchAreCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 8, buckets: 4, limit: 2, unloaded: true}) // two units per bucket
	batch := []checkout.Message{
		w.messageFrom("u1", "a", 1, 0),
		w.messageFrom("u1", "b", 1, 0),
		w.messageFrom("u1", "c", 1, 1), // the third unit of a user who may have two
		w.messageFrom("u2", "a", 2, 0), // its bucket is used up: moved to another one
		w.messageFrom("u3", "a", 2, 2),
		w.messageFrom("u4", "a", 2, 3),
		w.messageFrom("u5", "a", 1, 3), // there are no units left
	}
	out, err := w.checkout.CreateOrders(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Live) != 5 || len(out.Cancelled) != 2 || len(out.Poison) != 0 {
		t.Fatalf("%d live, %d cancelled, %d poison", len(out.Live), len(out.Cancelled), len(out.Poison))
	}
	if o := w.get(batch[2].OrderID); o.Reason != order.PurchaseLimit {
		t.Errorf("beyond the limit: %s %s", o.Status, o.Reason)
	}
	if o := w.get(batch[6].OrderID); o.Reason != order.InsufficientStock || o.PayDeadline != nil || o.CancelledAt == nil {
		t.Errorf("beyond the stock: %+v", o)
	}
	if o := w.get(batch[3].OrderID); o.Status != order.Unpaid || o.Allocations[0].Bucket == 0 {
		t.Errorf("short bucket: %s from %q", o.Status, o.Allocations.Compact())
	}
	for _, o := range append(out.Live, out.Cancelled...) {
		if stored := w.get(o.ID); stored.Allocations.Compact() != o.Allocations.Compact() || stored.Status != o.Status {
			t.Errorf("reported %s %q, stored %s %q", o.Status, o.Allocations.Compact(), stored.Status, stored.Allocations.Compact())
		}
	}
	w.agreeInMySQL()
	if frozen, _ := w.units(); frozen != 8 {
		t.Errorf("%d frozen", frozen)
	}
}

func TestWhoTookUnitsFirstInRedisKeepsThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 3, buckets: 1, unloaded: true})
	var batch []checkout.Message
	for i := range 6 {
		batch = append(batch, w.messageFrom(fmt.Sprintf("u%d", i), "k", 1, 0))
	}
	out, err := w.checkout.CreateOrders(t.Context(), []checkout.Message{batch[4], batch[2], batch[5], batch[0], batch[3], batch[1]})
	if err != nil || len(out.Live) != 3 || len(out.Cancelled) != 3 {
		t.Fatalf("%d live, %d cancelled, %v", len(out.Live), len(out.Cancelled), err)
	}
	for i, m := range batch {
		if got := w.get(m.OrderID).Status; (got == order.Unpaid) != (i < 3) {
			t.Errorf("number %d is %s", i, got)
		}
	}
}

// Redis lost its memory in the middle of a sale: it sells everything once more. MySQL is the last gate.
func TestRedisSellingTwiceCannotOversell(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 40, buckets: 8, limit: 5})
	sell := func(round string) (live, cancelled int) {
		for user := 0; ; user++ {
			var batch []checkout.Message
			for i := range 3 {
				if m, err := w.reserve(fmt.Sprintf("%s-u%d", round, user), fmt.Sprint(i), 1); err == nil {
					batch = append(batch, m)
				}
			}
			if len(batch) == 0 {
				return live, cancelled
			}
			out := w.create(batch...)
			live, cancelled = live+len(out.Live), cancelled+len(out.Cancelled)
		}
	}
	if live, cancelled := sell("first"); live != 40 || cancelled != 0 {
		t.Fatalf("%d live, %d cancelled", live, cancelled)
	}
	// Without adopting anything: as if the loaded set had been an old one.
	epoch := w.activity.Epoch + 2
	if err := w.stock.Begin(t.Context(), w.facts, w.activity.Rules(), epoch); err != nil {
		t.Fatal(err)
	}
	if err := w.stock.Open(t.Context(), w.activity.ID, epoch); err != nil {
		t.Fatal(err)
	}
	var batch []checkout.Message
	for user := range 40 {
		batch = append(batch, w.mustReserve(fmt.Sprintf("second-u%d", user), "k", 1))
	}
	out := w.create(batch...)
	if len(out.Live) != 0 || len(out.Cancelled) != 40 {
		t.Fatalf("%d live, %d cancelled", len(out.Live), len(out.Cancelled))
	}
	if frozen, _ := w.units(); frozen != 40 {
		t.Fatalf("%d frozen of 40", frozen)
	}
	w.agreeInMySQL()
}

func TestMovedAllocationReachesRedis(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 8, buckets: 4})
	m := w.mustReserve("u1", "k", 2)
	// Another order, which Redis does not know, has the bucket in MySQL.
	w.freeze(m.Allocations[0].Bucket, 2)
	out := w.create(m)
	if len(out.Live) != 1 || out.Live[0].Allocations[0].Bucket == m.Allocations[0].Bucket {
		t.Fatalf("got %+v", out)
	}
	entry, err := w.stock.Entry(t.Context(), w.activity.ID, m.OrderID)
	if err != nil || entry.Reservation.Allocations.Compact() != out.Live[0].Allocations.Compact() {
		t.Fatalf("Redis has %q, MySQL %q, %v", entry.Reservation.Allocations.Compact(), out.Live[0].Allocations.Compact(), err)
	}
	w.freeze(m.Allocations[0].Bucket, -2)
	w.agree()
}

// freeze changes a bucket row by hand.
func (w *world) freeze(bucket, units int) {
	w.t.Helper()
	_, err := w.db.ExecContext(w.t.Context(), "UPDATE stock_bucket SET frozen = frozen + ? WHERE activity_id = ? AND bucket = ?",
		units, w.activity.ID, bucket)
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestLimitThatRedisForgotIsKeptByMySQL(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{limit: 1, unloaded: true})
	first, second := w.message("u1", "a", 1), w.message("u1", "b", 1)
	other := w.message("u2", "a", 1)
	if _, err := w.checkout.CreateOrders(t.Context(), []checkout.Message{first}); err != nil {
		t.Fatal(err)
	}
	out, err := w.checkout.CreateOrders(t.Context(), []checkout.Message{second, other})
	if err != nil || len(out.Live) != 1 || len(out.Cancelled) != 1 || out.Cancelled[0].Reason != order.PurchaseLimit {
		t.Fatalf("got %+v, %v", out, err)
	}
	w.agreeInMySQL()
}

func TestBatchOfSeveralActivitiesIsJudgedForEach(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 1, buckets: 1, unloaded: true})
	first := w.activity
	batch := []checkout.Message{w.message("u1", "a", 1), w.message("u2", "a", 1)}
	w.activity = w.publish(plan{capacity: 1, buckets: 1, limit: 10, price: "0.00"})
	batch = append(batch, w.message("u1", "a", 1), w.message("u3", "a", 1))
	out, err := w.checkout.CreateOrders(t.Context(), batch)
	if err != nil || len(out.Live) != 2 || len(out.Cancelled) != 2 {
		t.Fatalf("got %+v, %v", out, err)
	}
	perActivity := map[string]order.Status{}
	for _, o := range out.Live {
		perActivity[o.ActivityID] = o.Status
	}
	if perActivity[first.ID] != order.Unpaid || perActivity[w.activity.ID] != order.Paid {
		t.Fatalf("got %v", perActivity)
	}
}

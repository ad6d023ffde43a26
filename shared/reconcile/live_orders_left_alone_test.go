package reconcile_test

import (
	"testing"
	"time"

	"holdfast/shared/order"
	"holdfast/shared/reconcile"
	"holdfast/shared/stock"
)

// S3: whatever state a live order is in, no pass gives its units back, be it pending in Redis or acknowledged long ago.
func TestMinutePassLeavesLiveOrdersAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	var live []order.Order
	for _, name := range []string{"unpaid", "paid"} {
		m := w.mustReserve("pending-"+name, "k", 2)
		live = append(live, w.commit(m).Live...) // Redis is not told
		live = append(live, w.buy("known-"+name, "k", 1))
	}
	for _, o := range live[2:] {
		if _, err := w.checkout.MarkPaid(t.Context(), o.ID, "by-hand", operator("order.mark_paid")); err != nil {
			t.Fatal(err)
		}
	}
	left := w.snapshot().Types[ticket].Left
	w.advance(5 * time.Minute)
	if sum := w.compensate(); sum.Released != 0 || sum.Pending != (reconcile.Swept{Acknowledged: 2}) {
		t.Errorf("the pass has done %+v, want two acknowledgements", sum)
	}
	w.compensate()
	for _, o := range live {
		if got := w.get(o.ID); !got.Status.Live() || got.ReleasedAt != nil {
			t.Errorf("%s's order is %s, released %v", o.UserID, got.Status, got.ReleasedAt)
		}
		entry, err := w.stock.Entry(t.Context(), w.activity.ID, o.ID)
		if err != nil || entry.Standing != stock.Acknowledged {
			t.Errorf("%s's entry stands %d, %v", o.UserID, entry.Standing, err)
		}
	}
	if now := w.snapshot().Types[ticket].Left; now != left {
		t.Errorf("%d units left, and %d before", now, left)
	}
	w.agree()
}

// B21: Redis came back from a copy that was made before the last load. Its set looks whole, and is not what MySQL loaded.
func TestSetOfAnOlderEpochIsLoadedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	w.buy("early", "k", 1)
	copied := w.copySet()
	w.forget()
	if sum := w.compensate(); sum.Loaded != 1 {
		t.Fatalf("after the loss: %+v", sum)
	}
	later := w.buy("later", "k", 3)
	w.forget()
	w.restore(copied)
	if sum := w.compensate(); sum.Loaded != 1 {
		t.Errorf("after the old copy came back: %+v", sum)
	}
	if entry, err := w.stock.Entry(t.Context(), w.activity.ID, later.ID); err != nil || entry.Reservation.Quantity != 3 {
		t.Errorf("the later order's entry: %+v, %v", entry, err)
	}
	w.agree()
}

// The facts are gone and all else is whole. No script misses them, only a function that has not read them yet: it asks for a load, and
// that must not find that there is nothing to do.
func TestLossOfTheFactsAloneIsLoadedOnceSomebodyAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	w.buy("early", "k", 1)
	if n, err := w.rdb.Del(t.Context(), "hf:{"+w.activity.ID+"}:facts").Result(); n != 1 || err != nil {
		t.Fatalf("%d keys deleted, %v", n, err)
	}
	if err := w.reconciler.RequestLoad(t.Context(), w.activity.ID); err != nil {
		t.Fatal(err)
	}
	w.compensate()
	if _, _, err := w.stock.Facts(t.Context(), w.activity.ID); err != nil {
		t.Errorf("the facts: %v", err)
	}
	w.agree()
}

// copySet keeps the keys of the set as they are now.
func (w *world) copySet() map[string]string {
	w.t.Helper()
	keys, err := w.rdb.Keys(w.t.Context(), "hf:{"+w.activity.ID+"}:*").Result()
	if err != nil {
		w.t.Fatal(err)
	}
	copied := make(map[string]string, len(keys))
	for _, key := range keys {
		if copied[key], err = w.rdb.Dump(w.t.Context(), key).Result(); err != nil {
			w.t.Fatal(err)
		}
	}
	return copied
}

// restore puts back what copySet has kept.
func (w *world) restore(copied map[string]string) {
	w.t.Helper()
	for key, text := range copied {
		if err := w.rdb.RestoreReplace(w.t.Context(), key, 0, text).Err(); err != nil {
			w.t.Fatal(err)
		}
	}
}

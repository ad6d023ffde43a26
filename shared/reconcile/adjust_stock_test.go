package reconcile_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/fault"
	"holdfast/shared/reconcile"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

func (w *world) wish(id string, delta int) catalog.Adjustment {
	return catalog.Adjustment{ActivityID: w.activity.ID, ID: id, TicketType: ticket, Delta: delta, Reason: "more chairs"}
}

func (w *world) adjust(id string, delta int) catalog.Adjustment {
	w.t.Helper()
	a, err := w.reconciler.AdjustStock(w.t.Context(), w.wish(id, delta), operator("activity.adjust-stock"))
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func TestAdjustmentChangesBothStoresByTheSameSplitOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 10, buckets: 4})
	w.buy("u1", "k", 6)
	for range 2 {
		if a := w.adjust("up", 5); a.Status != catalog.Applied || a.Split.Delta() != 5 {
			t.Fatalf("got %+v", a)
		}
		w.agree()
	}
	if a := w.adjust("down", -8); a.Split.Delta() != -8 {
		t.Fatalf("got %+v", a)
	}
	w.agree()
	if left := w.snapshot().Types[ticket].Left; left != 1 {
		t.Errorf("%d left", left)
	}
}

func TestAdjustmentBelowWhatIsSoldIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 10, buckets: 2})
	w.buy("u1", "k", 6)
	for range 2 {
		a, err := w.reconciler.AdjustStock(t.Context(), w.wish("a", -5), operator("activity.adjust-stock"))
		if fault.Of(err) != fault.StockBelowSold || !errors.Is(err, catalog.ErrBelowSold) || a.Status != catalog.Refused {
			t.Fatalf("got %+v, %v", a, err)
		}
		w.agree()
	}
}

// Redis has units left that MySQL has not.
func TestAdjustmentThatMySQLRefusesIsTakenBackInRedis(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 10, buckets: 2})
	freeze := func(units int) {
		if _, err := w.db.ExecContext(t.Context(), "UPDATE stock_bucket SET frozen = frozen + ? WHERE activity_id = ?", units, w.activity.ID); err != nil {
			t.Fatal(err)
		}
	}
	freeze(4)
	_, err := w.reconciler.AdjustStock(t.Context(), w.wish("a", -6), operator("activity.adjust-stock"))
	if fault.Of(err) != fault.StockBelowSold {
		t.Fatalf("got %v", err)
	}
	if left := w.snapshot().Types[ticket].Left; left != 10 {
		t.Errorf("Redis has %d left", left)
	}
	freeze(-4)
	w.agree()
}

func TestAdjustmentThatWasBegunIsFinishedByTheNextPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 10, buckets: 2})
	offline := reconcile.New(w.db, stock.New(testenv.RedisClient(t, "127.0.0.1:1"), nil), w.catalog, w.checkout, nil, nil)
	a, err := offline.AdjustStock(t.Context(), w.wish("a", 4), operator("activity.adjust-stock"))
	if !errors.Is(err, stock.ErrUnavailable) || a.Status != catalog.Pending {
		t.Fatalf("got %+v, %v", a, err)
	}
	// The script ran and the process died: the pass must find the same split.
	split, err := w.stock.AdjustStock(t.Context(), &w.facts, stock.Adjustment{ID: "a", TicketType: ticket, Delta: 4})
	if err != nil {
		t.Fatal(err)
	}
	w.advance(time.Minute)
	if sum := w.compensate(); sum.Adjustments != 1 {
		t.Fatalf("got %+v", sum)
	}
	done, err := catalog.GetAdjustment(t.Context(), w.db, w.activity.ID, "a")
	if err != nil || done.Status != catalog.Applied || done.Split.Compact() != split.Split.Compact() {
		t.Fatalf("got %+v, %v; Redis split %q", done, err, split.Split.Compact())
	}
	w.agree()
}

func TestAdjustmentsLoadsAndBuyersAtOnceAgreeInTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 40, buckets: 4, limit: 50})
	var group sync.WaitGroup
	for i := range 10 {
		group.Go(func() {
			_, err := w.other(nil).AdjustStock(t.Context(), w.wish(fmt.Sprint(i), 3-7*(i%2)), operator("activity.adjust-stock"))
			if err != nil && !errors.Is(err, reconcile.ErrLoadRunning) && !errors.Is(err, stock.ErrNotLoaded) && !errors.Is(err, catalog.ErrBelowSold) {
				t.Error(err)
			}
		})
		group.Go(func() {
			if m, err := w.reserve(fmt.Sprintf("u%d", i), "k", 2); err == nil {
				w.create(m)
			}
		})
		if i%4 == 1 {
			group.Go(func() {
				if err := w.other(nil).Load(t.Context(), w.activity.ID); err != nil && !errors.Is(err, reconcile.ErrLoadRunning) {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()
	w.advance(2 * time.Minute)
	w.compensate()
	w.agree()
	if n := w.count("SELECT COUNT(*) FROM stock_adjustment WHERE status = 'PENDING'"); n != 0 {
		t.Errorf("%d adjustments are unfinished", n)
	}
}

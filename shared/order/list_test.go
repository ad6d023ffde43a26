package order_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast/shared/order"
	"holdfast/shared/sale"
)

func TestListPagesNewestFirstWithoutGapOrRepeat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 7 {
		o := w.order("u1", string(rune('a'+i)), 1)
		o.Quantity, o.Amount = 1, o.UnitPrice
		o.ReservedAt = w.now.Add(time.Duration(i/2) * time.Second) // two at a time share an instant
		w.insert(o)
	}
	w.insert(w.order("u2", "k", 1))
	seen := make(map[sale.OrderID]bool)
	var last time.Time
	pages := 0
	for cursor := ""; ; pages++ {
		items, next, err := order.List(t.Context(), w.db, order.Filter{UserID: "u1"}, cursor, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range items {
			if seen[o.ID] || o.UserID != "u1" || !last.IsZero() && o.ReservedAt.After(last) {
				t.Fatalf("page %d: %s of %s at %v after %v", pages, o.ID, o.UserID, o.ReservedAt, last)
			}
			seen[o.ID], last = true, o.ReservedAt
		}
		if next == "" {
			break
		}
		cursor = next
	}
	if len(seen) != 7 || pages != 2 {
		t.Fatalf("saw %d orders in %d pages", len(seen), pages+1)
	}
}

func TestListFiltersByActivityStatusAndReference(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.order("u1", "k", 1), w.order("u2", "k", 1)
	w.insert(first)
	w.insert(second)
	w.tx(func(ctx context.Context, tx *sql.Tx) error {
		return order.CancelAll(ctx, tx, []order.Order{second}, order.ByUser, w.now)
	})
	w.activity = w.addActivity(w.activity.OpensAt) // the same opening: the next number
	third := w.order("u1", "k", 1)
	w.insert(third)
	for name, c := range map[string]struct {
		filter order.Filter
		want   []sale.OrderID
	}{
		"activity":           {order.Filter{ActivityID: third.ActivityID}, []sale.OrderID{third.ID}},
		"unknown activity":   {order.Filter{ActivityID: "none"}, nil},
		"activity and state": {order.Filter{ActivityID: first.ActivityID, Status: order.Cancelled}, []sale.OrderID{second.ID}},
		"reference":          {order.Filter{ActivityID: first.ActivityID, Reference: first.Reference}, []sale.OrderID{first.ID}},
		"user and activity":  {order.Filter{UserID: "u1", ActivityID: first.ActivityID}, []sale.OrderID{first.ID}},
	} {
		items, next, err := order.List(t.Context(), w.db, c.filter, "", 10)
		if err != nil || next != "" || len(items) != len(c.want) {
			t.Errorf("%s: %d items, next %q, %v", name, len(items), next, err)
			continue
		}
		for i := range items {
			if items[i].ID != c.want[i] {
				t.Errorf("%s: item %d is %s", name, i, items[i].ID)
			}
		}
	}
}

func TestReferenceIsFoundByItsIndexInWhateverActivity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wanted := w.order("wanted", "k", 1)
	w.insert(wanted)
	for n := range 200 {
		w.insert(w.order(user(n), "k", 1))
	}
	items, _, err := order.List(t.Context(), w.db, order.Filter{Reference: wanted.Reference}, "", 10)
	if err != nil || len(items) != 1 || items[0].ID != wanted.ID {
		t.Fatalf("found %v, %v", items, err)
	}
	plan := w.value(`EXPLAIN FORMAT=JSON SELECT id FROM trade_order WHERE reference = ? ORDER BY id DESC LIMIT 11`, wanted.Reference)
	if !strings.Contains(plan, `"key": "trade_order_reference"`) {
		t.Errorf("the index is not used: %s", plan)
	}
}

func TestListRefusesACursorOfSomebodyElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, cursor := range []string{"x", "AAAA", "____________________________________________", "' OR 1=1"} {
		if _, _, err := order.List(t.Context(), w.db, order.Filter{UserID: "u1"}, cursor, 3); !errors.Is(err, order.ErrBadCursor) {
			t.Errorf("%q: %v", cursor, err)
		}
	}
}

func TestOverdueTakesADeadlineThatIsReachedAndPassesOverLockedRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	due, locked, later := w.order("u1", "k", 1), w.order("u2", "k", 1), w.order("u3", "k", 1)
	later.Await(w.now.Add(time.Hour))
	for _, o := range []order.Order{due, locked, later} {
		w.insert(o)
	}
	deadline := *due.PayDeadline
	ids, _, err := order.Overdue(t.Context(), w.db, deadline.Add(-time.Millisecond), order.Cursor{}, 10)
	if err != nil || len(ids) != 0 {
		t.Fatalf("just before: %v, %v", ids, err)
	}
	ids, _, err = order.Overdue(t.Context(), w.db, deadline, order.Cursor{}, 10)
	if err != nil || len(ids) != 2 {
		t.Fatalf("at the deadline: %v, %v", ids, err)
	}
	other, err := w.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Rollback() }()
	if _, err := order.GetForUpdate(t.Context(), other, locked.ID); err != nil {
		t.Fatal(err)
	}
	w.tx(func(ctx context.Context, tx *sql.Tx) error {
		got, err := order.LockOverdue(ctx, tx, ids, deadline)
		if err == nil && (len(got) != 1 || got[0].ID != due.ID) {
			t.Errorf("locked %v", got)
		}
		return err
	})
}

func TestActivityPagesHoldItsOrdersOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.activity
	for i := range 5 {
		w.insert(w.order(user(i), "k", 1))
	}
	w.activity = w.addActivity(first.OpensAt)
	w.insert(w.order("u9", "k", 1))
	count := 0
	for after := (sale.OrderID{}); ; {
		page, err := order.OfActivity(t.Context(), w.db, first.Number, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, o := range page {
			if o.ActivityID != first.ID {
				t.Fatalf("%s is of %s", o.ID, o.ActivityID)
			}
			count++
		}
		after = page[len(page)-1].ID
	}
	if count != 5 {
		t.Fatalf("paged through %d orders", count)
	}
	changed := 0
	for cursor := (order.Cursor{}); ; {
		page, next, err := order.ChangedSince(t.Context(), w.db, first.ID, w.now, cursor, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		changed, cursor = changed+len(page), next
	}
	if changed != 5 {
		t.Fatalf("%d orders changed", changed)
	}
}

// insert claims one order, whatever the user holds already.
func (w *world) insert(o order.Order) {
	w.t.Helper()
	w.batches++
	w.tx(func(ctx context.Context, tx *sql.Tx) error {
		_, _, err := order.Claim(ctx, tx, []order.Order{o}, order.BatchID{w.batches})
		return err
	})
}

func TestOverdueGoesOnBehindItsCursorLongestOverdueFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var last time.Time
	for i := range 7 { // three of them share a deadline, so that a page ends among them
		o := w.order(user(i), "k", 1)
		o.Await(w.now.Add(time.Duration(max(i, 3)) * time.Minute))
		last = *o.PayDeadline
		w.insert(o)
	}
	seen := make(map[sale.OrderID]bool)
	var before time.Time
	for cursor := (order.Cursor{}); ; {
		page, next, err := order.Overdue(t.Context(), w.db, last, cursor, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range page {
			if at := *w.get(id).PayDeadline; seen[id] || at.Before(before) {
				t.Errorf("%s of %v comes after %v, seen %v", id, at, before, seen[id])
			} else {
				seen[id], before = true, at
			}
		}
		if len(page) < 2 {
			break
		}
		cursor = next
	}
	if len(seen) != 7 {
		t.Errorf("%d are found, want 7", len(seen))
	}
}

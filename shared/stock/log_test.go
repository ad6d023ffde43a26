package stock

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast/shared/sale"
	"holdfast/shared/testenv"
)

func TestLogFieldsAreDecodedAndOthersRefused(t *testing.T) {
	t.Parallel()
	id := sale.NewOrderID(1_760_000_000_000, []byte("salt"), "u", "k")
	entry := entryField(id)
	for _, c := range []struct {
		field, value string
		want         Movement
	}{
		{entry, "1760000000000001 3 10 STANDARD 0:2,4:1 ua b c",
			Movement{Kind: KindTaken, Seq: 1760000000000001, OrderID: id, UserID: "a b c", Type: standard, Quantity: 3, Before: 10, Allocations: sale.Allocations{{Bucket: 0, Count: 2}, {Bucket: 4, Count: 1}}}},
		{entry, "7 0 0 SALE_CLOSED - uu1", Movement{Kind: KindMarked, Seq: 7, OrderID: id, UserID: "u1", Reason: "SALE_CLOSED"}},
		{"x" + entry, "8 -2 3 USER", Movement{Kind: KindDead, Seq: 8, OrderID: id, Before: -2, Quantity: 3, Reason: "USER"}},
		{"m" + entry, "9 1:3", Movement{Kind: KindMoved, Seq: 9, OrderID: id, Allocations: sale.Allocations{{Bucket: 1, Count: 3}}}},
		{"aadj 1", "10 STANDARD 0:5,1:-3", Movement{Kind: KindAdjusted, Seq: 10, AdjustmentID: "adj 1", Type: standard, Split: sale.Split{{Bucket: 0, Delta: 5}, {Bucket: 1, Delta: -3}}}},
		{"iaadj 1", "11 STANDARD 0:5", Movement{Kind: KindUndone, Seq: 11, AdjustmentID: "adj 1", Type: standard, Split: sale.Split{{Bucket: 0, Delta: 5}}}},
		{"iaadj 1", "12 - -", Movement{Kind: KindUndone, Seq: 12, AdjustmentID: "adj 1"}},
	} {
		if got, err := parseMovement(c.field, c.value); err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", c.want) {
			t.Errorf("%q:\n got %+v %v\nwant %+v", c.value, got, err, c.want)
		}
	}
	for field, values := range map[string][]string{
		entry:       {"", "1", "x 1 1 A 0:1 uu", "1 1 1 A 0:2 uu", "1 1 1 A 0:1 nobody", "1 1 1 A 0:0 uu", "1 1 1 A  uu"},
		"x" + entry: {"1 2 USER", "1 a 2 USER"},
		"m" + entry: {"1", "1 0:x"},
		"aid":       {"1 A", "1 A 0:0"},
		"tshort":    {"1 1 1 A 0:1 uu"},
		"unknown":   {"1"},
	} {
		for _, value := range values {
			if m, err := parseMovement(field, value); !errors.Is(err, ErrBadEntry) {
				t.Errorf("%q=%q was read as %+v, %v", field, value, m, err)
			}
		}
	}
}

func TestFoldCountsEachMovementOnceInAnyOrder(t *testing.T) {
	t.Parallel()
	f := &sale.Facts{Types: []sale.TypeFact{{ID: standard, Capacities: []int{4, 4}}}}
	id := func(key string) sale.OrderID { return sale.NewOrderID(1, nil, "u", key) }
	all := []Movement{
		{Kind: KindDead, OrderID: id("dead"), Quantity: 1},
		{Kind: KindTaken, OrderID: id("dead"), UserID: "u1", Type: standard, Quantity: 1, Allocations: sale.Allocations{{Bucket: 0, Count: 1}}},
		{Kind: KindMoved, OrderID: id("moved"), Allocations: sale.Allocations{{Bucket: 1, Count: 3}}},
		{Kind: KindTaken, OrderID: id("moved"), UserID: "u2", Type: standard, Quantity: 3, Allocations: sale.Allocations{{Bucket: 0, Count: 3}}},
		{Kind: KindTaken, OrderID: id("red"), UserID: "u3", Type: standard, Quantity: 9, Allocations: sale.Allocations{{Bucket: 0, Count: 9}}},
		{Kind: KindMarked, OrderID: id("marked"), UserID: "u4"},
		{Kind: KindAdjusted, AdjustmentID: "a", Type: standard, Split: sale.Split{{Bucket: 1, Delta: 2}}},
		{Kind: KindUndone, AdjustmentID: "b", Type: standard, Split: sale.Split{{Bucket: 0, Delta: 7}}},
		{Kind: KindAdjusted, AdjustmentID: "b", Type: standard, Split: sale.Split{{Bucket: 0, Delta: 7}}},
	}
	fold := NewFold(f)
	for range 2 {
		for _, m := range all {
			fold.Add(m)
		}
	}
	want := map[string]TypeSnapshot{standard: {-2, []int{-5, 3}}}
	if got := fold.Types(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if held := fold.Held(); fmt.Sprint(held) != fmt.Sprint(map[string]int{"u2": 3, "u3": 9}) {
		t.Errorf("held %v", held)
	}
}

// An entry without allocations must stay readable: nothing in an answer or in the log is a list that a script's language could
// turn into something else when it is empty.
func TestEntriesWithoutAllocationsStayReadable(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 1, 1)
	last := s.take("u1", "k", 1)
	if _, err := s.reserve(s.wish("u2", "k", 1)); !errors.Is(err, ErrInsufficient) {
		t.Error(err)
	}
	s.release(sale.Reservation{OrderID: s.facts.OrderID("u3", "never"), UserID: "u3"})
	s.release(last)
	for _, m := range s.movements() {
		if m.Kind == KindMarked && len(m.Allocations) != 0 {
			t.Errorf("%+v", m)
		}
	}
	entries, err := s.store.Entries(s.ctx(), s.id(), []sale.OrderID{s.facts.OrderID("u3", "never"), last.OrderID, s.facts.OrderID("u2", "k")})
	if err != nil || !entries[0].Found || entries[0].HasTaken || len(entries[0].Reservation.Allocations) != 0 || !entries[1].Found || entries[2].Found {
		t.Errorf("%+v %v", entries, err)
	}
	s.holds()
}

func TestPendingEntriesAreListedOldestFirstByPagesAndGrace(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 1, 50)
	var want []sale.OrderID
	for i := range 7 {
		want = append(want, s.take(fmt.Sprint("u", i), "k", 1).OrderID)
	}
	var got []sale.OrderID
	for cursor := (PendingCursor{}); ; {
		page, next, err := s.store.PendingBefore(s.ctx(), s.id(), 0, cursor, 3)
		s.must(err)
		if len(page) == 0 {
			break
		}
		got, cursor = append(got, page...), next
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if page, _, err := s.store.PendingBefore(s.ctx(), s.id(), time.Minute, PendingCursor{}, 9); err != nil || len(page) != 0 {
		t.Errorf("younger than the grace: %v %v", page, err)
	}
	later := New(s.rdb, func() time.Duration { return 2 * time.Minute })
	if page, _, err := later.PendingBefore(s.ctx(), s.id(), time.Minute, PendingCursor{}, 9); err != nil || len(page) != 7 {
		t.Errorf("two minutes later: %v %v", page, err)
	}
}

func TestCachedOrderOnlyMovesForward(t *testing.T) {
	t.Parallel()
	s := draftSale(t, testenv.Redis(t), testenv.ActivityID(t), 1, 1)
	id := s.facts.OrderID("u", "k")
	if _, found, err := s.store.CachedOrder(s.ctx(), s.id(), id); found || err != nil {
		t.Errorf("%v %v", found, err)
	}
	for _, step := range []struct {
		rank int
		json string
		want string
	}{{1, `{"a":1}`, `{"a":1}`}, {2, `{"b":2}`, `{"b":2}`}, {1, `{"late":1}`, `{"b":2}`}, {2, `{"b":3}`, `{"b":3}`}, {3, ``, ``}} {
		s.must(s.store.CacheOrder(s.ctx(), s.id(), id, step.rank, []byte(step.json)))
		if got, found, err := s.store.CachedOrder(s.ctx(), s.id(), id); err != nil || !found || string(got) != step.want {
			t.Errorf("after %+v: %s %v %v", step, got, found, err)
		}
	}
	for _, rank := range []int{0, 10, -1} {
		if err := s.store.CacheOrder(s.ctx(), s.id(), id, rank, nil); err == nil {
			t.Errorf("rank %d was accepted", rank)
		}
	}
}

func TestManySnapshotsKeepTheirOrderAndTheirOwnErrors(t *testing.T) {
	t.Parallel()
	rdb := testenv.Redis(t)
	a, absent, b := newSale(t, rdb, 1, 3), draftSale(t, rdb, testenv.ActivityID(t), 1, 1), newSale(t, rdb, 1, 4, 4)
	got := a.store.Snapshots(a.ctx(), []*sale.Facts{a.facts, absent.facts, b.facts})
	if got[0].Err != nil || got[0].Snapshot.Types[standard].Left != 3 || !errors.Is(got[1].Err, ErrNotLoaded) || got[2].Err != nil || got[2].Snapshot.Types[standard].Left != 8 {
		t.Errorf("%+v", got)
	}
	if got := a.store.Snapshots(a.ctx(), nil); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	if now, err := a.store.Now(a.ctx()); err != nil || time.Since(now).Abs() > time.Minute || time.Since(got[0].Snapshot.Now).Abs() > time.Minute {
		t.Errorf("now %v %v", now, err)
	}
	a.must(a.store.Probe(a.ctx()))
}

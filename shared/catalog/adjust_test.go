package catalog_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/fault"
	"holdfast/shared/sale"
)

// onSale publishes the activity A: VIP has 3, 3, 2, 2 units in its buckets.
func onSale(t *testing.T) *shop {
	t.Helper()
	s := newShop(t)
	s.create(t, "A")
	s.move(t, "A", sale.Published)
	return s
}

func less(id string, delta int) catalog.Adjustment {
	return catalog.Adjustment{ActivityID: "A", ID: id, TicketType: "VIP", Delta: delta, Reason: "a wall was moved"}
}

func (s *shop) begin(t *testing.T, w catalog.Adjustment) catalog.Adjustment {
	t.Helper()
	a, created, err := s.BeginAdjustment(t.Context(), w, operator)
	if err != nil || !created || a.Status != catalog.Pending || a.Operator != "op-1" || a.Split != nil {
		t.Fatalf("%+v, created %v: %v", a, created, err)
	}
	return a
}

func split(t *testing.T, text string) sale.Split {
	t.Helper()
	s, err := sale.ParseSplit(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAppliedSplitStandsInTheBucketsOnce(t *testing.T) {
	t.Parallel()
	s := onSale(t)
	s.begin(t, less("j1", 2))
	s.begin(t, less("j2", -4))
	// Bucket 3 has 2 units only: of a split that wants 3 from it nothing may stand.
	if _, err := s.ApplyAdjustment(t.Context(), "A", "j1", split(t, "0:5,3:-3")); !errors.Is(err, catalog.ErrBelowSold) {
		t.Fatalf("got %v, want ErrBelowSold", err)
	}
	if b := s.buckets(t, "A", "VIP", "adjusted"); !slices.Equal(b, []int{0, 0, 0, 0}) {
		t.Fatalf("a refused split left %v", b)
	}
	for range 2 {
		if a, err := s.ApplyAdjustment(t.Context(), "A", "j1", split(t, "0:4,3:-2")); err != nil || a.Status != catalog.Applied {
			t.Fatalf("%+v: %v", a, err)
		}
	}
	if _, err := s.ApplyAdjustment(t.Context(), "A", "j2", split(t, "0:-1,1:-3")); err != nil {
		t.Fatal(err)
	}
	if b := s.buckets(t, "A", "VIP", "adjusted"); !slices.Equal(b, []int{3, -3, 0, -2}) {
		t.Errorf("adjusted %v", b)
	}
	if n := s.audited(t, "activity.adjust-stock"); n != 2 {
		t.Errorf("%d audit rows", n)
	}
}

func TestUnitsOfOrdersAreNeverTakenAway(t *testing.T) {
	t.Parallel()
	s := onSale(t)
	s.exec(t, `UPDATE stock_bucket SET frozen = 1, sold = 1 WHERE activity_id = 'A' AND ticket_type = 'VIP' AND bucket = 0`)
	s.begin(t, less("j1", -2))
	_, err := s.ApplyAdjustment(t.Context(), "A", "j1", split(t, "0:-2"))
	if !errors.Is(err, catalog.ErrBelowSold) || fault.Of(err) != fault.StockBelowSold {
		t.Errorf("got %v, want ErrBelowSold", err)
	}
	for range 2 {
		a, err := s.RefuseAdjustment(t.Context(), "A", "j1", string(fault.StockBelowSold))
		if err != nil || a.Status != catalog.Refused || a.Refusal != "STOCK_BELOW_SOLD" {
			t.Errorf("%+v: %v", a, err)
		}
	}
	if _, err := s.ApplyAdjustment(t.Context(), "A", "j1", split(t, "1:-2")); !errors.Is(err, catalog.ErrAdjustmentRefused) {
		t.Errorf("a refused adjustment was applied: %v", err)
	}
	if b := s.buckets(t, "A", "VIP", "adjusted"); !slices.Equal(b, []int{0, 0, 0, 0}) {
		t.Errorf("adjusted %v", b)
	}
}

func TestSameAdjustmentAgainIsTheSameAndAnotherIsRefused(t *testing.T) {
	t.Parallel()
	s := onSale(t)
	var made atomic.Int32
	for _, err := range each(10, func(int) error {
		_, created, err := s.BeginAdjustment(t.Context(), less("j1", 2), operator)
		if created {
			made.Add(1)
		}
		return err
	}) {
		t.Error(err)
	}
	if made.Load() != 1 || s.audited(t, "activity.adjust-stock") != 1 {
		t.Errorf("%d made, %d audit rows", made.Load(), s.audited(t, "activity.adjust-stock"))
	}
	for _, w := range []catalog.Adjustment{less("j1", 3), {ActivityID: "A", ID: "j1", TicketType: "STANDARD", Delta: 2, Reason: "a wall was moved"}} {
		if _, _, err := s.BeginAdjustment(t.Context(), w, operator); !errors.Is(err, catalog.ErrAdjustmentExists) || fault.Of(err) != fault.AdjustmentExists {
			t.Errorf("%+v: %v", w, err)
		}
	}
	if _, err := s.ApplyAdjustment(t.Context(), "A", "j1", split(t, "0:2")); err != nil {
		t.Fatal(err)
	}
	s.move(t, "A", sale.Closed)
	if a, created, err := s.BeginAdjustment(t.Context(), less("j1", 2), operator); err != nil || created || a.Status != catalog.Applied {
		t.Errorf("a repeat after the sale: %+v: %v", a, err)
	}
	if _, err := s.ApplyAdjustment(t.Context(), "A", "j1", split(t, "1:2")); err == nil {
		t.Error("an applied adjustment was applied with another split")
	}
	if _, err := s.RefuseAdjustment(t.Context(), "A", "j1", "X"); err == nil {
		t.Error("an applied adjustment was refused")
	}
}

func TestAdjustmentThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	s := onSale(t)
	s.create(t, "D")
	in := func(change func(*catalog.Adjustment)) catalog.Adjustment {
		w := less("j1", 1)
		change(&w)
		return w
	}
	for _, c := range []struct {
		outcome string
		w       catalog.Adjustment
		want    error
	}{
		{"unknown activity", in(func(w *catalog.Adjustment) { w.ActivityID = "B" }), catalog.ErrNotFound},
		{"draft", in(func(w *catalog.Adjustment) { w.ActivityID = "D" }), catalog.ErrIllegalTransition},
		{"unknown type", in(func(w *catalog.Adjustment) { w.TicketType = "vip" }), catalog.ErrRefused},
		{"nothing", in(func(w *catalog.Adjustment) { w.Delta = 0 }), catalog.ErrRefused},
		{"no reason", in(func(w *catalog.Adjustment) { w.Reason = "" }), catalog.ErrRefused},
	} {
		if _, created, err := s.BeginAdjustment(t.Context(), c.w, operator); !errors.Is(err, c.want) || created {
			t.Errorf("%s: %v", c.outcome, err)
		}
	}
	if _, err := s.ApplyAdjustment(t.Context(), "A", "never", split(t, "0:1")); !errors.Is(err, catalog.ErrAdjustmentNotFound) {
		t.Errorf("an unknown adjustment: %v", err)
	}
	s.begin(t, less("j1", 1))
	if _, err := s.ApplyAdjustment(t.Context(), "A", "j1", split(t, "0:2")); err == nil {
		t.Error("a split of another sum was applied")
	}
	if _, err := s.ApplyAdjustment(t.Context(), "A", "j1", split(t, "9:1")); !errors.Is(err, catalog.ErrBelowSold) {
		t.Errorf("a bucket that is not there: %v", err)
	}
	s.begin(t, less("j2", 2))
	if _, err := s.ApplyAdjustment(t.Context(), "A", "j2", split(t, "0:2147483647,1:-2147483645")); !errors.Is(err, catalog.ErrBelowSold) {
		t.Fatal(err)
	}
	s.begin(t, less("j3", 1))
	if _, err := s.db.ExecContext(t.Context(), `UPDATE stock_bucket SET adjusted = 2147483647 WHERE ticket_type = 'VIP' AND bucket = 0`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ApplyAdjustment(t.Context(), "A", "j3", split(t, "0:1")); !errors.Is(err, catalog.ErrRefused) {
		t.Errorf("more than a column holds: %v", err)
	}
}

func TestUnfinishedAdjustmentsAreFoundOldestFirstAndAppliedOnesPageById(t *testing.T) {
	t.Parallel()
	s := onSale(t)
	for _, id := range []string{"c", "a", "b", "d"} {
		s.begin(t, less(id, 1))
		s.offset += time.Minute
	}
	if _, err := s.ApplyAdjustment(t.Context(), "A", "c", split(t, "0:1")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RefuseAdjustment(t.Context(), "A", "d", "STOCK_BELOW_SOLD"); err != nil {
		t.Fatal(err)
	}
	ids := func(list []catalog.Adjustment, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, a := range list {
			out = append(out, a.ID)
		}
		return strings.Join(out, " ")
	}
	now, err := s.db.Now(t.Context(), s.db)
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(catalog.UnfinishedAdjustments(t.Context(), s.db, now, 10)); got != "a b" {
		t.Errorf("unfinished: %q", got)
	}
	if got := ids(catalog.UnfinishedAdjustments(t.Context(), s.db, now.Add(-150*time.Second), 10)); got != "a" {
		t.Errorf("unfinished for long: %q", got)
	}
	for _, id := range []string{"a", "b"} {
		if _, err := s.ApplyAdjustment(t.Context(), "A", id, split(t, "1:1")); err != nil {
			t.Fatal(err)
		}
	}
	if got := ids(catalog.AppliedAdjustments(t.Context(), s.db, "A", "", 2)); got != "a b" {
		t.Errorf("first page: %q", got)
	}
	if got := ids(catalog.AppliedAdjustments(t.Context(), s.db, "A", "b", 2)); got != "c" {
		t.Errorf("second page: %q", got)
	}
	if a, err := catalog.GetAdjustment(t.Context(), s.db, "A", "d"); err != nil || a.Status != catalog.Refused {
		t.Errorf("%+v: %v", a, err)
	}
}

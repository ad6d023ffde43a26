package catalog_test

import (
	"errors"
	"math"
	"sync"
	"testing"

	"holdfast/shared/catalog"
	"holdfast/shared/fault"
	"holdfast/shared/sale"
)

// huge publishes the activity A: VIP has this many units in one bucket.
func huge(t *testing.T, capacity int) *shop {
	t.Helper()
	s := newShop(t)
	d := draft(t, "A")
	d.TicketTypes[0].Capacity, d.TicketTypes[0].Buckets = capacity, 1
	if _, _, err := s.Create(t.Context(), d, operator); err != nil {
		t.Fatal(err)
	}
	s.move(t, "A", sale.Published)
	return s
}

// The figures of a type are written down as INT, so there must never be more units of it, whichever adjustments are applied or refused.
func TestAdjustmentsNeverMakeMoreUnitsThanAFigureHolds(t *testing.T) {
	t.Parallel()
	s := huge(t, math.MaxInt32-10)
	refuse := func(id string, delta int) {
		t.Helper()
		_, created, err := s.BeginAdjustment(t.Context(), less(id, delta), operator)
		var f *fault.Error
		if created || !errors.Is(err, catalog.ErrRefused) || !errors.As(err, &f) || len(f.Violations) != 1 || f.Violations[0].Pointer != "/delta" {
			t.Errorf("%s: %v", id, err)
		}
	}
	refuse("eleven", 11)
	s.begin(t, less("down", -5)) // it may be refused yet, so it makes no room
	refuse("beside-down", 11)
	s.begin(t, less("six", 6))
	refuse("beside-six", 5)
	if _, err := s.RefuseAdjustment(t.Context(), "A", "six", "STOCK_BELOW_SOLD"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ApplyAdjustment(t.Context(), "A", "down", split(t, "0:-5")); err != nil {
		t.Fatal(err)
	}
	s.begin(t, less("fifteen", 15))
	refuse("one", 1)
	if _, err := s.ApplyAdjustment(t.Context(), "A", "fifteen", split(t, "0:15")); err != nil {
		t.Fatal(err)
	}
	refuse("one", 1)
	if a, created, err := s.BeginAdjustment(t.Context(), less("fifteen", 15), operator); created || err != nil || a.Status != catalog.Applied {
		t.Errorf("a repeat: %+v %v", a, err)
	}
}

func TestAdjustmentsAtOnceShareTheRoomThatThereIs(t *testing.T) {
	t.Parallel()
	s := huge(t, math.MaxInt32-3)
	var begun [8]bool
	var g sync.WaitGroup
	for i := range begun {
		g.Go(func() {
			_, created, err := s.BeginAdjustment(t.Context(), less(string(rune('a'+i)), 1), operator)
			if begun[i] = created; !created && !errors.Is(err, catalog.ErrRefused) {
				t.Error(err)
			}
		})
	}
	g.Wait()
	n := 0
	for _, b := range begun {
		if b {
			n++
		}
	}
	if n != 3 {
		t.Errorf("%d were begun, and there is room for 3", n)
	}
}

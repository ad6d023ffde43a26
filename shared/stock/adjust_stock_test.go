package stock

import (
	"errors"
	"fmt"
	"testing"

	"holdfast/shared/testenv"
)

func TestAdjustmentIsSpreadOverBucketsOncePerId(t *testing.T) {
	t.Parallel()
	rdb := testenv.Redis(t)
	for _, c := range []struct {
		capacities []int
		taken      [][2]int // bucket, units
		delta      int
		split      string
		left       []int
	}{
		{[]int{5, 5, 5}, nil, 7, "0:3,1:2,2:2", []int{8, 7, 7}},
		{[]int{5, 5, 5}, nil, 2, "0:1,1:1", []int{6, 6, 5}},
		{[]int{5, 5, 5}, nil, -15, "0:-5,1:-5,2:-5", []int{0, 0, 0}},
		{[]int{5, 5, 5}, nil, -4, "0:-2,1:-1,2:-1", []int{3, 4, 4}},
		{[]int{5, 5, 5}, [][2]int{{0, 5}, {1, 3}}, -6, "1:-2,2:-4", []int{0, 0, 1}},
		{[]int{1}, nil, -1, "0:-1", []int{0}},
	} {
		s := newSale(t, rdb, 99, c.capacities...)
		for i, take := range c.taken {
			_, err := s.reserve(s.wishAt(take[0], len(c.capacities), fmt.Sprint("u", i), take[1]))
			s.must(err)
		}
		want := Adjustment{"adj", standard, c.delta}
		got, err := s.store.AdjustStock(s.ctx(), s.facts, want)
		if err != nil || got.Adjustment != want || got.Split.Compact() != c.split {
			t.Errorf("%+v: %+v %v", c, got, err)
		}
		if left := s.snapshot().Types[standard].Buckets; fmt.Sprint(left) != fmt.Sprint(c.left) {
			t.Errorf("%+v: left %v", c, left)
		}
		before := s.dump()
		if got, err := s.store.AdjustStock(s.ctx(), s.facts, want); err != nil || got.Split.Compact() != c.split {
			t.Errorf("again: %+v %v", got, err)
		}
		s.unchanged(before)
		s.holds()
	}
}

func TestMoreThanIsLeftCannotBeTakenAway(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 3, 3)
	s.take("u1", "k", 4)
	before := s.dump()
	if _, err := s.store.AdjustStock(s.ctx(), s.facts, Adjustment{"a", standard, -3}); !errors.Is(err, ErrInsufficient) {
		t.Error(err)
	}
	for _, delta := range []int{0, MaxQuantity + 1, -MaxQuantity - 1} {
		if _, err := s.store.AdjustStock(s.ctx(), s.facts, Adjustment{"a", standard, delta}); !errors.Is(err, ErrBadQuantity) {
			t.Errorf("%d: %v", delta, err)
		}
	}
	s.unchanged(before)
}

func TestUndoneAdjustmentStaysUndone(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 3, 3)
	_, err := s.store.AdjustStock(s.ctx(), s.facts, Adjustment{"a", standard, 5})
	s.must(err)
	s.take("u1", "k", 8)
	s.must(s.store.UndoAdjustment(s.ctx(), s.id(), "a"))
	if s.left() != -2 { // sold meanwhile: the truth is below zero
		t.Errorf("%d left", s.left())
	}
	before := s.dump()
	s.must(s.store.UndoAdjustment(s.ctx(), s.id(), "a"))
	if _, err := s.store.AdjustStock(s.ctx(), s.facts, Adjustment{"a", standard, 5}); !errors.Is(err, ErrAdjustmentUndone) {
		t.Error(err)
	}
	s.unchanged(before)
	s.holds()
}

func TestAdjustmentThatComesAfterItsUndoingChangesNothing(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 3)
	s.must(s.store.UndoAdjustment(s.ctx(), s.id(), "late"))
	if _, err := s.store.AdjustStock(s.ctx(), s.facts, Adjustment{"late", standard, 5}); !errors.Is(err, ErrAdjustmentUndone) || s.left() != 3 {
		t.Errorf("%v, %d left", err, s.left())
	}
	s.holds()
}

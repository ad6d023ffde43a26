package stock

import (
	"math"
	"strconv"
	"testing"

	"holdfast/shared/testenv"
)

// A counter beyond what MySQL's columns hold is no reason to lose an order: its figures are not known then.
func TestFiguresBeyondTheirColumnsAreNotKnown(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 5, 20, 20)
	leave := func(units int) {
		t.Helper()
		s.must(s.rdb.HSet(s.ctx(), keysOf(s.id()).rules(), counterField(standard), strconv.Itoa(units)).Err())
	}
	leave(math.MaxInt32)
	if r := s.take("u1", "k", 1); r.Before != math.MaxInt32 {
		t.Errorf("the highest figure became %d", r.Before)
	}
	leave(math.MaxInt32 + 1)
	r := s.take("u2", "k", 2)
	if r.Before != -1 {
		t.Errorf("taken with %d left before", r.Before)
	}
	if e, err := s.store.Entry(s.ctx(), s.id(), r.OrderID); err != nil || e.Reservation.Before != -1 {
		t.Errorf("read again: %+v %v", e, err)
	}
	for range 2 {
		leave(math.MaxInt32 - 1)
		if got := s.release(r); got.Before != -1 || got.After != -1 {
			t.Errorf("released with %+v", got)
		}
	}
}

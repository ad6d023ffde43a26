package stock

import (
	"fmt"
	"slices"
	"testing"

	"holdfast/shared/sale"
	"holdfast/shared/testenv"
)

func lostOrder(s *testSale, user string, bucket, quantity int) sale.Reservation {
	return sale.Reservation{OrderID: s.facts.OrderID(user, "lost"), ActivityID: s.id(), UserID: user, TicketType: standard, Quantity: quantity,
		Allocations: sale.Allocations{{Bucket: bucket, Count: quantity}}}
}

func TestAcknowledgedOrderIsPendingNoMoreAndNothingElseChanges(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 5, 5)
	a, b := s.take("u1", "k", 2), s.take("u2", "k", 1)
	k := keysOf(s.id())
	before := s.dump(k.rules(), k.buyers(), k.log())
	for range 2 {
		if got := s.ack(a); !slices.Equal(got, []AckOutcome{AckDone}) {
			t.Errorf("%v", got)
		}
		if got := s.pending(); !slices.Equal(got, []sale.OrderID{b.OrderID}) {
			t.Errorf("pending %v", got)
		}
	}
	s.unchanged(before)
	if entry, err := s.store.Entry(s.ctx(), s.id(), a.OrderID); err != nil || entry.Standing != Acknowledged {
		t.Errorf("%+v %v", entry, err)
	}
}

func TestOrderThatRedisLostIsAdoptedOnce(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 2, 1, 5)
	s.take("u2", "k", 1)
	lost := lostOrder(s, "u1", 0, 2)
	if got := s.ack(lost); got[0] != AckAdopted {
		t.Errorf("%v", got)
	}
	left := s.snapshot().Types[standard]
	if left.Left != 3 || left.Buckets[0]+left.Buckets[1] != 3 || left.Buckets[0] >= 0 {
		t.Errorf("left %+v, want bucket 0 below zero", left)
	}
	before := s.dump()
	if got := s.ack(lost, lost); !slices.Equal(got, []AckOutcome{AckDone, AckDone}) {
		t.Errorf("again: %v", got)
	}
	s.unchanged(before)
	if holding, err := s.store.Holding(s.ctx(), s.id(), "u1"); err != nil || holding != (Holding{2, lost.OrderID}) {
		t.Errorf("%+v %v", holding, err)
	}
	if got := s.release(lost); got != (Released{Given, 3, 5}) {
		t.Errorf("%+v", got)
	}
	s.holds()
}

func TestAdoptionMayTakeTheTotalBelowZero(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 1)
	s.take("u1", "k", 1)
	s.ack(lostOrder(s, "u2", 0, 3))
	if s.left() != -3 {
		t.Errorf("%d left, want -3", s.left())
	}
	s.holds()
}

func TestOneIdTwiceInABatchIsAdoptedOnce(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 9, 9)
	lost, other := lostOrder(s, "u1", 0, 2), lostOrder(s, "u2", 1, 3)
	again := lost
	again.OrderID = s.facts.OrderID("u1", "second of the same user")
	got := s.ack(lost, other, lost, again)
	if !slices.Equal(got, []AckOutcome{AckAdopted, AckAdopted, AckDone, AckAdopted}) || s.left() != 11 {
		t.Errorf("%v, %d left", got, s.left())
	}
	if holding, err := s.store.Holding(s.ctx(), s.id(), "u1"); err != nil || holding.Quantity != 4 {
		t.Errorf("%+v %v", holding, err)
	}
	s.holds()
}

func TestOrderThatMySQLAllocatedOtherwiseIsMovedOnce(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 5, 5, 5)
	got, err := s.reserve(s.wishAt(1, 3, "u1", 4))
	s.must(err)
	moved := got.Reservation
	moved.Allocations = sale.Allocations{{Bucket: 0, Count: 3}, {Bucket: 2, Count: 1}}
	if got := s.ack(moved); got[0] != AckMoved {
		t.Errorf("%v", got)
	}
	if left := s.snapshot().Types[standard]; fmt.Sprint(left) != fmt.Sprint(TypeSnapshot{11, []int{2, 5, 4}}) {
		t.Errorf("left %+v", left)
	}
	before := s.dump()
	if got := s.ack(moved); got[0] != AckDone {
		t.Errorf("again: %v", got)
	}
	if got := s.ack(got.Reservation); got[0] != AckConflict {
		t.Errorf("moved back: %v", got)
	}
	s.unchanged(before)
	if entry, err := s.store.Entry(s.ctx(), s.id(), moved.OrderID); err != nil || entry.Reservation.Allocations.Compact() != "0:3,2:1" {
		t.Errorf("%+v %v", entry, err)
	}
	s.holds()
	s.release(moved)
	if left := s.snapshot().Types[standard]; fmt.Sprint(left) != fmt.Sprint(TypeSnapshot{15, []int{5, 5, 5}}) {
		t.Errorf("left after release %+v", left)
	}
	s.holds()
}

func TestDeadOrdersAndContradictionsChangeNothing(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 9, 9)
	dead, live := s.take("u1", "k", 1), s.take("u2", "k", 2)
	s.release(dead)
	contradiction := live
	contradiction.Quantity, contradiction.Allocations = 3, sale.Allocations{{Bucket: 0, Count: 3}}
	before := s.dump()
	if got := s.ack(dead, contradiction); !slices.Equal(got, []AckOutcome{AckDead, AckConflict}) {
		t.Errorf("%v", got)
	}
	s.unchanged(before)
}

func TestOrderOfABucketThatRedisDoesNotHaveChangesNothingOfItsBatch(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 9, 9)
	fine := s.take("u1", "k", 1)
	before := s.dump()
	if _, err := s.store.Acknowledge(s.ctx(), s.id(), []sale.Reservation{fine, lostOrder(s, "u2", 7, 1)}); err == nil {
		t.Error("acknowledged")
	}
	s.unchanged(before)
}

func TestLongListIsAcknowledgedInOrder(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 1, 500)
	var orders []sale.Reservation
	var want []AckOutcome
	for i := range 2*ordersAtOnce + 7 {
		user := fmt.Sprint("u", i)
		if i%3 == 0 {
			orders, want = append(orders, lostOrder(s, user, 0, 1)), append(want, AckAdopted)
		} else {
			orders, want = append(orders, s.take(user, "k", 1)), append(want, AckDone)
		}
	}
	if got := s.ack(orders...); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := s.ack(); len(got) != 0 || len(s.pending()) != 0 {
		t.Errorf("%v, pending %d", got, len(s.pending()))
	}
	s.holds()
}

package stock

import (
	"errors"
	"fmt"
	"testing"

	"holdfast/shared/sale"
	"holdfast/shared/testenv"
)

func TestReleaseGivesBackWhatTheLogSaysOnceForEver(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 2, 2, 2)
	first := s.take("u1", "k", 5)
	got, err := s.store.Release(s.ctx(), s.id(), first.OrderID, "somebody else", "PAY_TIMEOUT")
	s.must(err)
	if got != (Released{Given, 1, 6}) {
		t.Errorf("%+v", got)
	}
	if len(s.pending()) != 0 {
		t.Error("still pending")
	}
	s.take("u2", "k", 4) // others move stock on; the figures of the release stay its own
	before := s.dump()
	for range 2 {
		if got, err := s.store.Release(s.ctx(), s.id(), first.OrderID, "u1", "USER"); err != nil || got != (Released{Already, 1, 6}) {
			t.Errorf("again: %+v %v", got, err)
		}
	}
	s.unchanged(before)
	entry, err := s.store.Entry(s.ctx(), s.id(), first.OrderID)
	s.must(err)
	if entry.Standing != Dead || entry.Reason != "PAY_TIMEOUT" || !entry.HasTaken || fmt.Sprint(entry.Reservation) != fmt.Sprint(first) {
		t.Errorf("%+v", entry)
	}
	if holding, err := s.store.Holding(s.ctx(), s.id(), "u1"); err != nil || holding != (Holding{0, first.OrderID}) {
		t.Errorf("%+v %v", holding, err)
	}
	s.holds()
}

// The figures of a deduction and of its release are each their own moment's, however many moved stock in between.
func TestFiguresOfAReleaseAreNotTheDeductionsTurnedRound(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 50, 50)
	first := s.take("u1", "k", 2)
	s.take("u2", "k", 7)
	got := s.release(first)
	if first.Before != 100 || got != (Released{Given, 91, 93}) {
		t.Errorf("taken at %d left, released %+v", first.Before, got)
	}
	for _, m := range s.movements() {
		switch {
		case m.Kind == KindDead && (m.Before != 91 || m.Quantity != 2):
			t.Errorf("dead entry %+v", m)
		case m.Kind == KindTaken && m.OrderID == first.OrderID && m.Before != 100:
			t.Errorf("the taken entry was rewritten: %+v", m)
		}
	}
}

func TestUnknownIdGetsADeadMarkerThatGivesNothing(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 1, 5)
	late := s.wish("u1", "late", 1)
	got, err := s.store.Release(s.ctx(), s.id(), late.OrderID, "u1", "SALE_CLOSED")
	if err != nil || got != (Released{Outcome: Marked}) || s.left() != 5 {
		t.Errorf("%+v %v, %d left", got, err, s.left())
	}
	before := s.dump()
	if got, err := s.store.Release(s.ctx(), s.id(), late.OrderID, "u1", "USER"); err != nil || got != (Released{Outcome: Already}) {
		t.Errorf("again: %+v %v", got, err)
	}
	reserved, err := s.reserve(late)
	if err != nil || reserved.Standing != Dead || reserved.Reason != "SALE_CLOSED" {
		t.Errorf("reserve after the marker: %+v %v", reserved, err)
	}
	live := sale.Reservation{OrderID: late.OrderID, UserID: "u1", TicketType: standard, Quantity: 1, Allocations: sale.Allocations{{Bucket: 0, Count: 1}}}
	if got := s.ack(live); got[0] != AckDead {
		t.Errorf("acknowledged after the marker: %v", got)
	}
	entry, err := s.store.Entry(s.ctx(), s.id(), late.OrderID)
	if err != nil || entry.Standing != Dead || entry.HasTaken || entry.Reservation.UserID != "u1" || len(entry.Reservation.Allocations) != 0 {
		t.Errorf("%+v %v", entry, err)
	}
	s.unchanged(before)
	s.take("u1", "another wish", 1) // a dead marker is no purchase
	s.holds()
}

func TestUserMayBuyAgainAfterRelease(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 1, 5)
	s.release(s.take("u1", "a", 1))
	second := s.take("u1", "b", 1)
	var refusal *Refusal
	if _, err := s.reserve(s.wish("u1", "c", 1)); !errors.As(err, &refusal) || refusal.OrderID != second.OrderID {
		t.Errorf("%v, want the second order named", err)
	}
	if got, err := s.reserve(s.wish("u1", "a", 1)); err != nil || got.Standing != Dead || got.Reason != "USER" {
		t.Errorf("the dead order's key: %+v %v", got, err)
	}
	s.holds()
}

func TestReleasedUnitsCanBeBoughtAtOnce(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 1, 3, 2)
	var orders []sale.Reservation
	for i := range 5 {
		orders = append(orders, s.take(fmt.Sprint("u", i), "k", 1))
	}
	if _, err := s.reserve(s.wish("late", "k", 1)); !errors.Is(err, ErrInsufficient) {
		t.Error(err)
	}
	s.release(orders[2])
	s.take("late", "k", 1)
	s.holds()
}

func TestReasonOfSeveralWordsIsRefused(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 1, 3)
	r := s.take("u1", "k", 1)
	before := s.dump()
	for _, reason := range []string{"", "two words", "line\nbreak"} {
		if _, err := s.store.Release(s.ctx(), s.id(), r.OrderID, "u1", reason); !errors.Is(err, ErrBadReason) {
			t.Errorf("%q: %v", reason, err)
		}
	}
	s.unchanged(before)
}

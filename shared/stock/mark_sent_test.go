package stock

import (
	"errors"
	"testing"

	"holdfast/shared/sale"
	"holdfast/shared/testenv"
)

func TestMarkedReservationIsTellableFromUnmarkedAndMovesNoUnit(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 4, 4, 4)
	sent, silent := s.take("a", "k", 2), s.take("b", "k", 1)
	left := s.left()
	s.must(s.store.MarkSent(s.ctx(), s.id(), sent.OrderID))
	found, err := s.store.Entries(s.ctx(), s.id(), []sale.OrderID{sent.OrderID, silent.OrderID})
	s.must(err)
	if !found[0].Sent || found[1].Sent || found[0].Standing != Pending {
		t.Errorf("sent %v, not sent %v, standing %v", found[0].Sent, found[1].Sent, found[0].Standing)
	}
	if s.left() != left {
		t.Errorf("%d left after marking, %d before", s.left(), left)
	}
	s.holds()
}

func TestMarkIsNotWrittenOnceMySQLHasDecided(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 4, 4, 4)
	live, dead := s.take("a", "k", 2), s.take("b", "k", 1)
	s.ack(live)
	s.release(dead)
	before := s.dump(s.setKeys()...)
	s.must(s.store.MarkSent(s.ctx(), s.id(), live.OrderID))
	s.must(s.store.MarkSent(s.ctx(), s.id(), dead.OrderID))
	s.unchanged(before)
}

func TestMarkOfALostReservationPromisesNothing(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 4, 4, 4)
	before := s.dump(s.setKeys()...)
	if err := s.store.MarkSent(s.ctx(), s.id(), lostOrder(s, "lost", 1, 2).OrderID); !errors.Is(err, ErrNoEntry) {
		t.Errorf("%v, want no entry", err)
	}
	s.unchanged(before)
}

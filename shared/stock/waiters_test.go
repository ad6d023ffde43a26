package stock

import (
	"errors"
	"slices"
	"testing"

	"holdfast/shared/sale"
	"holdfast/shared/testenv"
)

func (s *testSale) waiters() []sale.EntryID {
	s.t.Helper()
	page, err := s.store.ScanWaiters(s.ctx(), s.id(), standard, 0, 100)
	s.must(err)
	if page.Next != 0 {
		s.t.Fatal("more than one page")
	}
	slices.SortFunc(page.IDs, func(a, b sale.EntryID) int { return int(a[0]) - int(b[0]) })
	return page.IDs
}

func (s *testSale) add(ids ...sale.EntryID) {
	s.t.Helper()
	_, err := s.store.AddWaiters(s.ctx(), s.id(), standard, ids)
	s.must(err)
}

func TestPublicIsToldThatNothingIsLeftWhileAnybodyWaits(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 5, 5)
	before := s.wish("early", "k", 2)
	_, err := s.reserve(before)
	s.must(err)
	s.add(sale.EntryID{1})
	stands := s.dump()
	_, err = s.reserve(s.wish("u", "k", 3))
	var r *Refusal
	if !errors.As(err, &r) || !errors.Is(err, ErrInsufficient) || r.Shortage != 3 {
		t.Errorf("%v, want that all three are missing", err)
	}
	s.unchanged(stands)
	if got, err := s.reserve(before); err != nil || got.Standing != Pending {
		t.Errorf("a replay of what was taken before: %+v, %v", got, err)
	}
	past := s.wish("offered", "k", 3)
	past.PastGate = true
	if got, err := s.reserve(past); err != nil || got.Standing != Taken {
		t.Errorf("past the gate: %+v, %v", got, err)
	}
	if _, err := s.store.LeaveWaitlist(s.ctx(), s.id(), standard, []sale.EntryID{{1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.reserve(s.wish("u", "k", 3)); err != nil {
		t.Errorf("when nobody waits any more: %v", err)
	}
	s.holds()
}

// Sold out is the answer that most hear; it must not cost the look at who waits, nor be another one for it.
func TestSoldOutIsSoldOutWhoeverWaits(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 1)
	_, err := s.reserve(s.wish("early", "k", 1))
	s.must(err)
	s.add(sale.EntryID{1})
	for _, past := range []bool{false, true} {
		w := s.wish("u", "k", 2)
		w.PastGate = past
		var r *Refusal
		if _, err := s.reserve(w); !errors.As(err, &r) || r.Err != ErrInsufficient || r.Shortage != 2 {
			t.Errorf("past the gate %v: %v", past, err)
		}
	}
}

func TestGateSendsToBuyOnlyWhenNobodyWaitsAndTheUnitsAreThere(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 2, 1)
	gate := func(id byte, quantity int) bool {
		free, err := s.store.GateWaitlist(s.ctx(), s.id(), standard, sale.EntryID{id}, quantity)
		s.must(err)
		return free
	}
	if !gate(1, 3) || len(s.waiters()) != 0 {
		t.Error("three units are there, and nobody waits")
	}
	if gate(2, 4) {
		t.Error("four units are not there")
	}
	if gate(3, 1) {
		t.Error("somebody waits already")
	}
	if gate(2, 4) || !slices.Equal(s.waiters(), []sale.EntryID{{2}, {3}}) {
		t.Errorf("those who wait: %v", s.waiters())
	}
	w, err := s.store.Waiting(s.ctx(), s.id(), []string{standard})
	if err != nil || w[0] != (Waiting{Waiters: 2, Left: 3}) {
		t.Errorf("%+v, %v", w, err)
	}
}

func TestWaitersLiveAndGoWithTheSet(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 5)
	s.add(sale.EntryID{1})
	s.must(s.store.Begin(s.ctx(), *s.facts, s.rules, s.epoch+1))
	if got := s.waiters(); len(got) != 0 {
		t.Errorf("a new life of the set begins with %d who wait", len(got))
	}
	if _, err := s.store.Waiting(s.ctx(), s.id(), []string{standard}); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("while loading: %v", err)
	}
	if free, err := s.store.GateWaitlist(s.ctx(), s.id(), standard, sale.EntryID{2}, 1); err != nil || free {
		t.Errorf("while loading the units are not certain: free %v, %v", free, err)
	}
	s.add(sale.EntryID{3})
	s.must(s.store.Open(s.ctx(), s.id(), s.epoch+1))
	if _, err := s.reserve(s.wish("u", "k", 1)); !errors.Is(err, ErrInsufficient) {
		t.Errorf("the public at the first moment: %v", err)
	}
	s.must(s.rdb.Del(s.ctx(), s.setKeys()...).Err())
	if _, err := s.store.AddWaiters(s.ctx(), s.id(), standard, []sale.EntryID{{4}}); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("without a set: %v", err)
	}
	if _, err := s.store.GateWaitlist(s.ctx(), s.id(), standard, sale.EntryID{4}, 1); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("without a set: %v", err)
	}
}

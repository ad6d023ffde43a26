package stock

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"holdfast/shared/sale"
	"holdfast/shared/testenv"
)

// atOnce runs all calls side by side and gives their errors.
func atOnce(n int, call func(i int) error) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = call(i) })
	}
	wg.Wait()
	return errs
}

func count(errs []error, want error) (n int) {
	for _, err := range errs {
		if errors.Is(err, want) && (want != nil || err == nil) {
			n++
		}
	}
	return n
}

func TestLastUnitGoesToExactlyOneOfFifty(t *testing.T) {
	t.Parallel()
	rdb := testenv.Redis(t)
	s := newSale(t, rdb, 1, 1)
	for round := range 100 {
		s.open() // a new epoch, nothing sold
		errs := atOnce(50, func(i int) error {
			_, err := s.reserve(s.wish(fmt.Sprint("u", i), fmt.Sprint("k", round), 1))
			return err
		})
		if won, lost := count(errs, nil), count(errs, ErrInsufficient); won != 1 || lost != 49 {
			t.Fatalf("round %d: %d took it, %d were refused", round, won, lost)
		}
		if s.left() != 0 {
			t.Fatalf("round %d: %d left", round, s.left())
		}
	}
	s.holds()
}

func TestInterleavedReservesAndReleasesLoseNothing(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 1, 80)
	var held []sale.Reservation
	for i := range 40 {
		held = append(held, s.take(fmt.Sprint("old", i), "k", 1))
	}
	for round := range 50 {
		taken := make([]sale.Reservation, 40)
		errs := atOnce(81, func(i int) error {
			switch {
			case i == 80: // sampled in between
				if shot := s.snapshot().Types[standard]; shot.Left < 0 || shot.Buckets[0] < 0 || shot.Left > 80 {
					return fmt.Errorf("sampled %+v", shot)
				}
				return nil
			case i%2 == 0:
				got, err := s.reserve(s.wish(fmt.Sprint("r", round, "u", i), "k", 1))
				taken[i/2] = got.Reservation
				return err
			}
			_, err := s.store.Release(s.ctx(), s.id(), held[i/2].OrderID, held[i/2].UserID, "USER")
			return err
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		held = taken
	}
	if s.left() != 40 {
		t.Errorf("%d left, want 40", s.left())
	}
	s.holds()
}

func TestRepeatedClicksBurnNoStock(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 1, 5, 5)
	errs := atOnce(50, func(i int) error {
		_, err := s.reserve(s.wish("A", fmt.Sprint("click", i), 1))
		return err
	})
	holding, err := s.store.Holding(s.ctx(), s.id(), "A")
	s.must(err)
	for _, err := range errs {
		var refusal *Refusal
		if err != nil && (!errors.As(err, &refusal) || refusal.OrderID != holding.LastOrderID) {
			t.Errorf("%v, want the refusal to name %s", err, holding.LastOrderID)
		}
	}
	if count(errs, nil) != 1 || count(errs, ErrAlreadyReserved) != 49 || s.left() != 9 {
		t.Errorf("%d taken, %d left", count(errs, nil), s.left())
	}
	for i := range 9 {
		s.take(fmt.Sprint("u", i), "k", 1)
	}
	s.holds()
}

func TestTooLargeAnOrderNeverStandsInTheWayOfASmallerOne(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 1, 1)
	for round := range 200 {
		var small Reserved
		errs := atOnce(2, func(i int) error {
			got, err := s.reserve(s.wish(fmt.Sprint("u", i), fmt.Sprint("k", round), 3-i))
			if i == 1 {
				small = got
			}
			return err
		})
		if !errors.Is(errs[0], ErrInsufficient) || errs[1] != nil {
			t.Fatalf("round %d: %v", round, errs)
		}
		s.release(small.Reservation)
	}
	s.holds()
}

func TestOneIdAtOnceFromManySidesTakesOnce(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 50, 50)
	for round := range 20 {
		w := s.wish("u1", fmt.Sprint("k", round), 1)
		var mu sync.Mutex
		standings := map[Standing]int{}
		errs := atOnce(20, func(i int) error {
			if i%4 == 3 {
				_, err := s.store.Release(s.ctx(), s.id(), w.OrderID, "u1", "USER")
				return err
			}
			got, err := s.reserve(w)
			mu.Lock()
			defer mu.Unlock()
			standings[got.Standing]++
			return err
		})
		if err := errors.Join(errs...); err != nil || standings[Taken] > 1 || s.left() != 100 {
			t.Fatalf("round %d: %v, %v, %d left", round, err, standings, s.left())
		}
	}
	s.holds()
}

// A walk through every verb in random order; after every step the counters must be the fold of the log, and the log must only
// have grown.
func TestRandomWalkKeepsEveryInvariant(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			w := &walk{testSale: newSale(t, testenv.Redis(t), 3, 4, 3, 2), random: rand.New(rand.NewPCG(seed, 1)), ever: map[string]bool{}}
			for step := range 250 {
				did := w.step()
				if err := errors.Join(w.check(), w.logOnlyGrew()); err != nil {
					t.Fatalf("seed %d, step %d, %s: %v", seed, step, did, err)
				}
			}
		})
	}
}

type walk struct {
	*testSale
	random *rand.Rand
	known  []sale.Reservation
	ever   map[string]bool
	serial int
}

func (w *walk) step() string {
	w.serial++
	user, quantity := fmt.Sprint("u", w.random.IntN(8)), 1+w.random.IntN(4)
	var some sale.Reservation
	if len(w.known) > 0 {
		some = w.known[w.random.IntN(len(w.known))]
	}
	switch w.random.IntN(12) {
	case 0, 1, 2, 3:
		got, err := w.reserve(w.wish(user, fmt.Sprint("k", w.random.IntN(60)), quantity))
		w.expect(err, ErrInsufficient, ErrLimit, ErrReplayDiffers)
		if err == nil && got.Reservation.Quantity > 0 {
			w.known = append(w.known, got.Reservation)
		}
		return "reserve"
	case 4, 5:
		if some.Quantity == 0 {
			break
		}
		w.release(some)
		return "release"
	case 6:
		if some.Quantity == 0 {
			break
		}
		w.ack(some)
		return "ack"
	case 7:
		if some.Quantity == 0 {
			break
		}
		some.Allocations = sale.Allocations{{Bucket: w.random.IntN(3), Count: some.Quantity}}
		w.ack(some)
		return "ack elsewhere"
	case 8:
		lost := lostOrder(w.testSale, user, w.random.IntN(3), quantity)
		lost.OrderID = w.facts.OrderID(user, fmt.Sprint("lost", w.random.IntN(20)))
		w.ack(lost, lost)
		return "adopt"
	case 9:
		delta := w.random.IntN(9) - 4
		_, err := w.store.AdjustStock(w.ctx(), w.facts, Adjustment{fmt.Sprint("a", w.random.IntN(30)), standard, delta})
		w.expect(err, ErrInsufficient, ErrBadQuantity, ErrAdjustmentUndone)
		return "adjust"
	case 10:
		w.must(w.store.UndoAdjustment(w.ctx(), w.id(), fmt.Sprint("a", w.random.IntN(30))))
		return "undo"
	case 11:
		if w.random.IntN(4) == 0 {
			return w.reload()
		}
	}
	id := w.facts.OrderID(user, fmt.Sprint("k", w.random.IntN(60)))
	_, err := w.store.Release(w.ctx(), w.id(), id, user, "SALE_CLOSED")
	w.must(err)
	return "release of an id that may be unknown"
}

// reload brings the set back from what is alive, as the loader does from MySQL.
func (w *walk) reload() string {
	page, owners := Page{}, map[sale.OrderID]string{}
	for _, m := range w.movements() {
		if m.Kind == KindTaken {
			owners[m.OrderID] = m.UserID
		}
	}
	for _, m := range w.fold().Live() {
		page.Live = append(page.Live, sale.Reservation{OrderID: m.OrderID, UserID: m.UserID, TicketType: m.Type, Quantity: m.Quantity, Allocations: m.Allocations})
	}
	for _, m := range w.movements() {
		switch m.Kind {
		case KindMarked:
			page.Dead = append(page.Dead, DeadMark{m.OrderID, m.UserID, m.Reason})
		case KindDead:
			page.Dead = append(page.Dead, DeadMark{m.OrderID, owners[m.OrderID], m.Reason})
		case KindAdjusted:
			page.Adjustments = append(page.Adjustments, Adjusted{Adjustment{m.AdjustmentID, m.Type, m.Split.Delta()}, m.Split})
		}
	}
	w.begin()
	w.must(w.store.Adopt(w.ctx(), w.id(), w.epoch, page))
	w.must(w.store.Open(w.ctx(), w.id(), w.epoch))
	clear(w.ever)
	return "reload"
}

func (w *walk) expect(err error, allowed ...error) {
	w.t.Helper()
	for _, a := range allowed {
		if errors.Is(err, a) {
			return
		}
	}
	w.must(err)
}

// logOnlyGrew fails when an entry of the log that was seen before has changed or gone.
func (w *walk) logOnlyGrew() error {
	now := map[string]bool{}
	for _, m := range w.movements() {
		now[fmt.Sprintf("%+v", m)] = true
	}
	for entry := range w.ever {
		if !now[entry] {
			return fmt.Errorf("gone from the log: %s", entry)
		}
	}
	w.ever = now
	return nil
}

package stock

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"holdfast/shared/sale"
	"holdfast/shared/testenv"
)

func TestTakenUnitsLeaveCountersAndStandInLogMarkAndPending(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 4, 3, 3, 2)
	before := time.Now().Add(-time.Second)
	got, err := s.reserve(s.wishAt(1, 3, "u 1", 2))
	s.must(err)
	r := got.Reservation
	if got.Standing != Taken || r.Allocations.Compact() != "1:2" || r.Before != 8 || r.UserID != "u 1" || r.TicketType != standard || r.ActivityID != s.id() {
		t.Errorf("reserved %+v", got)
	}
	if r.At.Before(before) || r.At.After(time.Now().Add(time.Second)) || r.At.UnixMilli() != r.Seq/1000 {
		t.Errorf("taken at %v, seq %d", r.At, r.Seq)
	}
	shot := s.snapshot()
	if shot.Pending != 1 || shot.Seq != r.Seq || fmt.Sprint(shot.Types) != fmt.Sprint(map[string]TypeSnapshot{standard: {6, []int{3, 1, 2}}}) {
		t.Errorf("snapshot %+v", shot)
	}
	entry, err := s.store.Entry(s.ctx(), s.id(), r.OrderID)
	s.must(err)
	if entry.Standing != Pending || !entry.HasTaken || fmt.Sprint(entry.Reservation) != fmt.Sprint(r) {
		t.Errorf("entry %+v", entry)
	}
	holding, err := s.store.Holding(s.ctx(), s.id(), "u 1")
	s.must(err)
	if holding != (Holding{2, r.OrderID}) {
		t.Errorf("holding %+v", holding)
	}
	s.holds()
}

func TestReplayAnswersTheFirstReservationAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 4, 5, 5)
	first := s.take("u1", "k", 2)
	replay := func(want Standing) {
		t.Helper()
		before := s.dump()
		got, err := s.reserve(s.wish("u1", "k", 2))
		s.must(err)
		if got.Standing != want || fmt.Sprint(got.Reservation) != fmt.Sprint(first) {
			t.Errorf("replay %+v, want standing %d of %+v", got, want, first)
		}
		s.unchanged(before)
	}
	replay(Pending)
	s.ack(first)
	replay(Acknowledged)
	for _, w := range []ReserveRequest{{first.OrderID, "u1", standard, 1, false}, {first.OrderID, "u2", standard, 2, false}} {
		if _, err := s.reserve(w); !errors.Is(err, ErrReplayDiffers) {
			t.Errorf("%+v: %v, want a refused replay", w, err)
		}
	}
	s.release(first)
	replay(Dead)
}

func TestReplayIsAnsweredBeforeEveryRefusal(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 1, 1)
	first := s.take("u1", "k", 1)
	for version, change := range []func(*sale.Rules){
		func(r *sale.Rules) { r.Status = sale.Suspended },
		func(r *sale.Rules) { r.Status = sale.Closed },
		func(r *sale.Rules) { r.OpensAt = time.Now().Add(time.Hour) },
		func(r *sale.Rules) { r.ClosesAt = time.Now().Add(-time.Minute) },
	} {
		rules := s.rules
		rules.Version = int64(version + 2)
		change(&rules)
		applied, err := s.store.ChangeRules(s.ctx(), s.id(), rules)
		s.must(err)
		got, err := s.reserve(s.wish("u1", "k", 1))
		if err != nil || !applied || got.Standing != Pending || got.Reservation.OrderID != first.OrderID {
			t.Errorf("%+v: %+v, %v", rules, got, err)
		}
	}
}

func TestRefusalsComeInTheirOrder(t *testing.T) {
	t.Parallel()
	s := draftSale(t, testenv.Redis(t), testenv.ActivityID(t), 1, 1)
	rival := s.wish("rival", "k", 1)
	refused := func(want error, w ReserveRequest) *Refusal {
		t.Helper()
		_, err := s.reserve(w)
		if !errors.Is(err, want) {
			t.Fatalf("%v, want %v", err, want)
		}
		var refusal *Refusal
		errors.As(err, &refusal)
		return refusal
	}
	change := func(status sale.Status, opens, closes time.Duration) {
		t.Helper()
		s.rules.Version++
		s.rules.Status, s.rules.OpensAt, s.rules.ClosesAt = status, time.Now().Add(opens), time.Now().Add(closes)
		if applied, err := s.store.ChangeRules(s.ctx(), s.id(), s.rules); err != nil || !applied {
			t.Fatal(applied, err)
		}
	}
	refused(ErrNotLoaded, rival)
	s.begin()
	refused(ErrNotLoaded, rival)
	s.must(s.store.Open(s.ctx(), s.id(), s.epoch))
	mine := s.take("me", "k", 1) // sold out, and my limit is spent: every later refusal is masked by the one before it

	me := s.wish("me", "other", 1)
	change(sale.Closed, time.Hour, time.Hour*2)
	if r := refused(ErrNotStarted, me); r.OpensAt.UnixMilli() != s.rules.OpensAt.UnixMilli() || time.Since(r.Now).Abs() > time.Minute {
		t.Errorf("%+v", r)
	}
	change(sale.Closed, -time.Hour, -time.Minute)
	if r := refused(ErrEnded, me); r.ClosesAt.UnixMilli() != s.rules.ClosesAt.UnixMilli() || time.Since(r.Now).Abs() > time.Minute {
		t.Errorf("%+v", r)
	}
	change(sale.Suspended, -time.Hour, time.Hour)
	refused(ErrSuspended, me)
	change(sale.Closed, -time.Hour, time.Hour)
	refused(ErrClosed, me)
	change(sale.Published, -time.Hour, time.Hour)
	if r := refused(ErrAlreadyReserved, me); r.OrderID != mine.OrderID {
		t.Errorf("%+v, want order %s", r, mine.OrderID)
	}
	rival.Quantity = 3
	if r := refused(ErrInsufficient, rival); r.Shortage != 3 {
		t.Errorf("%+v", r)
	}
	if _, err := s.store.AdjustStock(s.ctx(), s.facts, Adjustment{"more", standard, 5}); err != nil {
		t.Fatal(err)
	}
	if r := refused(ErrLimit, rival); r.Limit != 1 || r.Held != 0 {
		t.Errorf("%+v", r)
	}
	s.holds()
}

func TestWindowIsInclusiveAtOpeningAndExclusiveAtClosing(t *testing.T) {
	t.Parallel()
	s := draftSale(t, testenv.Redis(t), testenv.ActivityID(t), 1, 10)
	s.rules.OpensAt = time.Now().Add(48 * time.Hour).Truncate(time.Second)
	s.rules.ClosesAt = s.rules.OpensAt.Add(time.Hour)
	s.open()
	for i, c := range []struct {
		ahead time.Duration // of the window's edge, by the shifted clock, which moves on while this runs
		edge  time.Time
		want  error
	}{{-2 * time.Second, s.rules.OpensAt, ErrNotStarted}, {0, s.rules.OpensAt, nil}, {-10 * time.Second, s.rules.ClosesAt, nil}, {0, s.rules.ClosesAt, ErrEnded}} {
		s.store = New(s.rdb, func() time.Duration { return time.Until(c.edge) + c.ahead + 50*time.Millisecond })
		if _, err := s.reserve(s.wish(fmt.Sprint("u", i), "k", 1)); !errors.Is(err, c.want) {
			t.Errorf("%v from %v: %v, want %v", c.ahead, c.edge, err, c.want)
		}
	}
}

// A sale that was stopped must stop at once, whatever callers remember of it (the script reads its rules, not its arguments).
func TestStoppedSaleRefusesCallersWhoStillBelieveItOpen(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 1, 10)
	stale := *s.facts // all that a warm instance keeps
	s.rules.Version, s.rules.Status = 2, sale.Suspended
	_, err := s.store.ChangeRules(s.ctx(), s.id(), s.rules)
	s.must(err)
	before := s.dump()
	if _, err := s.store.Reserve(s.ctx(), &stale, s.wish("u1", "k", 1)); !errors.Is(err, ErrSuspended) {
		t.Errorf("%v, want suspended", err)
	}
	s.unchanged(before)
}

func TestOlderRulesNeverReplaceNewerOnes(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 1, 10)
	newer, older := s.rules, s.rules
	newer.Version, newer.Limit, older.Version, older.Limit = 3, 7, 2, 5
	for _, step := range []struct {
		rules sale.Rules
		want  bool
	}{{newer, true}, {older, false}, {newer, false}} {
		if applied, err := s.store.ChangeRules(s.ctx(), s.id(), step.rules); err != nil || applied != step.want {
			t.Errorf("version %d: %v, %v", step.rules.Version, applied, err)
		}
	}
	s.take("u1", "k", 7)
	if shot := s.snapshot(); shot.RulesVersion != 3 || shot.Status != sale.Published {
		t.Errorf("%+v", shot)
	}
}

func TestBucketsAreCombinedAllOrNothing(t *testing.T) {
	t.Parallel()
	rdb := testenv.Redis(t)
	t.Run("five singles fit into 2,2,1 and the sixth does not", func(t *testing.T) {
		s := newSale(t, rdb, 9, 2, 2, 1)
		for i := range 5 {
			s.take(fmt.Sprint("u", i), "k", 1)
		}
		before := s.dump()
		if _, err := s.reserve(s.wish("u6", "k", 1)); !errors.Is(err, ErrInsufficient) {
			t.Errorf("%v", err)
		}
		s.unchanged(before)
		s.holds()
	})
	t.Run("one of six changes nothing, one of five takes all", func(t *testing.T) {
		s := newSale(t, rdb, 9, 2, 2, 1)
		before := s.dump()
		var refusal *Refusal
		if _, err := s.reserve(s.wish("u1", "six", 6)); !errors.As(err, &refusal) || refusal.Err != ErrInsufficient || refusal.Shortage != 1 {
			t.Errorf("%v", err)
		}
		s.unchanged(before)
		if r := s.take("u1", "five", 5); r.Allocations.Compact() != "0:2,1:2,2:1" {
			t.Errorf("allocations %s", r.Allocations.Compact())
		}
		s.holds()
	})
	t.Run("from every start, what is there goes round and comes sorted", func(t *testing.T) {
		want := []string{"0:1,1:1,2:1", "1:1,2:1,3:1", "0:1,2:1,3:1", "0:1,1:1,3:1"}
		for start, alloc := range want {
			s := newSale(t, rdb, 9, 1, 1, 1, 1)
			got, err := s.reserve(s.wishAt(start, 4, "u1", 3))
			s.must(err)
			if got.Reservation.Allocations.Compact() != alloc {
				t.Errorf("from %d: %s, want %s", start, got.Reservation.Allocations.Compact(), alloc)
			}
			s.holds()
		}
	})
	t.Run("of any number of buckets, as reckoned by hand", func(t *testing.T) {
		random := rand.New(rand.NewPCG(7, 7))
		for range 60 {
			capacities := make([]int, 1+random.IntN(11))
			total := 0
			for i := range capacities {
				capacities[i] = random.IntN(3)
				total += capacities[i]
			}
			if total == 0 {
				continue
			}
			s, quantity, start := newSale(t, rdb, 99, capacities...), 1+random.IntN(total), random.IntN(len(capacities))
			got, err := s.reserve(s.wishAt(start, len(capacities), "u1", quantity))
			s.must(err)
			if want := byHand(capacities, start, quantity); got.Reservation.Allocations.Compact() != want {
				t.Errorf("%d of %v from %d: %s, want %s", quantity, capacities, start, got.Reservation.Allocations.Compact(), want)
			}
			s.holds()
		}
	})
	t.Run("the last bucket gives only what is missing", func(t *testing.T) {
		s := newSale(t, rdb, 9, 2, 7, 0, 1)
		got, err := s.reserve(s.wishAt(3, 4, "u1", 5))
		s.must(err)
		if a := got.Reservation.Allocations.Compact(); a != "0:2,1:2,3:1" {
			t.Errorf("allocations %s", a)
		}
		s.holds()
	})
	t.Run("a bucket in the red gives nothing", func(t *testing.T) {
		s := newSale(t, rdb, 9, 2, 5)
		lost := sale.Reservation{OrderID: s.facts.OrderID("x", "lost"), UserID: "x", TicketType: standard, Quantity: 4, Allocations: sale.Allocations{{Bucket: 0, Count: 4}}}
		if got := s.ack(lost); !slices.Equal(got, []AckOutcome{AckAdopted}) {
			t.Errorf("%v", got)
		}
		got, err := s.reserve(s.wishAt(0, 2, "u1", 3))
		s.must(err)
		if a := got.Reservation.Allocations.Compact(); a != "1:3" || s.left() != 0 {
			t.Errorf("allocations %s, left %d", a, s.left())
		}
		s.holds()
	})
}

// byHand is the rule: the first bucket gives all, or each gives what it has, going round from there.
func byHand(capacities []int, start, quantity int) string {
	var a sale.Allocations
	for i := range capacities {
		bucket := (start + i) % len(capacities)
		if units := min(capacities[bucket], quantity); units > 0 {
			a, quantity = append(a, sale.Allocation{Bucket: bucket, Count: units}), quantity-units
		}
	}
	slices.SortFunc(a, func(x, y sale.Allocation) int { return x.Bucket - y.Bucket })
	return a.Compact()
}

func TestBadQuantitiesMoveNothing(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 4, 10)
	before := s.dump()
	for _, quantity := range []int{0, -1, 2147483648, MaxQuantity + 1} {
		if _, err := s.reserve(s.wish("u1", "k", quantity)); !errors.Is(err, ErrBadQuantity) {
			t.Errorf("quantity %d: %v", quantity, err)
		}
	}
	if _, err := s.reserve(s.wish("u1", "k", 5)); !errors.Is(err, ErrLimit) {
		t.Errorf("limit + 1: %v", err)
	}
	if _, err := s.store.Reserve(s.ctx(), s.facts, ReserveRequest{s.facts.OrderID("u1", "k"), "u1", "OTHER", 1, false}); !errors.Is(err, ErrUnknownType) {
		t.Errorf("unknown type: %v", err)
	}
	bad := sale.Reservation{OrderID: s.facts.OrderID("u1", "k"), UserID: "u1", TicketType: standard, Quantity: -1}
	if _, err := s.store.Acknowledge(s.ctx(), s.id(), []sale.Reservation{bad}); !errors.Is(err, ErrBadQuantity) {
		t.Errorf("acknowledged -1: %v", err)
	}
	s.unchanged(before)
}

func TestStrangerCannotTakeOverAnIdThatTheLogKnows(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 4, 10)
	first := s.take("u1", "k", 1)
	dead := s.facts.OrderID("u1", "dead")
	s.release(sale.Reservation{OrderID: dead, UserID: "u1"})
	before := s.dump()
	for _, id := range []sale.OrderID{first.OrderID, dead} {
		if _, err := s.reserve(ReserveRequest{id, "stranger", standard, 1, false}); !errors.Is(err, ErrReplayDiffers) {
			t.Errorf("%v, want a refusal", err)
		}
	}
	s.unchanged(before)
}

func TestLimitCountsAllLiveOrdersOfAUser(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 3, 10)
	s.take("u1", "a", 2)
	var refusal *Refusal
	if _, err := s.reserve(s.wish("u1", "b", 2)); !errors.As(err, &refusal) || refusal.Limit != 3 || refusal.Held != 2 {
		t.Errorf("%v", err)
	}
	c := s.take("u1", "c", 1)
	s.release(c)
	s.take("u1", "d", 1)
	if holding, err := s.store.Holding(s.ctx(), s.id(), "u1"); err != nil || holding.Quantity != 3 {
		t.Errorf("%+v %v", holding, err)
	}
	if holding, err := s.store.Holding(s.ctx(), s.id(), "nobody"); err != nil || holding != (Holding{}) {
		t.Errorf("%+v %v", holding, err)
	}
	s.holds()
}

func TestUserNamesNeverCollideWithOtherFields(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 1, 10)
	for _, user := range []string{"#", "u#", "t", "a b", "a  b", "0", "{x}", "~!@$%^&*()"} {
		r := s.take(user, "k", 1)
		if entry, err := s.store.Entry(s.ctx(), s.id(), r.OrderID); err != nil || entry.Reservation.UserID != user {
			t.Errorf("%q: %+v %v", user, entry, err)
		}
	}
	s.holds()
}

func TestPartOfTheSetLostMeansNotLoadedAndNothingIsTaken(t *testing.T) {
	t.Parallel()
	rdb := testenv.Redis(t)
	for _, part := range []func(keys) string{keys.rules, keys.buyers, keys.log} {
		s := newSale(t, rdb, 1, 10)
		owner := s.take("u1", "k", 1)
		lost := part(keysOf(s.id()))
		s.must(rdb.Del(s.ctx(), lost).Err())
		before := s.dump()
		for _, user := range []string{"u1", "u2"} {
			if _, err := s.reserve(s.wish(user, "again", 1)); !errors.Is(err, ErrNotLoaded) {
				t.Errorf("without %s, %s: %v", keyNames([]string{lost}), user, err)
			}
		}
		if _, err := s.store.Release(s.ctx(), s.id(), owner.OrderID, "u1", "USER"); !errors.Is(err, ErrNotLoaded) {
			t.Errorf("release without %s: %v", keyNames([]string{lost}), err)
		}
		if _, err := s.store.Acknowledge(s.ctx(), s.id(), []sale.Reservation{owner}); !errors.Is(err, ErrNotLoaded) {
			t.Errorf("ack without %s: %v", keyNames([]string{lost}), err)
		}
		if _, err := s.store.Snapshot(s.ctx(), s.facts); !errors.Is(err, ErrNotLoaded) {
			t.Errorf("snapshot without %s: %v", keyNames([]string{lost}), err)
		}
		s.unchanged(before)
	}
}

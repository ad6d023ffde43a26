package stock

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast/shared/sale"
	"holdfast/shared/testenv"
)

func TestLoadingRebuildsTheSetFromWhatMySQLKnows(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 10, 10)
	s.take("forgotten", "k", 5) // Redis alone knows it: it is gone with the old set
	lastSeq := s.snapshot().Seq
	s.begin()
	live, dead := lostOrder(s, "u1", 1, 3), s.facts.OrderID("u2", "dead")
	page := Page{
		Adjustments: []Adjusted{{Adjustment{"adj-1", standard, -4}, sale.Split{{Bucket: 0, Delta: -3}, {Bucket: 1, Delta: -1}}}},
		Live:        []sale.Reservation{live},
		Dead:        []DeadMark{{dead, "u2", "USER"}},
	}
	for range 2 { // pages may come twice
		s.must(s.store.Adopt(s.ctx(), s.id(), s.epoch, page))
	}
	if shot := s.snapshot(); shot.State != Loading || shot.Epoch != 2 {
		t.Errorf("%+v", shot)
	}
	s.must(s.store.Open(s.ctx(), s.id(), s.epoch))
	s.must(s.store.Open(s.ctx(), s.id(), s.epoch))
	shot := s.snapshot()
	if shot.State != Open || shot.Seq <= lastSeq || fmt.Sprint(shot.Types) != fmt.Sprint(map[string]TypeSnapshot{standard: {13, []int{7, 6}}}) {
		t.Errorf("%+v", shot)
	}
	if got, err := s.reserve(s.wish("u2", "dead", 1)); err != nil || got.Standing != Dead || got.Reason != "USER" {
		t.Errorf("%+v %v", got, err)
	}
	entry, err := s.store.Entry(s.ctx(), s.id(), live.OrderID)
	if err != nil || entry.Standing != Acknowledged || entry.Reservation.Before != -1 || entry.Reservation.Quantity != 3 {
		t.Errorf("%+v %v", entry, err)
	}
	if got, err := s.store.AdjustStock(s.ctx(), s.facts, Adjustment{"adj-1", standard, -4}); err != nil || got.Split.Compact() != "0:-3,1:-1" {
		t.Errorf("%+v %v", got, err)
	}
	s.holds()
}

func TestOnlyTheLatestLoaderMayWrite(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 10)
	s.begin() // epoch 2
	s.begin() // epoch 3: another loader
	before := s.dump()
	for _, epoch := range []int64{2, 3} {
		if err := s.store.Begin(s.ctx(), *s.facts, s.rules, epoch); !errors.Is(err, ErrEpoch) {
			t.Errorf("begin %d: %v", epoch, err)
		}
	}
	if err := s.store.Adopt(s.ctx(), s.id(), 2, Page{Live: []sale.Reservation{lostOrder(s, "u1", 0, 1)}}); !errors.Is(err, ErrEpoch) {
		t.Errorf("adopt: %v", err)
	}
	if err := s.store.Open(s.ctx(), s.id(), 2); !errors.Is(err, ErrEpoch) {
		t.Errorf("open: %v", err)
	}
	s.unchanged(before)
	if err := s.store.Adopt(s.ctx(), "never-begun", 3, Page{Live: []sale.Reservation{lostOrder(s, "u1", 0, 1)}}); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("adopt without begin: %v", err)
	}
}

func TestReleaseAndAcknowledgeWorkWhileLoading(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 10)
	s.begin()
	a, b := lostOrder(s, "u1", 0, 3), lostOrder(s, "u2", 0, 2)
	if got := s.ack(a); got[0] != AckAdopted { // committed since begin
		t.Errorf("%v", got)
	}
	if got := s.release(b); got.Outcome != Marked { // cancelled since begin
		t.Errorf("%+v", got)
	}
	// The loader's page is older than both: it adopts neither a second time, nor brings the dead one back.
	s.must(s.store.Adopt(s.ctx(), s.id(), s.epoch, Page{Live: []sale.Reservation{a, b}}))
	if _, err := s.store.Entry(s.ctx(), s.id(), s.facts.OrderID("u9", "unknown")); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("an unknown id while loading: %v", err)
	}
	if _, err := s.store.Holding(s.ctx(), s.id(), "u1"); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("a holding while loading: %v", err)
	}
	if _, err := s.store.AdjustStock(s.ctx(), s.facts, Adjustment{"x", standard, 1}); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("an adjustment while loading: %v", err)
	}
	s.must(s.store.Open(s.ctx(), s.id(), s.epoch))
	if s.left() != 7 {
		t.Errorf("%d left, want 7", s.left())
	}
	s.holds()
}

func TestMissingSetIsNotLoadedAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	s := draftSale(t, testenv.Redis(t), testenv.ActivityID(t), 1, 5)
	r := lostOrder(s, "u1", 0, 1)
	calls := map[string]func() error{
		"reserve": func() error { _, err := s.reserve(s.wish("u1", "k", 1)); return err },
		"release": func() error { _, err := s.store.Release(s.ctx(), s.id(), r.OrderID, "u1", "USER"); return err },
		"ack":     func() error { _, err := s.store.Acknowledge(s.ctx(), s.id(), []sale.Reservation{r}); return err },
		"adopt":   func() error { return s.store.Adopt(s.ctx(), s.id(), 1, Page{Live: []sale.Reservation{r}}) },
		"open":    func() error { return s.store.Open(s.ctx(), s.id(), 1) },
		"rules":   func() error { _, err := s.store.ChangeRules(s.ctx(), s.id(), s.rules); return err },
		"adjust": func() error {
			_, err := s.store.AdjustStock(s.ctx(), s.facts, Adjustment{"a", standard, 1})
			return err
		},
		"undo":     func() error { return s.store.UndoAdjustment(s.ctx(), s.id(), "a") },
		"snapshot": func() error { _, err := s.store.Snapshot(s.ctx(), s.facts); return err },
		"entry":    func() error { _, err := s.store.Entry(s.ctx(), s.id(), r.OrderID); return err },
		"holding":  func() error { _, err := s.store.Holding(s.ctx(), s.id(), "u1"); return err },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, ErrNotLoaded) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := s.store.Facts(s.ctx(), s.id()); !errors.Is(err, ErrNoFacts) {
		t.Errorf("facts: %v", err)
	}
	for key, text := range s.dump() {
		if text != "" {
			t.Errorf("%s was written", key)
		}
	}
}

func TestDraftsAreNotLoaded(t *testing.T) {
	t.Parallel()
	s := draftSale(t, testenv.Redis(t), testenv.ActivityID(t), 1, 5)
	s.rules.Status = sale.Draft
	if err := s.store.Begin(s.ctx(), *s.facts, s.rules, 1); err == nil {
		t.Error("a draft was loaded")
	}
}

func TestFactsOutliveTheSetWithTheFinalStatus(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 1, 5, 4)
	f, final, err := s.store.Facts(s.ctx(), s.id())
	if err != nil || final != "" || fmt.Sprintf("%+v", f) != fmt.Sprintf("%+v", s.facts) {
		t.Errorf("%+v %q %v", f, final, err)
	}
	s.must(s.store.SetFinal(s.ctx(), s.id(), sale.Closed))
	k := keysOf(s.id())
	s.must(s.rdb.Unlink(s.ctx(), k.rules(), k.buyers(), k.log(), k.pending()).Err())
	if _, final, err := s.store.Facts(s.ctx(), s.id()); err != nil || final != sale.Closed {
		t.Errorf("%q %v", final, err)
	}
}

// Whatever can prove something later has no expiry, so that neither time nor an eviction of expiring keys takes it.
func TestNoKeyOfTheSetExpires(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 5)
	r := s.take("u1", "k", 1)
	s.take("u2", "k", 1)
	s.release(r)
	for _, key := range s.setKeys() {
		if ttl := s.rdb.TTL(s.ctx(), key).Val(); ttl != -1 {
			t.Errorf("%s: ttl %v", key, ttl)
		}
	}
	s.must(s.store.CacheOrder(s.ctx(), s.id(), r.OrderID, 3, []byte(`{}`)))
	if ttl := s.rdb.TTL(s.ctx(), keysOf(s.id()).order(r.OrderID)).Val(); ttl <= 0 || ttl > time.Minute {
		t.Errorf("order cache: ttl %v", ttl)
	}
}

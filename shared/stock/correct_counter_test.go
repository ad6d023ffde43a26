package stock

import (
	"errors"
	"testing"

	"holdfast/shared/testenv"
)

func TestCorrectionMovesTheCounterOnceAndOnlyInItsOwnEpoch(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 4, 4, 4)
	s.must(s.rdb.HSet(s.ctx(), keysOf(s.id()).rules(), bucketField(standard, 1), -3).Err())
	c := Counter{standard, 1}
	if _, err := s.store.CorrectCounter(s.ctx(), s.id(), c, 7, 1, s.epoch+1); !errors.Is(err, ErrEpoch) {
		t.Errorf("another epoch: %v", err)
	}
	for i, want := range []Correction{{-3, 4}, {}} {
		if got, err := s.store.CorrectCounter(s.ctx(), s.id(), c, 7, 1, s.epoch); err != nil || got != want {
			t.Errorf("call %d: %+v, %v", i, got, err)
		}
	}
	s.holds()
	if got, err := s.store.CorrectCounter(s.ctx(), s.id(), Counter{standard, -1}, 0, 1, s.epoch); err != nil || got.Before != 12 {
		t.Errorf("another counter with the same number: %+v, %v", got, err)
	}
}

func TestRunIsAnotherOneAfterARestartAndTheSetIsNotProvenUntilMarked(t *testing.T) {
	t.Parallel()
	own := testenv.OwnRedis(t)
	s := newSale(t, testenv.RedisClient(t, own.Addr), 9, 4, 4)
	run, err := s.store.RunID(s.ctx(), s.id())
	s.must(err)
	if proven, err := s.store.Proven(s.ctx(), s.id()); err != nil || !proven || s.snapshot().Run != run {
		t.Fatalf("after loading: proven %v, %v", proven, err)
	}
	s.must(s.rdb.HSet(s.ctx(), keysOf(s.id()).rules(), "run", "of another server").Err())
	if proven, err := s.store.Proven(s.ctx(), s.id()); err != nil || proven {
		t.Errorf("on another server: proven %v, %v", proven, err)
	}
	if err := s.store.MarkWhole(s.ctx(), s.id(), s.epoch, "of another server"); !errors.Is(err, ErrOtherRun) {
		t.Errorf("marking for another server: %v", err)
	}
	if err := s.store.MarkWhole(s.ctx(), s.id(), s.epoch+1, run); !errors.Is(err, ErrEpoch) {
		t.Errorf("marking another life: %v", err)
	}
	s.must(s.store.MarkWhole(s.ctx(), s.id(), s.epoch, run))
	if proven, err := s.store.Proven(s.ctx(), s.id()); err != nil || !proven {
		t.Errorf("after marking: proven %v, %v", proven, err)
	}
}

func TestLoadThatBeganOnAnotherRunIsNotOpened(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 9, 4, 4)
	s.must(s.store.Begin(s.ctx(), *s.facts, s.rules, s.epoch+1))
	s.must(s.rdb.HSet(s.ctx(), keysOf(s.id()).rules(), "run", "of another server").Err())
	if err := s.store.Open(s.ctx(), s.id(), s.epoch+1); !errors.Is(err, ErrOtherRun) {
		t.Errorf("%v", err)
	}
	if s.snapshot().State != Loading {
		t.Error("it is open")
	}
}

func TestPolicyThatDropsKeysIsSeen(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"noeviction": KeepsAll, "volatile-lru": "volatile-lru"} {
		own := testenv.RedisClient(t, testenv.OwnRedis(t, "--maxmemory-policy", name).Addr)
		if got, err := New(own, nil).EvictionPolicy(t.Context()); err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := New(testenv.Cluster(t), nil).EvictionPolicy(t.Context()); err != nil || got != KeepsAll {
		t.Errorf("cluster: %q, %v", got, err)
	}
}

package stock

import (
	"errors"
	"strings"
	"testing"

	"holdfast/lua"
	"holdfast/shared/sale"
	"holdfast/shared/testenv"
)

// Nothing is done with a set that has a key of another type, and its callers hear what leads to a load, which makes the set anew.
func TestKeyOfAWrongTypeIsRefusedByteForByteInEveryScript(t *testing.T) {
	t.Parallel()
	addr := testenv.RedisAddr(t)
	forEachScript(t, testenv.Redis(t), func(t *testing.T, c scenario, s *staged) {
		spied := testenv.RedisClient(t, addr)
		spy := &keySpy{}
		spied.AddHook(spy)
		s.must(c.act(s.ctx(), New(spied, nil), s))
		if len(spy.keys) == 0 && c.script != lua.Probe {
			t.Fatal("no keys seen")
		}
		for _, key := range spy.keys {
			g := s.other(c)
			wrong := strings.Replace(key, s.id(), g.id(), 1)
			if strings.HasSuffix(key, s.pending.OrderID.String()) {
				wrong = keysOf(g.id()).order(g.pending.OrderID)
			}
			s.must(s.rdb.Del(s.ctx(), wrong).Err())
			s.must(s.rdb.RPush(s.ctx(), wrong, "no", "hash").Err())
			before := g.dump(g.allKeys()...)
			err := c.act(s.ctx(), s.store, g)
			if c.heals {
				s.must(err)
				if c.script == lua.BeginLoad {
					s.must(s.store.Open(s.ctx(), g.id(), g.epoch+1))
				}
				g.holds()
				continue
			}
			if !errors.Is(err, ErrNotLoaded) || errors.Is(err, ErrUnavailable) {
				t.Errorf("%s is a list: %v, want not loaded", keyNames([]string{wrong}), err)
			}
			g.unchanged(before)
			if strings.HasSuffix(wrong, waited) { // no type of the sale, so no part of its set
				continue
			}
			if _, err := g.store.Snapshot(s.ctx(), g.facts); !errors.Is(err, ErrNotLoaded) {
				t.Errorf("%s is a list, and a snapshot says %v", keyNames([]string{wrong}), err)
			}
		}
	})
}

// No script reads the facts, and a cached order belongs to no set: what stands there by mistake is as good as nothing.
func TestFactsAndCachedOrdersOfAnotherTypeAreAsGoodAsMissing(t *testing.T) {
	t.Parallel()
	s := newSale(t, testenv.Redis(t), 1, 3)
	k, id := keysOf(s.id()), s.facts.OrderID("u", "k")
	for _, key := range []string{k.facts(), k.order(id)} {
		s.must(s.rdb.Del(s.ctx(), key).Err())
		s.must(s.rdb.RPush(s.ctx(), key, "x").Err())
	}
	if _, _, err := s.store.Facts(s.ctx(), s.id()); !errors.Is(err, ErrNoFacts) {
		t.Errorf("facts: %v", err)
	}
	if _, found, err := s.store.CachedOrder(s.ctx(), s.id(), id); found || err != nil {
		t.Errorf("a cached order: %v %v", found, err)
	}
	s.must(s.store.CacheOrder(s.ctx(), s.id(), id, 1, []byte(`{}`)))
	if text, found, err := s.store.CachedOrder(s.ctx(), s.id(), id); !found || err != nil || string(text) != "{}" {
		t.Errorf("cached over it: %s %v %v", text, found, err)
	}
	s.must(s.store.Begin(s.ctx(), *s.facts, s.rules, s.epoch+1))
	if _, final, err := s.store.Facts(s.ctx(), s.id()); err != nil || final != sale.Status("") {
		t.Errorf("facts after a load: %q %v", final, err)
	}
}

package stock

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	"holdfast/shared/sale"
	"holdfast/shared/testenv"
)

// fillClosed writes n dead and acknowledged reservations into the set as scripts would have written them.
func fillClosed(s *testSale, n int) {
	s.t.Helper()
	k := keysOf(s.id())
	const chunk = 2000
	for from := 0; from < n; from += chunk {
		var logFields, marks []any
		for i := from; i < min(from+chunk, n); i++ {
			user := fmt.Sprint("closed", i)
			field := entryField(s.facts.OrderID(user, "k"))
			seq := 1_700_000_000_000_000 + i*2
			logFields = append(logFields, field, fmt.Sprintf("%d 1 9 %s 0:1 u%s", seq, standard, user), "x"+field, fmt.Sprintf("%d 8 1 USER", seq+1))
			marks = append(marks, userField(user), "0"+field)
		}
		pipe := s.rdb.Pipeline()
		pipe.HSet(s.ctx(), k.log(), logFields...)
		pipe.HSet(s.ctx(), k.buyers(), marks...)
		_, err := pipe.Exec(s.ctx())
		s.must(err)
	}
}

// Two hundred thousand closed reservations and five hundred open ones must not be felt by any script: none is linear in them.
// Redis itself times the scripts; 20 ms is the bound, times three for a busy machine.
func TestNoScriptGrowsSlowWithTheNumberOfReservations(t *testing.T) {
	t.Parallel()
	own := testenv.RedisClient(t, testenv.OwnRedis(t).Addr)
	s := newSale(t, own, 9, 2000, 2000, 2000)
	fillClosed(s, 200_000)
	var open []sale.Reservation
	for i := range 500 {
		open = append(open, s.take(fmt.Sprint("open", i), "k", 1))
	}
	s.must(own.ConfigSet(s.ctx(), "slowlog-log-slower-than", strconv.Itoa(3*20_000)).Err())
	s.must(own.ConfigSet(s.ctx(), "slowlog-max-len", "1000").Err())
	s.must(own.Do(s.ctx(), "slowlog", "reset").Err())

	g := stage(s)
	for _, c := range scenarios() {
		if c.heals { // begin removes the set: last
			continue
		}
		s.must(c.act(s.ctx(), s.store, g))
	}
	s.ack(open[:ordersAtOnce]...)
	var page Page
	for i := range adoptedAtOnce {
		page.Live = append(page.Live, lostOrder(s, fmt.Sprint("adopted", i), i%3, 2))
	}
	s.must(s.store.Adopt(s.ctx(), s.id(), s.epoch, page))
	ids, _, err := s.store.PendingBefore(s.ctx(), s.id(), 0, PendingCursor{}, 100)
	if err != nil || len(ids) != 100 {
		t.Errorf("%d pending, %v", len(ids), err)
	}
	seen := map[string]bool{}
	for cursor, pages := uint64(0), 0; ; pages++ {
		got, err := s.store.Log(s.ctx(), s.id(), cursor, 1000)
		s.must(err)
		for _, m := range got.Movements {
			seen[fmt.Sprint(m.Kind, m.OrderID, m.AdjustmentID)] = true
		}
		if cursor = got.Next; cursor == 0 {
			if pages < 100 {
				t.Errorf("the log came in %d pages", pages)
			}
			break
		}
	}
	if len(seen) < 400_500 {
		t.Errorf("%d movements seen", len(seen))
	}
	s.must(s.store.Begin(s.ctx(), *s.facts, s.rules, s.epoch+1))

	slow, err := own.SlowLogGet(s.ctx(), 100).Result()
	s.must(err)
	for _, entry := range slow {
		t.Errorf("%v took %v", entry.Args[:min(2, len(entry.Args))], entry.Duration)
	}
}

// used is the memory that Redis itself says it uses for data, in bytes.
func (s *testSale) used() int {
	s.t.Helper()
	used, err := strconv.Atoi(s.rdb.InfoMap(s.ctx(), "memory").Item("Memory", "used_memory_dataset"))
	s.must(err)
	return used
}

func TestReservationStaysSmallInMemory(t *testing.T) {
	t.Parallel()
	own := testenv.RedisClient(t, testenv.OwnRedis(t).Addr)
	s := newSale(t, own, 1, 50_000)
	const n = 20_000
	before := s.used()
	var orders []sale.Reservation
	for i := range n {
		orders = append(orders, s.take(fmt.Sprintf("user-%012d", i), "k", 1))
	}
	pending := (s.used() - before) / n
	s.ack(orders...)
	after := (s.used() - before) / n
	t.Logf("%d bytes while pending, %d after acknowledgement", pending, after)
	if pending > 450 || after > 300 {
		t.Errorf("%d bytes while pending (450 at most), %d after acknowledgement (300 at most)", pending, after)
	}
}

// A managed Redis may be left on a policy that evicts keys which expire. The set has no such key: it stays whole while the rest
// goes; and where a part of it is lost in another way, the sale stops instead of starting over.
func TestEvictionOfExpiringKeysLeavesTheSetWhole(t *testing.T) {
	t.Parallel()
	own := testenv.RedisClient(t, testenv.OwnRedis(t, "--maxmemory", "8mb", "--maxmemory-policy", "volatile-lru").Addr)
	s := newSale(t, own, 1, 50)
	s.take("u1", "k", 1)
	before := s.dump()
	padding := make([]byte, 4096)
	for i := range 4000 {
		if err := own.Set(s.ctx(), fmt.Sprint("expiring", i), padding, 1e12).Err(); err != nil {
			t.Fatal(err)
		}
	}
	evicted, err := strconv.Atoi(own.InfoMap(s.ctx(), "stats").Item("Stats", "evicted_keys"))
	if err != nil || evicted == 0 {
		t.Fatalf("%d keys evicted, %v", evicted, err)
	}
	s.unchanged(before)
	s.take("u2", "k", 1)
	s.must(own.Del(s.ctx(), keysOf(s.id()).buyers()).Err())
	for _, user := range []string{"u1", "u3"} {
		if _, err := s.reserve(s.wish(user, "second", 1)); !errors.Is(err, ErrNotLoaded) {
			t.Errorf("%s after the marks were lost: %v", user, err)
		}
	}
}

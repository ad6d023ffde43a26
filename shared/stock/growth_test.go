package stock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"holdfast/lua"
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

// fillWaiters lets n entries wait for a type.
func fillWaiters(s *testSale, ticketType string, n int) {
	s.t.Helper()
	const chunk = 1000
	for from := 0; from < n; from += chunk {
		ids := make([]sale.EntryID, min(chunk, n-from))
		for i := range ids {
			binary.BigEndian.PutUint64(ids[i][8:], uint64(from+i))
		}
		added, err := s.store.AddWaiters(s.ctx(), s.id(), ticketType, ids)
		if err != nil || added != len(ids) {
			s.t.Fatalf("%d of %d were let in: %v", added, len(ids), err)
		}
	}
}

// Two hundred thousand closed reservations, as many entries that wait, and five hundred open reservations must not be felt by any script:
// none is linear in them.
// Measured is the processor time of Redis, because by the clock a busy machine charges its neighbours' work; 20 ms is the bound,
// with room for a slow machine.
func TestNoScriptGrowsSlowWithTheNumberOfReservations(t *testing.T) {
	t.Parallel()
	own := testenv.RedisClient(t, testenv.OwnRedis(t).Addr)
	s := newSale(t, own, 9, 2000, 2000, 2000)
	const many = 200_000
	fillClosed(s, many)
	fillWaiters(s, waited, many)
	var open []sale.Reservation
	for i := range 500 {
		open = append(open, s.take(fmt.Sprint("open", i), "k", 1))
	}
	g := stage(s)
	for _, c := range scenarios() {
		if !c.heals { // begin removes the set: last
			s.quick(c.script.Name, func() error { return c.act(s.ctx(), s.store, g) })
		}
		if c.script == lua.Reserve { // from now on the public buys nothing of this type
			fillWaiters(s, standard, many)
		}
	}
	s.quick("a refusal for the sake of those who wait", func() error {
		if _, err := s.reserve(s.wish("stranger", "k", 1)); !errors.Is(err, ErrInsufficient) {
			t.Errorf("a stranger before those who wait: %v", err)
		}
		return nil
	})
	s.quick("a batch of acknowledgements", func() error { s.ack(open[:ordersAtOnce]...); return nil })
	var page Page
	for i := range adoptedAtOnce {
		page.Live = append(page.Live, lostOrder(s, fmt.Sprint("adopted", i), i%3, 2))
	}
	s.quick("a page of adoptions", func() error { return s.store.Adopt(s.ctx(), s.id(), s.epoch, page) })
	s.quick("a page of pending entries", func() error {
		ids, _, err := s.store.PendingBefore(s.ctx(), s.id(), 0, PendingCursor{}, 100)
		if len(ids) != 100 {
			t.Errorf("%d pending", len(ids))
		}
		return err
	})
	if seen, pages := s.scan("the log", func(cursor uint64, see func(string)) (uint64, error) {
		got, err := s.store.Log(s.ctx(), s.id(), cursor, 1000)
		for _, m := range got.Movements {
			see(fmt.Sprint(m.Kind, m.OrderID, m.AdjustmentID))
		}
		return got.Next, err
	}); pages < 100 || seen < 2*many+500 {
		t.Errorf("%d movements seen on %d pages", seen, pages)
	}
	if seen, pages := s.scan("those who wait", func(cursor uint64, see func(string)) (uint64, error) {
		got, err := s.store.ScanWaiters(s.ctx(), s.id(), waited, cursor, 1000)
		for _, id := range got.IDs {
			see(string(id[:]))
		}
		return got.Next, err
	}); pages < 50 || seen != many {
		t.Errorf("%d of those who wait seen on %d pages", seen, pages)
	}
	s.quick("begin_load", func() error { return s.store.Begin(s.ctx(), *s.facts, s.rules, s.epoch+1) })
}

// quick demands of a call that Redis works little for it.
func (s *testSale) quick(name string, call func() error) {
	s.t.Helper()
	before := s.processorTime()
	s.must(call())
	if took := s.processorTime() - before; took > 3*20*time.Millisecond {
		s.t.Errorf("%s took %v", name, took)
	}
}

// scan reads all pages, each of which must be quick, and counts them and the different things that it saw.
func (s *testSale) scan(what string, page func(cursor uint64, see func(string)) (next uint64, err error)) (seen, pages int) {
	s.t.Helper()
	cursor, all := uint64(0), map[string]bool{}
	for ; pages == 0 || cursor != 0; pages++ {
		s.quick("a page of "+what, func() (err error) {
			cursor, err = page(cursor, func(one string) { all[one] = true })
			return err
		})
	}
	return len(all), pages
}

// processorTime is what the thread of Redis that runs commands has used so far.
func (s *testSale) processorTime() (sum time.Duration) {
	s.t.Helper()
	info := s.rdb.InfoMap(s.ctx(), "cpu")
	for _, name := range []string{"used_cpu_user_main_thread", "used_cpu_sys_main_thread"} {
		seconds, err := time.ParseDuration(info.Item("CPU", name) + "s")
		s.must(err)
		sum += seconds
	}
	return sum
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
	const n = 9_000 // just above a power of two, where the tables of Redis are largest for what they hold
	before := s.used()
	orders := make([]sale.Reservation, n)
	for from := 0; from < n; from += 100 {
		s.must(errors.Join(atOnce(100, func(i int) error {
			got, err := s.reserve(s.wish(fmt.Sprintf("user-%012d", from+i), "k", 1))
			orders[from+i] = got.Reservation
			return err
		})...))
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

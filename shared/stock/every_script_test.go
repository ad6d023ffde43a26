package stock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/lua"
	"holdfast/shared/sale"
	"holdfast/shared/testenv"
)

// scenario runs one script through its method, on a sale that stage has prepared.
type scenario struct {
	script *lua.Script
	act    func(ctx context.Context, st *Store, s *staged) error
	again  error // what the second call in a row answers; nil: the same again
	reads  bool  // changes nothing
	full   bool  // works in a full Redis
	heals  bool  // replaces keys of a wrong type
}

// staged is a sale with one order of each standing.
type staged struct {
	*testSale
	pending, acknowledged, dead, lost sale.Reservation
	next                              ReserveRequest // not made yet
	waiter                            sale.EntryID   // waits for a unit of the type waited
}

// waited is a type that somebody waits for.
const waited = "WAITED"

func stage(s *testSale) *staged {
	s.t.Helper()
	g := &staged{testSale: s, next: s.wish("next", "k", 2), waiter: sale.EntryID{1}, lost: lostOrder(s, "lost", 1, 2)}
	g.pending, g.acknowledged, g.dead = s.take("p", "k", 3), s.take("a", "k", 2), s.take("d", "k", 1)
	s.ack(g.acknowledged)
	s.release(g.dead)
	_, err := s.store.AdjustStock(s.ctx(), s.facts, Adjustment{"before", standard, 4})
	s.must(err)
	_, err = s.store.AddWaiters(s.ctx(), s.id(), waited, []sale.EntryID{g.waiter})
	s.must(err)
	s.must(s.store.CacheOrder(s.ctx(), s.id(), g.pending.OrderID, 1, []byte("{}")))
	return g
}

func scenarios() []scenario {
	newer := func(s *staged) sale.Rules {
		r := s.rules
		r.Version, r.Limit = 9, 50
		return r
	}
	return []scenario{
		{script: lua.Reserve, act: func(ctx context.Context, st *Store, s *staged) error {
			_, err := st.Reserve(ctx, s.facts, s.next)
			return err
		}},
		{script: lua.Release, full: true, act: func(ctx context.Context, st *Store, s *staged) error {
			_, err := st.Release(ctx, s.id(), s.pending.OrderID, "p", "USER")
			return err
		}},
		{script: lua.Release, full: true, act: func(ctx context.Context, st *Store, s *staged) error {
			_, err := st.Release(ctx, s.id(), s.next.OrderID, "next", "USER")
			return err
		}},
		{script: lua.Ack, full: true, act: func(ctx context.Context, st *Store, s *staged) error {
			moved := s.acknowledged
			moved.Allocations = sale.Allocations{{Bucket: 2, Count: moved.Quantity}}
			_, err := st.Acknowledge(ctx, s.id(), []sale.Reservation{s.pending, moved, s.dead, s.lost})
			return err
		}},
		{script: lua.BeginLoad, again: ErrEpoch, heals: true, act: func(ctx context.Context, st *Store, s *staged) error {
			return st.Begin(ctx, *s.facts, s.rules, s.epoch+1)
		}},
		{script: lua.Adopt, act: func(ctx context.Context, st *Store, s *staged) error {
			return st.Adopt(ctx, s.id(), s.epoch, Page{Live: []sale.Reservation{s.lost}, Dead: []DeadMark{{s.next.OrderID, "next", "USER"}},
				Adjustments: []Adjusted{{Adjustment{"late", standard, 1}, sale.Split{{Bucket: 0, Delta: 1}}}}})
		}},
		{script: lua.GateWaitlist, act: func(ctx context.Context, st *Store, s *staged) error { // more than there are, so it waits
			_, err := st.GateWaitlist(ctx, s.id(), standard, sale.EntryID{7}, MaxQuantity)
			return err
		}},
		{script: lua.AddWaiters, act: func(ctx context.Context, st *Store, s *staged) error {
			_, err := st.AddWaiters(ctx, s.id(), standard, []sale.EntryID{{7}, {8}})
			return err
		}},
		{script: lua.LeaveWaitlist, full: true, act: func(ctx context.Context, st *Store, s *staged) error {
			_, err := st.LeaveWaitlist(ctx, s.id(), waited, []sale.EntryID{s.waiter, {9}})
			return err
		}},
		{script: lua.ReadWaiters, reads: true, full: true, act: func(ctx context.Context, st *Store, s *staged) error {
			_, err := st.Waiting(ctx, s.id(), []string{standard, waited})
			return err
		}},
		{script: lua.OpenLoad, act: func(ctx context.Context, st *Store, s *staged) error { return st.Open(ctx, s.id(), s.epoch) }},
		{script: lua.ChangeRules, act: func(ctx context.Context, st *Store, s *staged) error {
			_, err := st.ChangeRules(ctx, s.id(), newer(s))
			return err
		}},
		{script: lua.AdjustStock, act: func(ctx context.Context, st *Store, s *staged) error {
			_, err := st.AdjustStock(ctx, s.facts, Adjustment{"now", standard, -5})
			return err
		}},
		{script: lua.UndoAdjustment, act: func(ctx context.Context, st *Store, s *staged) error {
			return st.UndoAdjustment(ctx, s.id(), "before")
		}},
		{script: lua.CacheOrder, heals: true, act: func(ctx context.Context, st *Store, s *staged) error {
			return st.CacheOrder(ctx, s.id(), s.pending.OrderID, 2, []byte(`{"status":"UNPAID"}`))
		}},
		{script: lua.Snapshot, reads: true, full: true, act: func(ctx context.Context, st *Store, s *staged) error {
			_, err := st.Snapshot(ctx, s.facts)
			return err
		}},
		{script: lua.ReadRun, reads: true, full: true, act: func(ctx context.Context, st *Store, s *staged) error {
			_, err := st.RunID(ctx, s.id())
			return err
		}},
		{script: lua.MarkSent, act: func(ctx context.Context, st *Store, s *staged) error {
			return st.MarkSent(ctx, s.id(), s.pending.OrderID)
		}},
		{script: lua.MarkWhole, act: func(ctx context.Context, st *Store, s *staged) error {
			run, err := New(s.rdb, nil).RunID(ctx, s.id()) // on a connection that no test disturbs
			return errors.Join(err, st.MarkWhole(ctx, s.id(), s.epoch, run))
		}},
		{script: lua.CorrectCounter, act: func(ctx context.Context, st *Store, s *staged) error {
			_, err := st.CorrectCounter(ctx, s.id(), Counter{standard, 0}, 0, 7, s.epoch) // it is not off, and must stay so
			return err
		}},
		{script: lua.ReadEntries, reads: true, full: true, act: func(ctx context.Context, st *Store, s *staged) error {
			_, err := st.Entry(ctx, s.id(), s.pending.OrderID)
			return err
		}},
		{script: lua.ReadHolding, reads: true, full: true, act: func(ctx context.Context, st *Store, s *staged) error {
			_, err := st.Holding(ctx, s.id(), "p")
			return err
		}},
		{script: lua.ListPending, reads: true, full: true, act: func(ctx context.Context, st *Store, s *staged) error {
			_, _, err := st.PendingBefore(ctx, s.id(), 0, PendingCursor{}, 9)
			return err
		}},
		{script: lua.Probe, reads: true, act: func(ctx context.Context, st *Store, _ *staged) error { return st.Probe(ctx) }},
	}
}

// forEachScript runs body once per scenario, each on a sale of its own.
func forEachScript(t *testing.T, rdb redis.UniversalClient, body func(t *testing.T, c scenario, s *staged)) {
	for i, c := range scenarios() {
		t.Run(fmt.Sprintf("%s %d", c.script.Name, i), func(t *testing.T) { body(t, c, stage(newSale(t, rdb, 9, 4, 4, 4))) })
	}
}

func (s *staged) allKeys() []string {
	k := keysOf(s.id())
	return append(s.setKeys(), k.order(s.pending.OrderID), k.waiters(standard), k.waiters(waited))
}

func TestEveryScriptHasAScenario(t *testing.T) {
	t.Parallel()
	for _, script := range lua.All() {
		if !slices.ContainsFunc(scenarios(), func(c scenario) bool { return c.script == script }) {
			t.Errorf("%s.lua has no scenario", script.Name)
		}
	}
}

func TestEveryScriptTwiceInARowHasOneEffect(t *testing.T) {
	t.Parallel()
	forEachScript(t, testenv.Redis(t), func(t *testing.T, c scenario, s *staged) {
		before := s.dump(s.allKeys()...)
		s.must(c.act(s.ctx(), s.store, s))
		after := s.dump(s.allKeys()...)
		if changed := fmt.Sprint(before) != fmt.Sprint(after); changed == (c.reads || c.script == lua.OpenLoad || c.script == lua.MarkWhole) {
			t.Errorf("changed something: %v", changed)
		}
		if err := c.act(s.ctx(), s.store, s); !errors.Is(err, c.again) || c.again == nil && err != nil {
			t.Errorf("again: %v, want %v", err, c.again)
		}
		s.unchanged(after)
		s.holds()
	})
}

func TestEveryScriptWorksInAClusterForEveryLegalLookingId(t *testing.T) {
	t.Parallel()
	cluster := testenv.Cluster(t)
	for _, id := range []string{"a-b", "a_b", "a{b}c", "act_1_x", "act_1", strings.Repeat("x", 64)} {
		t.Run(id, func(t *testing.T) {
			for n, c := range scenarios() {
				own := fmt.Sprintf("%s%02d", rand.Text()[:10], n) // no other run of the tests uses the same
				s := draftSale(t, cluster, id[:min(len(id), 64-len(own))]+own, 9, 4, 4, 4)
				s.open()
				g := stage(s)
				s.must(c.act(s.ctx(), s.store, g))
				if err := c.act(s.ctx(), s.store, g); !errors.Is(err, c.again) || c.again == nil && err != nil {
					t.Errorf("%s again: %v", c.script.Name, err)
				}
				s.holds()
				s.must(cluster.Unlink(s.ctx(), g.allKeys()...).Err()) // one slot, or this is refused
			}
		})
	}
}

func TestActivitiesNeverShareAKey(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, id := range []string{"act", "act_1", "act_1_x", "act-1", "Act_1", "a{b}c", "a{b}d", strings.Repeat("x", 64), strings.Repeat("x", 63)} {
		k := keysOf(id)
		for _, key := range []string{k.facts(), k.rules(), k.buyers(), k.log(), k.pending(), k.order(sale.OrderID{}),
			k.waiters("a"), k.waiters("a_1")} {
			if other, found := seen[key]; found {
				t.Errorf("%s and %s share %s", id, other, key)
			}
			seen[key] = id
		}
	}
}

func TestEveryScriptRunsAfterItsTextWasFlushed(t *testing.T) {
	t.Parallel()
	own := testenv.RedisClient(t, testenv.OwnRedis(t).Addr)
	forEachScript(t, own, func(t *testing.T, c scenario, s *staged) {
		s.must(own.ScriptFlush(s.ctx()).Err())
		s.must(c.act(s.ctx(), s.store, s))
		s.holds()
	})
}

func TestFlushingScriptsAllTheTimeLosesNoReserve(t *testing.T) {
	t.Parallel()
	own := testenv.RedisClient(t, testenv.OwnRedis(t).Addr)
	s := newSale(t, own, 1, 1000, 1000)
	done := make(chan struct{})
	var flusher sync.WaitGroup
	flusher.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
				_ = own.ScriptFlush(context.Background()).Err()
			}
		}
	})
	for group := range 40 {
		errs := atOnce(50, func(i int) error {
			_, err := s.reserve(s.wish(fmt.Sprint("u", group*50+i), "k", 1))
			return err
		})
		s.must(errors.Join(errs...))
		s.must(own.ScriptFlush(s.ctx()).Err())
	}
	close(done)
	flusher.Wait()
	if s.left() != 0 {
		t.Errorf("%d left", s.left())
	}
	s.holds()
}

func TestLostReplyOfEveryScriptIsNoAnswerAndItsRetryChangesNothing(t *testing.T) {
	t.Parallel()
	addr := testenv.RedisAddr(t)
	forEachScript(t, testenv.Redis(t), func(t *testing.T, c scenario, s *staged) {
		proxy := testenv.Proxy(t, addr)
		through := New(testenv.RedisClient(t, proxy.Addr), nil)
		s.must(through.Probe(s.ctx())) // the connection stands, greetings are over
		s.must(c.act(s.ctx(), s.store, s.other(c)))
		before := s.dump(s.allKeys()...)
		proxy.DropReplies(1)
		if err := c.act(s.ctx(), through, s); !errors.Is(err, ErrNoAnswer) {
			t.Fatalf("%v, want no answer", err)
		}
		proxy.DropReplies(0)
		after := s.dump(s.allKeys()...)
		if changed := fmt.Sprint(before) != fmt.Sprint(after); changed == (c.reads || c.script == lua.OpenLoad || c.script == lua.MarkWhole) {
			t.Errorf("the lost call changed something: %v", changed)
		}
		if err := c.act(s.ctx(), through, s); !errors.Is(err, c.again) || c.again == nil && err != nil {
			t.Errorf("retry: %v, want %v", err, c.again)
		}
		s.unchanged(after)
		s.holds()
	})
}

// other is another sale, on which the scenario runs once so that Redis has its script.
func (s *staged) other(scenario) *staged { return stage(newSale(s.t, s.rdb, 9, 4, 4, 4)) }

// keySpy notes the keys that scripts are called with.
type keySpy struct{ keys []string }

func (k *keySpy) DialHook(next redis.DialHook) redis.DialHook { return next }
func (k *keySpy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			k.note(cmd.Args())
		}
		return next(ctx, cmds)
	}
}
func (k *keySpy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		k.note(cmd.Args())
		return next(ctx, cmd)
	}
}
func (k *keySpy) note(args []any) {
	if verb := args[0]; verb != "evalsha" && verb != "eval" {
		return
	}
	for _, key := range args[3 : 3+args[2].(int)] {
		if !slices.Contains(k.keys, key.(string)) {
			k.keys = append(k.keys, key.(string))
		}
	}
}

func TestFullRedisRefusesCleanlyAndReleaseAndAckStillWork(t *testing.T) {
	t.Parallel()
	own := testenv.RedisClient(t, testenv.OwnRedis(t, "--maxmemory-policy", "noeviction").Addr)
	limit := func(s *staged, bytes string) { s.must(own.ConfigSet(s.ctx(), "maxmemory", bytes).Err()) }
	forEachScript(t, own, func(t *testing.T, c scenario, s *staged) {
		limit(s, "1mb") // below what an empty one uses
		defer limit(s, "0")
		before := s.dump(s.allKeys()...)
		err := c.act(s.ctx(), s.store, s)
		if c.full {
			s.must(err)
			return
		}
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "OOM") {
			t.Errorf("%v, want a refusal for want of memory", err)
		}
		s.unchanged(before)
		s.holds()
	})
}

func TestReservesUpToTheLastByteAreWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	own := testenv.RedisClient(t, testenv.OwnRedis(t, "--maxmemory-policy", "noeviction").Addr)
	s := newSale(t, own, 1, 50_000, 50_000)
	used, err := strconv.Atoi(own.InfoMap(s.ctx(), "memory").Item("Memory", "used_memory"))
	s.must(err)
	s.must(own.ConfigSet(s.ctx(), "maxmemory", fmt.Sprint(used+300_000)).Err())
	taken := 0
	for ; taken < 20_000; taken++ {
		if _, err = s.reserve(s.wish(fmt.Sprint("u", taken), "k", 1)); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrUnavailable) || taken < 50 {
		t.Fatalf("after %d: %v", taken, err)
	}
	if left := s.left(); left != 100_000-taken {
		t.Errorf("%d left after %d taken", left, taken)
	}
	s.holds()
}

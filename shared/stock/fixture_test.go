package stock

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/testenv"
)

// a sale for tests: one activity with its facts and rules, in a real Redis.
type testSale struct {
	t     testing.TB
	rdb   redis.UniversalClient
	store *Store
	facts *sale.Facts
	rules sale.Rules
	epoch int64
}

const standard = "STANDARD"

// newSale loads and opens an activity with one type whose buckets have these capacities.
func newSale(t testing.TB, rdb redis.UniversalClient, limit int, capacities ...int) *testSale {
	t.Helper()
	s := draftSale(t, rdb, testenv.ActivityID(t), limit, capacities...)
	s.open()
	return s
}

// draftSale is an activity that Redis does not know.
func draftSale(t testing.TB, rdb redis.UniversalClient, activityID string, limit int, capacities ...int) *testSale {
	price, err := money.Parse("12.50", "CNY")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	return &testSale{t: t, rdb: rdb, store: New(rdb, nil),
		facts: &sale.Facts{ActivityID: activityID, Number: 1_760_000_000_000, Salt: []byte("salt of thirty-two bytes, really"), Kind: sale.Ticket,
			Mode: sale.Live, Currency: "CNY", Types: []sale.TypeFact{{ID: standard, Price: price, Capacities: capacities}}},
		rules: sale.Rules{Version: 1, Status: sale.Published, OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour), Limit: limit}}
}

func (s *testSale) ctx() context.Context { return s.t.Context() }
func (s *testSale) id() string           { return s.facts.ActivityID }

// open loads the activity under the next epoch, with nothing sold, and opens it.
func (s *testSale) open() {
	s.t.Helper()
	s.begin()
	s.must(s.store.Open(s.ctx(), s.id(), s.epoch))
}

func (s *testSale) begin() {
	s.t.Helper()
	s.epoch++
	s.must(s.store.Begin(s.ctx(), *s.facts, s.rules, s.epoch))
}

func (s *testSale) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *testSale) wish(user, key string, quantity int) ReserveRequest {
	return ReserveRequest{OrderID: s.facts.OrderID(user, key), UserID: user, TicketType: standard, Quantity: quantity}
}

// wishAt is a wish whose id starts at this bucket of n.
func (s *testSale) wishAt(bucket, n int, user string, quantity int) ReserveRequest {
	w := s.wish(user, "key", quantity)
	binary.BigEndian.PutUint16(w.OrderID[14:], uint16(bucket))
	if w.OrderID.StartBucket(n) != bucket {
		s.t.Fatalf("start bucket is %d, want %d", w.OrderID.StartBucket(n), bucket)
	}
	return w
}

func (s *testSale) reserve(w ReserveRequest) (Reserved, error) {
	return s.store.Reserve(s.ctx(), s.facts, w)
}

func (s *testSale) take(user, key string, quantity int) sale.Reservation {
	s.t.Helper()
	got, err := s.reserve(s.wish(user, key, quantity))
	s.must(err)
	if got.Standing != Taken {
		s.t.Fatalf("standing %d, want taken now", got.Standing)
	}
	return got.Reservation
}

func (s *testSale) release(r sale.Reservation) Released {
	s.t.Helper()
	got, err := s.store.Release(s.ctx(), s.id(), r.OrderID, r.UserID, "USER")
	s.must(err)
	return got
}

func (s *testSale) ack(orders ...sale.Reservation) []AckOutcome {
	s.t.Helper()
	got, err := s.store.Acknowledge(s.ctx(), s.id(), orders)
	s.must(err)
	return got
}

func (s *testSale) snapshot() Snapshot {
	s.t.Helper()
	got, err := s.store.Snapshot(s.ctx(), s.facts)
	s.must(err)
	return got
}

func (s *testSale) left() int { return s.snapshot().Types[standard].Left }

func (s *testSale) setKeys() []string {
	k := keysOf(s.id())
	return []string{k.rules(), k.buyers(), k.log(), k.pending(), k.facts()}
}

// dump is the exact content of the keys; "" stands for an absent one.
func (s *testSale) dump(keys ...string) map[string]string {
	s.t.Helper()
	if len(keys) == 0 {
		keys = s.setKeys()
	}
	out := make(map[string]string, len(keys))
	for _, key := range keys {
		text, err := s.rdb.Dump(context.Background(), key).Result()
		if err != nil && err != redis.Nil {
			s.t.Fatal(err)
		}
		out[key] = text
	}
	return out
}

// unchanged fails when any key differs from the dump.
func (s *testSale) unchanged(before map[string]string) {
	s.t.Helper()
	after := s.dump(slices.Collect(maps.Keys(before))...)
	for key, text := range before {
		if after[key] != text {
			s.t.Errorf("%s has changed", key)
		}
	}
}

// movements reads the whole log.
func (s *testSale) movements() []Movement {
	s.t.Helper()
	var all []Movement
	for cursor := uint64(0); ; {
		page, err := s.store.Log(s.ctx(), s.id(), cursor, 500)
		s.must(err)
		all = append(all, page.Movements...)
		if cursor = page.Next; cursor == 0 {
			return all
		}
	}
}

func (s *testSale) fold() *Fold {
	s.t.Helper()
	fold := NewFold(s.facts)
	for _, m := range s.movements() {
		fold.Add(m)
	}
	return fold
}

// check holds the set against what must always be true of it, and returns the first thing that is not.
func (s *testSale) check() error {
	shot, fold := s.snapshot(), s.fold()
	if got, want := fmt.Sprint(shot.Types), fmt.Sprint(fold.Types()); got != want {
		return fmt.Errorf("counters %s, fold of the log %s", got, want)
	}
	marks, err := s.rdb.HGetAll(s.ctx(), keysOf(s.id()).buyers()).Result()
	if err != nil {
		return err
	}
	delete(marks, "#")
	held := fold.Held()
	for field, mark := range marks {
		if got, want := mark[:len(mark)-17], fmt.Sprint(held[field[1:]]); got != want {
			return fmt.Errorf("mark of %s says %s units, the log %s", field, got, want)
		}
	}
	live, seqs, pending := fold.Live(), map[int64]bool{}, s.pending()
	for _, m := range s.movements() {
		if m.Seq > shot.Seq || seqs[m.Seq] {
			return fmt.Errorf("seq %d is above the last or stands twice", m.Seq)
		}
		seqs[m.Seq] = true
		if _, marked := marks["u"+m.UserID]; (m.Kind == KindTaken || m.Kind == KindMarked) && !marked {
			return fmt.Errorf("user %s is in the log and has no mark", m.UserID)
		}
	}
	for _, id := range pending {
		if _, found := live[id]; !found {
			return fmt.Errorf("%s is pending and not live", id)
		}
	}
	if shot.Pending != len(pending) {
		return fmt.Errorf("%d pending by count, %d by list", shot.Pending, len(pending))
	}
	return nil
}

func (s *testSale) pending() []sale.OrderID {
	s.t.Helper()
	ids, _, err := s.store.PendingBefore(s.ctx(), s.id(), -time.Hour, PendingCursor{}, 100_000)
	s.must(err)
	return ids
}

func (s *testSale) holds() {
	s.t.Helper()
	if err := s.check(); err != nil {
		s.t.Error(err)
	}
}

// keyNames makes keys readable in failures.
func keyNames(keys []string) string {
	short := make([]string, len(keys))
	for i, key := range keys {
		short[i] = key[strings.LastIndex(key, "}:")+2:]
	}
	return strings.Join(short, ",")
}

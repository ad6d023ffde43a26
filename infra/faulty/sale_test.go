package faulty

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/infra/crowd"
	"holdfast/shared/catalog"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

// offer is one sale on a stage, with the journal of what its buyers were promised.
type offer struct {
	*stage
	id    string
	facts sale.Facts

	mu       sync.Mutex
	promises []crowd.Promise
}

// terms are those of a sale; zero fields take their defaults.
type terms struct {
	kind     string // TICKET
	capacity int    // 1000
	buckets  int    // 4
	limit    int    // 4
	pay      int    // seconds to pay in; a day
}

// seat is the one ticket type of every sale here.
const seat = "STANDARD"

// sell makes and publishes a sale that is open for long, whose orders wait a day for their payment.
func (s *stage) sell(w terms) *offer {
	s.t.Helper()
	if w.kind == "" {
		w.kind = "TICKET"
	}
	for _, d := range []struct {
		field *int
		value int
	}{{&w.capacity, 1000}, {&w.buckets, min(4, max(1, w.capacity))}, {&w.limit, 4}, {&w.pay, 86400}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	o := &offer{stage: s, id: testenv.ActivityID(s.t)}
	s.must("POST", "/ops/v1/activities", s.operator, map[string]any{"activityId": o.id, "kind": w.kind, "title": "A sale",
		"currency": "CNY", "opensAt": "2026-01-01T00:00:00Z", "closesAt": "2099-01-01T00:00:00Z", "perUserLimit": w.limit,
		"payWindowSeconds": w.pay, "ticketTypes": []map[string]any{{"ticketType": seat, "title": "Seat", "capacity": w.capacity,
			"buckets": w.buckets, "price": map[string]string{"amount": "80.00", "currency": "CNY"}}}})
	s.must("POST", "/ops/v1/activities/"+o.id+"/publication", s.operator, map[string]any{})
	a, err := catalog.Get(s.t.Context(), s.rows, o.id)
	if err != nil {
		s.t.Fatal(err)
	}
	o.facts = a.Facts()
	return o
}

// on gives the same stage to a subtest, which fails in its own name.
func (s *stage) on(t *testing.T) *stage {
	return &stage{t: t, stack: s.stack, http: s.http, redis: s.redis, cache: s.cache, database: s.database, rows: s.rows,
		keys: s.keys, operator: s.operator, tokens: make(map[string]string)}
}

// reserve asks for units and writes a 202 into the journal.
func (o *offer) reserve(user, key string, quantity int) answer {
	a := o.ask("POST", "/v1/activities/"+o.id+"/reservations", o.token(user), key, map[string]any{"ticketType": seat, "quantity": quantity})
	if a.status == 202 {
		id, err := sale.ParseOrderID(a.body.OrderID)
		if err != nil || a.header.Get("Location") != "/v1/orders/"+a.body.OrderID {
			o.t.Errorf("a 202 names order %q at %q", a.body.OrderID, a.header.Get("Location"))
		}
		o.mu.Lock()
		o.promises = append(o.promises, crowd.Promise{At: time.Now(), OrderID: id, UserID: user, Type: seat, Quantity: quantity})
		o.mu.Unlock()
	}
	return a
}

// insist is reserve as an app does it: while the answer is that a unit may be held, it sends the same again. A busy machine gives that
// answer too, without any fault.
func (o *offer) insist(user, key string, quantity int) (a answer) {
	for range 50 {
		a = o.reserve(user, key, quantity)
		if a.body.Code != "RESERVATION_UNCONFIRMED" {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return a
}

// promised is insist for what must be accepted; it returns the order id.
func (o *offer) promised(user, key string, quantity int) string {
	o.t.Helper()
	a := o.insist(user, key, quantity)
	if a.status != 202 {
		o.t.Fatalf("%s with key %s: %v", user, key, a)
	}
	return a.body.OrderID
}

// rush has n buyers insist on one unit each, a few at a time, and returns the answers by buyer. Buyer i is name(i) with key "wish".
func (o *offer) rush(n int, name func(i int) string) []answer {
	answers := make([]answer, n)
	inParallel(n, func(i int) { answers[i] = o.insist(name(i), "wish", 1) })
	return answers
}

// sellTo is a rush in which every buyer must be accepted.
func (o *offer) sellTo(n int, name func(i int) string) {
	o.t.Helper()
	for i, a := range o.rush(n, name) {
		if a.status != 202 {
			o.t.Errorf("%s heard %v", name(i), a)
		}
	}
}

// inParallel calls f for 0..n-1 by a few workers.
func inParallel(n int, f func(i int)) {
	const workers = 8
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, workers) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	all.Wait()
}

// named makes names of buyers.
func named(prefix string) func(i int) string {
	return func(i int) string { return fmt.Sprintf("%s-%d", prefix, i) }
}

func (o *offer) read(user, orderID string) answer {
	return o.ask("GET", "/v1/orders/"+orderID, o.token(user), "", nil)
}

// holding asks how much a user holds, which only Redis knows exactly.
func (o *offer) holding(user string) answer {
	return o.ask("GET", "/v1/activities/"+o.id+"/me", o.token(user), "", nil)
}

// cancel has the user cancel, under a key that belongs to the order: a second call is a repeated one.
func (o *offer) cancel(user, orderID string) answer {
	return o.ask("POST", "/v1/orders/"+orderID+"/cancellation", o.token(user), "no-"+orderID, nil)
}

// becomes waits until an order stands as wanted.
func (o *offer) becomes(user, orderID, state string) {
	o.t.Helper()
	o.eventually("order "+orderID+" becomes "+state, func() (bool, string) {
		a := o.read(user, orderID)
		return a.state() == state, a.String()
	})
}

// orders counts the sale's rows of a status; "" counts all.
func (o *offer) orders(status string) int {
	o.t.Helper()
	if status == "" {
		return o.count("SELECT COUNT(*) FROM trade_order WHERE activity_id = ?", o.id)
	}
	return o.count("SELECT COUNT(*) FROM trade_order WHERE activity_id = ? AND status = ?", o.id, status)
}

// haveRows waits until the sale has n orders of a status.
func (o *offer) haveRows(n int, status string) {
	o.t.Helper()
	o.eventually(fmt.Sprintf("%d orders are %s", n, status), func() (bool, string) {
		got := o.orders(status)
		return got == n, fmt.Sprint(got)
	})
}

// snapshot reads the counters of Redis.
func (o *offer) snapshot() stock.Snapshot {
	o.t.Helper()
	snapshot, err := o.store().Snapshot(o.t.Context(), &o.facts)
	if err != nil {
		o.t.Fatal(err)
	}
	return snapshot
}

// left is how many units Redis offers.
func (o *offer) left() int {
	o.t.Helper()
	return o.snapshot().Types[seat].Left
}

// nothingPending waits until repair and consumer have told Redis of every order.
func (o *offer) nothingPending() {
	o.t.Helper()
	o.eventually("nothing is pending", func() (bool, string) {
		n := o.snapshot().Pending
		return n == 0, fmt.Sprint(n)
	})
}

// dump is the sale in Redis, byte for byte.
func (o *offer) dump() map[string]string {
	o.t.Helper()
	keys, err := o.keys.Keys(o.t.Context(), "hf:{"+o.id+"}:*").Result()
	if err != nil || len(keys) == 0 {
		o.t.Fatalf("keys of the sale: %v %v", keys, err)
	}
	all := make(map[string]string)
	for _, key := range keys {
		text, err := o.keys.Dump(o.t.Context(), key).Result()
		if err != nil {
			o.t.Fatal(err)
		}
		all[key] = text
	}
	return all
}

// repaired lets the grace of everything unfinished pass, and waits until repair has nothing left to do.
func (o *offer) repaired() {
	o.t.Helper()
	o.advance(2 * time.Minute)
	o.eventually("repair has finished everything", func() (bool, string) {
		a := o.compensate()
		unreleased := o.count("SELECT COUNT(*) FROM trade_order WHERE activity_id = ? AND status = 'CANCELLED' AND released_at IS NULL", o.id)
		pending := o.snapshot().Pending
		return a.status == 200 && pending == 0 && unreleased == 0, fmt.Sprintf("%v, %d pending, %d unreleased", a, pending, unreleased)
	})
}

// proves checks the invariants against both stores and the journal, and that exactly so many orders are live.
func (o *offer) proves(live int) {
	o.t.Helper()
	report, err := crowd.Prove(o.t.Context(), o.stack.Addresses, o.id, o.promises, patience)
	if err != nil {
		o.t.Fatal(err)
	}
	if !report.Pass() || report.InFlight != 0 {
		var text bytes.Buffer
		_ = report.Write(&text)
		o.t.Errorf("the proof fails:\n%s", text.String())
	}
	if got := o.orders("UNPAID") + o.orders("PAID"); got != live {
		o.t.Errorf("%d live orders, want %d", got, live)
	}
}

// noDeadLetters demands that no message was given up.
func (s *stage) noDeadLetters() {
	s.t.Helper()
	if n := s.count("SELECT COUNT(*) FROM dead_letter"); n != 0 {
		s.t.Errorf("%d messages were given up", n)
	}
	if a := s.must("GET", "/ops/v1/dead-letters", s.operator, nil); !bytes.Contains([]byte(a.text), []byte(`"items":[]`)) {
		s.t.Errorf("dead letters: %v", a)
	}
}

// busy demands an answer that says: come again, the stores are not well; soon, and saying when.
func (s *stage) busy(a answer, code string) {
	s.t.Helper()
	if a.status != 503 || a.body.Code != code || !a.body.Retryable || a.header.Get("Retry-After") == "" || a.body.RetryAfterMs <= 0 {
		s.t.Errorf("answer %v with Retry-After %q; want 503 %s", a, a.header.Get("Retry-After"), code)
	}
	if a.took > slowest {
		s.t.Errorf("%s took %v", code, a.took)
	}
}

// slowest is how late an answer may come while Redis does not work: the 400 ms that the code sets itself, with slack for the machine.
const slowest = 3 * 400 * time.Millisecond

// unconfirmed demands the answer that says: a unit may be held, the same key continues, or read that order.
func (s *stage) unconfirmed(a answer) {
	s.t.Helper()
	const code = "RESERVATION_UNCONFIRMED"
	if a.status != 503 || a.body.Code != code || !a.body.Retryable || a.header.Get("Retry-After") == "" {
		s.t.Errorf("answer %v; want 503 %s", a, code)
	}
	if a.body.OrderID == "" || a.header.Get("Location") != "/v1/orders/"+a.body.OrderID {
		s.t.Errorf("%s names order %q at %q", code, a.body.OrderID, a.header.Get("Location"))
	}
}

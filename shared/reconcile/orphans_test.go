package reconcile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/shared/checkout"
	"holdfast/shared/metric"
	"holdfast/shared/order"
	"holdfast/shared/reconcile"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

// counts takes what is counted as mended.
type counts struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (c *counts) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lines.Write(b)
}

func (c *counts) orphans(t *testing.T) int {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := 0.0
	for _, line := range strings.Fields(c.lines.String()) {
		var root map[string]any
		if err := json.Unmarshal([]byte(line), &root); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		n, _ := root[metric.OrphanCompensation].(float64)
		sum += n
	}
	return int(sum)
}

func (w *world) counted() *counts {
	out := &counts{}
	w.reconciler.CountBy(metric.New(out, time.Now))
	return out
}

// repaired counts the repairs of the second layer.
func (w *world) repaired(kind order.RepairKind) int {
	w.t.Helper()
	return w.count("SELECT COUNT(*) FROM repair WHERE layer = 2 AND kind = ? AND activity_id = ?", string(kind), w.activity.ID)
}

// offline makes a checkout that Redis does not answer.
func (w *world) offline() *checkout.Checkout {
	return checkout.New(w.db, stock.New(testenv.RedisClient(w.t, "127.0.0.1:1"), nil), w.catalog, nil)
}

// cancelUnheard cancels orders without Redis hearing of it, and without a word about it: the process has died. Its checkout asks a
// database of Redis that has nothing, which costs no time as an absent one would.
func (w *world) cancelUnheard(orders ...order.Order) {
	w.t.Helper()
	for _, o := range orders {
		if _, err := w.db.ExecContext(w.t.Context(), "UPDATE trade_order SET pay_deadline = '2020-01-01 00:00:00' WHERE id = ?", o.ID[:]); err != nil {
			w.t.Fatal(err)
		}
	}
	nothing := redis.NewClient(&redis.Options{Addr: testenv.RedisAddr(w.t), DB: 1})
	defer nothing.Close()
	deaf := checkout.New(w.db, stock.New(nothing, nil), w.catalog, nil)
	if n, _, err := deaf.Expire(w.t.Context(), len(orders)); n != len(orders) || err != nil {
		w.t.Fatalf("%d expired, %v", n, err)
	}
	if _, err := w.db.ExecContext(w.t.Context(), "DELETE FROM compensation_fail"); err != nil {
		w.t.Fatal(err)
	}
	w.advance(10 * time.Second) // longer than repair leaves a cancelled order to whoever cancelled it
}

// forgetOrder makes Redis lose one reservation that is committed: its entry, its units, its mark.
func (w *world) forgetOrder(o order.Order) {
	w.t.Helper()
	key := func(name string) string { return "hf:{" + w.activity.ID + "}:" + name }
	pipe := w.rdb.Pipeline()
	pipe.HDel(w.t.Context(), key("log"), "t"+string(o.ID[:]))
	pipe.ZRem(w.t.Context(), key("pending"), "t"+string(o.ID[:]))
	pipe.HDel(w.t.Context(), key("buyers"), "u"+o.UserID)
	pipe.HIncrBy(w.t.Context(), key("rules"), "left:"+ticket, int64(o.Quantity))
	for _, a := range o.Allocations {
		pipe.HIncrBy(w.t.Context(), key("rules"), fmt.Sprintf("left:%s:%d", ticket, a.Bucket), int64(a.Count))
	}
	if _, err := pipe.Exec(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func TestEveryOrphanIsOneRepairWithItsKindAndItsAge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 50, buckets: 4, limit: 3})
	seen := w.counted()
	unacknowledged := w.commit(w.mustReserve("unacknowledged", "k", 1)).Live[0]
	unreleased := w.buy("unreleased", "k", 2)
	w.cancelUnheard(unreleased)
	unsent := w.mustReserve("unsent", "k", 3)
	refused := w.mustReserve("refused", "k", 3)
	if _, err := w.db.ExecContext(t.Context(), `INSERT INTO purchase_limit (activity_id, user_id, quantity, max_quantity, updated_at)
 VALUES (?, 'refused', 1, 3, UTC_TIMESTAMP(3))`, w.activity.ID); err != nil {
		t.Fatal(err)
	}
	w.advance(11 * time.Second)
	sum := w.compensate()
	if sum.Pending != (reconcile.Swept{Acknowledged: 1, Created: 1, Refused: 1}) || sum.Released != 1 {
		t.Fatalf("got %+v", sum)
	}
	for id, want := range map[sale.OrderID]string{unacknowledged.ID: "ACK", unreleased.ID: "RELEASE", unsent.OrderID: "CREATE", refused.OrderID: "REFUSE"} {
		if n := w.count("SELECT COUNT(*) FROM repair WHERE order_id = ?", id[:]); n != 1 {
			t.Errorf("%d repairs of the order for %s", n, want)
		}
		if n := w.count(`SELECT COUNT(*) FROM repair r JOIN trade_order o ON o.id = r.order_id WHERE r.order_id = ? AND r.layer = 2 AND r.kind = ?
 AND r.broken_at = CASE r.kind WHEN 'RELEASE' THEN o.cancelled_at ELSE o.reserved_at END AND r.at >= r.broken_at`, id[:], want); n != 1 {
			t.Errorf("the repair is not %s with its instants", want)
		}
	}
	if n := seen.orphans(t); n != 4 {
		t.Errorf("%d counted", n)
	}
	w.compensate()
	if n := w.count("SELECT COUNT(*) FROM repair"); n != 4 || seen.orphans(t) != 4 {
		t.Errorf("a second pass makes it %d repairs", n)
	}
	if _, err := w.db.ExecContext(t.Context(), "UPDATE purchase_limit SET quantity = 0 WHERE user_id = 'refused'"); err != nil {
		t.Fatal(err)
	}
	w.agree()
}

func TestOrderThatOnlyMySQLKnowsIsAdoptedByTheNextPassAndItsLossReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	seen := w.counted()
	kept, lost := w.buy("kept", "k", 1), w.buy("lost", "k", 2)
	w.forgetOrder(lost)
	if h, err := w.stock.Holding(t.Context(), w.activity.ID, "lost"); err == nil && h.Quantity != 0 {
		t.Fatalf("nothing is lost: %+v", h)
	}
	if sum := w.compensate(); sum.Adopted != 1 {
		t.Fatalf("got %+v", sum)
	}
	if n := w.repaired(order.RepairAdopt); n != 1 || w.count("SELECT COUNT(*) FROM repair WHERE order_id = ?", kept.ID[:]) != 0 {
		t.Errorf("%d adoptions are recorded", n)
	}
	if n := w.count("SELECT COUNT(*) FROM reconcile_run WHERE activity_id = ? AND cause = 'EVIDENCE'", w.activity.ID); n != 1 {
		t.Errorf("%d full reconciles were asked for", n)
	}
	if n := seen.orphans(t); n != 1 {
		t.Errorf("%d counted", n)
	}
	if sum := w.compensate(); sum.Adopted != 0 {
		t.Errorf("adopted again: %+v", sum)
	}
	w.agree()
}

// What changed longer ago is left to the full reconcile.
func TestOlderOrdersAreNotLookedUpEveryMinute(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	w.buy("lost", "k", 2)
	w.advance(3 * time.Minute)
	if adopted, err := w.reconciler.AdoptRecent(t.Context(), w.activity.ID); adopted != 0 || err != nil {
		t.Errorf("%d adopted, %v", adopted, err)
	}
}

func TestReservationThatCanNeverBecomeAnOrderAlertsAPersonOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	unfit := w.mustReserve("u3", "k", 1)
	key := "hf:{" + w.activity.ID + "}:"
	entry := w.rdb.HGet(t.Context(), key+"log", "t"+string(unfit.OrderID[:])).Val()
	if err := w.rdb.HSet(t.Context(), key+"log", "t"+string(unfit.OrderID[:]), strings.Replace(entry, ticket, "NOSUCH", 1)).Err(); err != nil {
		t.Fatal(err)
	}
	ghost := w.facts.OrderID("ghost", "k")
	if err := w.rdb.ZAdd(t.Context(), key+"pending", redis.Z{Score: float64(time.Now().UnixMicro()), Member: "t" + string(ghost[:])}).Err(); err != nil {
		t.Fatal(err)
	}
	w.advance(time.Minute)
	for range 2 {
		if sum, err := w.reconciler.SweepPending(t.Context(), w.activity.ID, time.Second, 10); err != nil || sum.Poison != 1 {
			t.Fatalf("got %+v, %v", sum, err)
		}
	}
	for kind, id := range map[string]string{"PENDING_UNFIT": unfit.OrderID.String(), "PENDING_WITHOUT_ENTRY": ghost.String()} {
		if n := w.count("SELECT COUNT(*) FROM alert WHERE kind = ? AND subject = ? AND activity_id = ? AND occurrences = 2", kind, id, w.activity.ID); n != 1 {
			t.Errorf("%d alerts of %s", n, kind)
		}
	}
	if n := w.count("SELECT COUNT(*) FROM alert WHERE detail LIKE '%u3%'"); n != 0 {
		t.Errorf("%d alerts name a user", n)
	}
}

// What the database refuses of one reservation keeps nobody else waiting.
func TestReservationThatFailsLeavesTheOthersOfItsPageTheirOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	bad := w.mustReserve("bad", "k", 1)
	if _, err := w.db.ExecContext(t.Context(), "INSERT INTO order_router (order_id, user_id, activity_id, created_at) VALUES (?, 'bad', ?, ?)",
		bad.OrderID[:], w.activity.ID, w.now()); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		w.mustReserve(fmt.Sprintf("u%d", i), "k", 1)
	}
	w.advance(time.Minute)
	if sum, err := w.reconciler.SweepPending(t.Context(), w.activity.ID, time.Second, 10); err == nil || sum.Created != 5 {
		t.Errorf("got %+v, %v", sum, err)
	}
	if _, err := w.db.ExecContext(t.Context(), "DELETE FROM order_router WHERE order_id = ?", bad.OrderID[:]); err != nil {
		t.Fatal(err)
	}
	if sum := w.compensate(); sum.Pending.Created != 1 {
		t.Errorf("when it can be: %+v", sum)
	}
	w.agree()
}

// A server that was restarted or replaced may have forgotten what nobody else will notice.
func TestAnotherRunOfTheServerAsksForAFullReconcile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	if sum := w.compensate(); sum.Suspected != 0 {
		t.Fatalf("the run that loaded it: %+v", sum)
	}
	if err := w.rdb.HSet(t.Context(), "hf:{"+w.activity.ID+"}:rules", "run", "another").Err(); err != nil {
		t.Fatal(err)
	}
	if sum := w.compensate(); sum.Suspected != 1 {
		t.Fatalf("got %+v", sum)
	}
	if n := w.count("SELECT COUNT(*) FROM reconcile_run WHERE activity_id = ? AND cause = 'EVIDENCE' AND mode = 'REPAIR'", w.activity.ID); n != 1 {
		t.Errorf("%d runs were asked for", n)
	}
}

func TestPassWithoutRedisLeavesEverythingAsItWas(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	w.cancelUnheard(w.buy("u1", "k", 2))
	away := reconcile.New(w.db, stock.New(testenv.RedisClient(t, "127.0.0.1:1"), nil), w.catalog, w.offline(), nil, nil)
	if _, err := reconcile.NewCompensate(away, reconcile.CompensateConfig{}).Run(t.Context()); !errors.Is(err, stock.ErrUnavailable) {
		t.Fatalf("got %v", err)
	}
	if n := w.count("SELECT COUNT(*) FROM trade_order WHERE released_at IS NOT NULL") + w.count("SELECT COUNT(*) FROM repair"); n != 0 {
		t.Errorf("%d rows speak of a repair", n)
	}
	if sum := w.compensate(); sum.Released != 1 {
		t.Fatalf("got %+v", sum)
	}
	w.agree()
}

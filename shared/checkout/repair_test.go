package checkout_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/lua"
	"holdfast/shared/checkout"
	"holdfast/shared/metric"
	"holdfast/shared/order"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

// counts reads what was counted, by metric.
type counts struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (c *counts) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lines.Write(b)
}

func (c *counts) of(t *testing.T, name string) int {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := 0.0
	for _, line := range strings.Split(strings.TrimSpace(c.lines.String()), "\n") {
		var root map[string]any
		if line == "" {
			continue
		}
		if err := json.Unmarshal([]byte(line), &root); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		n, _ := root[name].(float64)
		sum += n
	}
	return int(sum)
}

func counted(c *checkout.Checkout) *counts {
	out := &counts{}
	c.CountBy(metric.New(out, time.Now))
	return out
}

// cutOnce cuts the first connection whose request runs the script, after Redis has done it.
func cutOnce(proxy *testenv.TCPProxy, script *lua.Script) {
	var once sync.Once
	proxy.CutAfter(func(chunk []byte) bool {
		hit := false
		if bytes.Contains(chunk, []byte(script.SHA)) {
			once.Do(func() { hit = true })
		}
		return hit
	})
}

func (w *world) repairs(layer int, kind string) int {
	w.t.Helper()
	return w.count("SELECT COUNT(*) FROM repair WHERE layer = ? AND kind = ? AND activity_id = ?", layer, kind, w.activity.ID)
}

// The answer to the first try is lost: the second one finds it done, and says so in the repairs.
func TestWhatSucceedsWhenTriedAgainIsOneRepairOfTheFirstLayer(t *testing.T) {
	t.Parallel()
	proxy := testenv.Proxy(t, testenv.RedisAddr(t))
	w := newWorld(t, plan{redis: testenv.RedisClient(t, proxy.Addr)})
	seen := counted(w.checkout)
	w.buy("u1", "easy", 1)
	if n := w.count("SELECT COUNT(*) FROM repair"); n != 0 || seen.of(t, metric.RollbackRetrySuccess) != 0 {
		t.Fatalf("%d repairs where nothing was broken", n)
	}
	m := w.mustReserve("u1", "k", 2)
	cutOnce(proxy, lua.Ack)
	o := w.create(m).Live[0]
	cutOnce(proxy, lua.Release)
	if _, err := w.checkout.Cancel(t.Context(), o.ID, byUser("u1")); err != nil {
		t.Fatal(err)
	}
	proxy.CutAfter(nil)
	if proxy.Cuts() != 2 {
		t.Fatalf("%d cuts", proxy.Cuts())
	}
	if w.repairs(1, "ACK") != 1 || w.repairs(1, "RELEASE") != 1 || w.count("SELECT COUNT(*) FROM repair WHERE order_id = ?", o.ID[:]) != 2 {
		t.Error("not one repair each is recorded")
	}
	if n := w.count("SELECT COUNT(*) FROM repair WHERE broken_at < at AND broken_at >= at - INTERVAL 6 SECOND"); n != 2 {
		t.Errorf("%d repairs say since when", n)
	}
	if n, gaveUp := seen.of(t, metric.RollbackRetrySuccess), seen.of(t, metric.RollbackRetryGiveUp); n != 2 || gaveUp != 0 {
		t.Errorf("%d counted, %d given up", n, gaveUp)
	}
	if n := w.count("SELECT COUNT(*) FROM compensation_fail"); n != 0 {
		t.Errorf("%d failures are kept", n)
	}
	w.agree()
}

func TestWhatRedisDoesNotTakeIsKeptOnceForTheSecondLayer(t *testing.T) {
	t.Parallel()
	proxy := testenv.Proxy(t, testenv.RedisAddr(t))
	w := newWorld(t, plan{redis: testenv.RedisClient(t, proxy.Addr)})
	seen := counted(w.checkout)
	o := w.buy("a-very-private-name", "k1", 1)
	m := w.mustReserve("a-very-private-name", "k2", 1)
	out, err := w.checkout.CreateOrders(t.Context(), []checkout.Message{m})
	if err != nil {
		t.Fatal(err)
	}
	proxy.Down()
	for range 2 {
		if err := w.checkout.Settle(t.Context(), out); !errors.Is(err, stock.ErrUnavailable) {
			t.Fatalf("settling: %v", err)
		}
		if _, err := w.checkout.Cancel(t.Context(), o.ID, byUser("a-very-private-name")); err != nil {
			t.Fatal(err)
		}
	}
	for kind, id := range map[string]any{"ACK": m.OrderID[:], "RELEASE": o.ID[:]} {
		if n := w.count(`SELECT COUNT(*) FROM compensation_fail WHERE kind = ? AND order_id = ? AND activity_id = ? AND status = 'OPEN'
 AND attempts = 0 AND due_at = created_at + INTERVAL 5 SECOND`, kind, id, w.activity.ID); n != 1 {
			t.Errorf("%d rows of %s", n, kind)
		}
	}
	if n := w.count("SELECT COUNT(*) FROM compensation_fail WHERE last_error = '' OR last_error LIKE '%private%'"); n != 0 {
		t.Errorf("%d rows say nothing, or too much", n)
	}
	if n := seen.of(t, metric.RollbackRetryGiveUp); n != 4 {
		t.Errorf("%d counted", n)
	}
	if n := w.count("SELECT COUNT(*) FROM repair"); n != 0 {
		t.Errorf("%d repairs of what was not mended", n)
	}
	proxy.Up()
	if err := w.checkout.Settle(t.Context(), checkout.Outcome{Live: out.Live, Cancelled: []order.Order{w.get(o.ID)}}); err != nil {
		t.Fatal(err)
	}
	w.agree()
}

func TestLiveOrderThatRedisHadLostIsAdoptedAndItsLossReportedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	m := w.message("u1", "k", 2) // what Redis forgot
	for range 2 {
		if out := w.create(m); len(out.Live) != 1 {
			t.Fatalf("got %+v", out)
		}
	}
	if n := w.repairs(1, "ADOPT"); n != 1 {
		t.Errorf("%d adoptions are recorded", n)
	}
	if n := w.count("SELECT COUNT(*) FROM reconcile_run WHERE activity_id = ? AND status = 'QUEUED' AND cause = 'EVIDENCE' AND mode = 'REPAIR'", w.activity.ID); n != 1 {
		t.Errorf("%d runs are asked for", n)
	}
	w.agree()
}

func TestAdoptionsWhileLoadingAreNoLoss(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	m := w.message("u1", "k", 2)
	epoch, err := w.catalog.NextEpoch(t.Context(), w.activity.ID, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.stock.Begin(t.Context(), w.facts, w.activity.Rules(), epoch); err != nil {
		t.Fatal(err)
	}
	w.create(m)
	if n := w.count("SELECT COUNT(*) FROM repair") + w.count("SELECT COUNT(*) FROM reconcile_run"); n != 0 {
		t.Errorf("%d rows speak of a loss", n)
	}
	if err := w.stock.Open(t.Context(), w.activity.ID, epoch); err != nil {
		t.Fatal(err)
	}
	w.agree()
}

func TestContradictionOfBothStoresAlertsAPersonAndChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	dead := w.buy("u1", "dead", 1)
	// No release without a CANCELLED row: somebody has broken the rule.
	if _, err := w.stock.Release(t.Context(), w.activity.ID, dead.ID, "u1", "USER"); err != nil {
		t.Fatal(err)
	}
	other := w.mustReserve("u2", "other", 2)
	other.Quantity, other.Allocations = 1, other.Allocations[:1]
	other.Allocations[0].Count = 1
	out, err := w.checkout.CreateOrders(t.Context(), []checkout.Message{other})
	if err != nil || len(out.Live) != 1 {
		t.Fatalf("got %+v, %v", out, err)
	}
	before, err := w.stock.Snapshot(t.Context(), &w.facts)
	if err != nil {
		t.Fatal(err)
	}
	out.Live = append(out.Live, dead)
	for range 3 {
		if err := w.checkout.Settle(t.Context(), out); err != nil {
			t.Fatal(err)
		}
	}
	for kind, id := range map[string]string{"LIVE_ORDER_DEAD_IN_REDIS": dead.ID.String(), "LIVE_ORDER_CONTRADICTED": other.OrderID.String()} {
		if n := w.count("SELECT COUNT(*) FROM alert WHERE kind = ? AND subject = ? AND activity_id = ? AND occurrences = 3", kind, id, w.activity.ID); n != 1 {
			t.Errorf("%d alerts of %s", n, kind)
		}
	}
	after, err := w.stock.Snapshot(t.Context(), &w.facts)
	if err != nil || after.Types[ticket].Left != before.Types[ticket].Left || after.Seq != before.Seq {
		t.Errorf("%d left before, %d after, %v", before.Types[ticket].Left, after.Types[ticket].Left, err)
	}
}

func TestOrderThatDiedBeforeItsAcknowledgementCameIsNoContradiction(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	out, err := w.checkout.CreateOrders(t.Context(), []checkout.Message{w.mustReserve("u1", "k", 1)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.checkout.Cancel(t.Context(), out.Live[0].ID, byUser("u1")); err != nil {
		t.Fatal(err)
	}
	if err := w.checkout.Settle(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	if n := w.count("SELECT COUNT(*) FROM alert"); n != 0 {
		t.Errorf("%d alerts", n)
	}
	w.agree()
}

package reconcile_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/lua"
	"holdfast/shared/catalog"
	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/reconcile"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

// S1: the log of a release tells the figures of that moment, not those of the taking, which others have moved since.
func TestReleaseIsLoggedWithTheFiguresOfItsOwnMoment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 100, buckets: 4})
	o := w.buy("u1", "k", 2) // 100 -> 98
	for i := range 3 {
		w.buy(fmt.Sprintf("other%d", i), "k", 2) // -> 92
	}
	w.cancelUnheard(o)
	w.compensate()
	if n := w.count(`SELECT COUNT(*) FROM stock_log WHERE order_id = ? AND direction = 1 AND before_quantity = 92 AND change_quantity = 2
 AND after_quantity = 94`, o.ID[:]); n != 1 {
		t.Error("the release is not logged as it was")
	}
	if n := w.count("SELECT COUNT(*) FROM stock_log WHERE order_id = ? AND direction = -1 AND before_quantity = 100 AND after_quantity = 98", o.ID[:]); n != 1 {
		t.Error("the taking is not logged as it was")
	}
	w.agree()
}

// S2: a release whose answer is lost is asked for again, by every pass, and gives once.
func TestReleaseThatIsAskedForAgainGivesOnce(t *testing.T) {
	t.Parallel()
	proxy := testenv.Proxy(t, testenv.RedisAddr(t))
	w := newWorld(t, plan{redis: testenv.RedisClient(t, proxy.Addr)})
	var orders []order.Order
	for i := range 6 {
		orders = append(orders, w.buy(fmt.Sprintf("u%d", i), "k", 2))
	}
	w.cancelUnheard(orders...)
	var releases atomic.Int32
	proxy.CutAfter(func(chunk []byte) bool {
		return bytes.Contains(chunk, []byte(lua.Release.SHA)) && releases.Add(1)%2 == 1
	})
	for range 3 {
		_ = w.pass() // fails or not, as the network has it
	}
	proxy.CutAfter(nil)
	if proxy.Cuts() < 3 {
		t.Fatalf("%d answers were lost", proxy.Cuts())
	}
	w.compensate()
	if left := w.snapshot().Types[ticket].Left; left != 100 {
		t.Errorf("%d left", left)
	}
	w.agree()
}

// S4: a transaction that was rolled back leaves no row to go by. The log in Redis was there before it, and names the reservation.
func TestReservationWhoseTransactionWasRolledBackIsFoundByTheLog(t *testing.T) {
	t.Parallel()
	dsn := testenv.MySQLDSN(t)
	w := newWorld(t, plan{dsn: dsn})
	proxy, through := testenv.ProxyMySQL(t, dsn)
	db, err := sqltx.Open(through)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	failing := sqltx.New(db, w.db.Offset)
	proxy.CutBefore(func(chunk []byte) bool { return len(chunk) > 6 && string(chunk[len(chunk)-6:]) == "COMMIT" })
	m := w.mustReserve("u1", "k", 2)
	if _, err := checkout.New(failing, w.stock, catalog.New(failing), nil).CreateOrders(t.Context(), []checkout.Message{m}); err == nil {
		t.Fatal("the transaction was committed")
	}
	if n := w.count("SELECT COUNT(*) FROM trade_order") + w.count("SELECT COUNT(*) FROM stock_log"); n != 0 {
		t.Fatalf("%d rows are left of it", n)
	}
	w.advance(11 * time.Second)
	if sum := w.compensate(); sum.Pending != (reconcile.Swept{Created: 1}) {
		t.Fatalf("got %+v", sum)
	}
	w.agree()
}

// S5: the process dies between the release in Redis and its record in MySQL.
func TestReleaseThatWasNotRecordedIsRecordedAndNotGivenAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	o := w.buy("u1", "k", 2)
	w.buy("u2", "k", 3)
	w.cancelUnheard(o)
	if r, err := w.stock.Release(t.Context(), w.activity.ID, o.ID, "u1", string(order.PayTimeout)); err != nil || r.Outcome != stock.Given {
		t.Fatalf("got %+v, %v", r, err)
	}
	w.buy("u3", "k", 1)
	if sum := w.compensate(); sum.Released != 1 || w.repaired(order.RepairRelease) != 1 {
		t.Fatalf("got %+v", sum)
	}
	if n := w.count("SELECT COUNT(*) FROM stock_log WHERE order_id = ? AND direction = 1 AND before_quantity = 95 AND after_quantity = 97", o.ID[:]); n != 1 {
		t.Error("the figures are not those of the release that gave")
	}
	if sum := w.compensate(); sum.Released != 0 {
		t.Errorf("a second pass: %+v", sum)
	}
	w.agree()
}

// S6: a counter below zero is the truth of a Redis that forgot what it sold. Nothing is cut off at zero, so what comes back fits.
func TestCountersBelowZeroComeBackToTheTruth(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 4, buckets: 1, limit: 4})
	lost := w.buy("early", "k", 3)
	w.forgetOrder(lost)
	late := w.mustReserve("late", "k", 4) // Redis gives away what is sold
	if sum := w.compensate(); sum.Adopted != 1 {
		t.Fatalf("got %+v", sum)
	}
	if left := w.snapshot().Types[ticket]; left.Left != -3 || left.Buckets[0] != -3 {
		t.Fatalf("%+v left", left)
	}
	if out := w.create(late); len(out.Cancelled) != 1 || out.Cancelled[0].Reason != order.InsufficientStock {
		t.Fatalf("got %+v", out)
	}
	if left := w.snapshot().Types[ticket].Left; left != 1 {
		t.Errorf("%d left", left)
	}
	w.agree()
}

// S10: what reserving wrote about a user is what a release by repair takes back: the only one allowed may buy again.
func TestUserWhoseOrderRepairReleasedMayBuyAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{limit: 1})
	w.cancelUnheard(w.buy("u1", "first", 1))
	if _, err := w.reserve("u1", "second", 1); !errors.Is(err, stock.ErrAlreadyReserved) {
		t.Fatalf("before the release: %v", err)
	}
	w.compensate()
	if h, err := w.stock.Holding(t.Context(), w.activity.ID, "u1"); err != nil || h.Quantity != 0 {
		t.Fatalf("the user holds %+v, %v", h, err)
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	var made []checkout.Message
	for i := range 2 {
		group.Go(func() {
			m, err := w.reserve("u1", fmt.Sprintf("again%d", i), 1)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			made = append(made, m)
		})
	}
	group.Wait()
	if len(made) != 1 {
		t.Fatalf("%d of two at once", len(made))
	}
	w.create(made...)
	w.agree()
}

// S12: nothing that proves what happened to stock ever expires.
func TestNoKeyOfTheSetExpiresWhateverRepairDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 6, buckets: 1})
	dead, lost := w.buy("u1", "k", 1), w.buy("u2", "k", 1)
	w.cancelUnheard(dead)
	w.forgetOrder(lost)
	w.mustReserve("u3", "k", 1)
	w.adjust("more", 5)
	w.advance(11 * time.Second)
	w.mustReserve("u4", "k", 1)
	w.joined("u5", 10) // more than there will be
	w.suspend()
	if sum := w.compensate(); sum.Released != 1 || sum.Adopted != 1 || sum.Pending.Created != 1 {
		t.Fatalf("got %+v", sum)
	}
	want := []string{"buyers", "facts", "log", "pending", "rules", "waiters:" + ticket}
	w.lasting("the minute pass", want)
	w.reconcileNow(reconcile.Repairing)
	w.lasting("the full reconcile", want)
	w.advance(11 * time.Second)
	if sum := w.compensate(); sum.Pending.Created != 1 {
		t.Fatalf("got %+v", sum)
	}
	w.agree()
	w.forget()
	w.must(w.reconciler.Load(t.Context(), w.activity.ID))
	w.lasting("a load", []string{"buyers", "facts", "log", "rules", "waiters:" + ticket})
	w.agree()
}

// lasting demands that exactly these keys of the activity are there, besides cached orders, and that none of them ever expires.
func (w *world) lasting(after string, want []string) {
	w.t.Helper()
	prefix := "hf:{" + w.activity.ID + "}:"
	keys, err := w.rdb.Keys(w.t.Context(), prefix+"*").Result()
	w.must(err)
	var names []string
	for _, key := range keys {
		name := strings.TrimPrefix(key, prefix)
		if strings.HasPrefix(name, "order:") {
			continue
		}
		names = append(names, name)
		if ttl, err := w.rdb.TTL(w.t.Context(), key).Result(); err != nil || ttl != -1 {
			w.t.Errorf("after %s %s lives for %v, %v", after, name, ttl, err)
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, want) {
		w.t.Errorf("after %s there are %v, want %v", after, names, want)
	}
}

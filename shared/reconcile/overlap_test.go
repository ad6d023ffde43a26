package reconcile_test

import (
	"bytes"
	"fmt"
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

// atOnce runs so many minute passes side by side, each as a process of its own.
func (w *world) atOnce(passes int) (sums []reconcile.CompensateSummary) {
	w.t.Helper()
	sums = make([]reconcile.CompensateSummary, passes)
	var group sync.WaitGroup
	for i := range passes {
		group.Go(func() {
			sum, err := reconcile.NewCompensate(w.other(nil), reconcile.CompensateConfig{PageSize: 7}).Run(w.t.Context())
			if err != nil {
				w.t.Error(err)
			}
			sums[i] = sum
		})
	}
	group.Wait()
	return sums
}

// doomed is a pass of another process that loses the database, and with it the power to give its leases back, in the middle of its
// n-th release: what is left of it is what a kill leaves.
func (w *world) doomed(dsn string, n int32) error {
	w.t.Helper()
	database, dsn := testenv.ProxyMySQL(w.t, dsn)
	cache := testenv.Proxy(w.t, testenv.RedisAddr(w.t))
	db, err := sqltx.Open(dsn)
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	through, rdb := sqltx.New(db, w.db.Offset), testenv.RedisClient(w.t, cache.Addr)
	st, cat := stock.New(rdb, w.db.Offset), catalog.New(through)
	ck := checkout.New(through, st, cat, nil)
	var releases atomic.Int32
	cache.CutAfter(func(chunk []byte) bool {
		if !bytes.Contains(chunk, []byte(lua.Release.SHA)) || releases.Add(1) < n {
			return false
		}
		database.Down()
		return true
	})
	_, err = reconcile.NewCompensate(reconcile.New(through, st, cat, ck, nil, nil), reconcile.CompensateConfig{PageSize: 7}).Run(w.t.Context())
	return err
}

// B45: four passes at once, after a fifth was killed in the middle: each orphan is given back once, and the next passes go on when the
// leases of the dead one have run out.
func TestPassesAtOnceAndOneKilledMidwayMendEachOrphanOnce(t *testing.T) {
	t.Parallel()
	dsn := testenv.MySQLDSN(t)
	w := newWorld(t, plan{dsn: dsn, capacity: 300, buckets: 4})
	const each = 30
	var cancelled []order.Order
	for i := range each {
		cancelled = append(cancelled, w.buy(fmt.Sprintf("unreleased%d", i), "k", 2))
		w.commit(w.mustReserve(fmt.Sprintf("unacknowledged%d", i), "k", 1))
		w.mustReserve(fmt.Sprintf("unsent%d", i), "k", 1)
	}
	w.cancelUnheard(cancelled...)
	w.advance(15 * time.Second)
	if err := w.doomed(dsn, 10); err == nil {
		t.Fatal("the doomed pass came to its end")
	}
	if n := w.count("SELECT COUNT(*) FROM lease WHERE expires_at > ?", w.now()); n == 0 {
		t.Error("the dead pass holds no lease")
	}
	w.atOnce(4)
	if n := w.count("SELECT COUNT(*) FROM trade_order WHERE status = 'CANCELLED' AND released_at IS NULL"); n == 0 {
		t.Error("somebody took the work of a pass whose lease had not run out")
	}
	w.advance(31 * time.Second)
	w.atOnce(4)
	w.agree()
	if n := w.count("SELECT COUNT(*) FROM trade_order WHERE status = 'CANCELLED' AND released_at IS NULL"); n != 0 {
		t.Errorf("%d orders are not released", n)
	}
	if n := w.count("SELECT COUNT(*) FROM (SELECT order_id FROM repair GROUP BY order_id HAVING COUNT(*) > 1) AS twice"); n != 0 {
		t.Errorf("%d orphans were mended more than once", n)
	}
	released, created := w.repaired(order.RepairRelease), w.count("SELECT COUNT(*) FROM trade_order WHERE source = 'SWEEP'")
	if released != each || created != each {
		t.Errorf("of %d each, %d were released and %d created", each, released, created)
	}
	if n := w.count(`SELECT COUNT(*) FROM stock_log WHERE direction = 1 AND after_quantity = before_quantity + 2`); n != each {
		t.Errorf("%d rows have the figures of one release", n)
	}
}

// B04: every route by which units come back, in any order and at once.
func TestUnitsComeBackOnceByHoweverManyRoutes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 100, buckets: 4})
	for round := range 12 {
		m := w.mustReserve("u1", fmt.Sprint(round), 1)
		o := w.create(m).Live[0]
		if round%2 == 1 { // Redis has not heard of the order when it ends
			o = w.commit(w.mustReserve("u1", fmt.Sprint(round, "b"), 1)).Live[0]
			w.cancel(w.get(m.OrderID))
			m = checkout.Message{Reservation: o.Reservation(), MessageID: "m"}
		}
		w.advance(w.activity.PayWindow + time.Second)
		routes := []func() error{
			func() error {
				_, err := w.checkout.Cancel(t.Context(), o.ID, checkout.Canceller{UserID: "u1"})
				return err
			},
			func() error {
				_, _, err := w.checkout.Expire(t.Context(), 10)
				return err
			},
			func() error {
				out, err := w.checkout.CreateOrders(t.Context(), []checkout.Message{m})
				if err == nil {
					err = w.checkout.Settle(t.Context(), out)
				}
				return err
			},
			func() error { return w.pass() },
			func() error { return w.pass() },
		}
		var group sync.WaitGroup
		for i := range routes {
			group.Go(func() {
				if err := routes[(i+round)%len(routes)](); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if err := w.pass(); err != nil { // what the others left to it
			t.Fatal(err)
		}
		h, err := w.stock.Holding(t.Context(), w.activity.ID, "u1")
		if left := w.snapshot().Types[ticket].Left; left != 100 || h.Quantity != 0 || err != nil {
			t.Fatalf("round %d: %d left, the user holds %d, %v", round, left, h.Quantity, err)
		}
	}
	w.agree()
	if n := w.count("SELECT COUNT(*) FROM alert"); n != 0 {
		t.Errorf("%d alerts", n)
	}
}

func (w *world) pass() error {
	_, err := reconcile.NewCompensate(w.other(nil), reconcile.CompensateConfig{}).Run(w.t.Context())
	return err
}

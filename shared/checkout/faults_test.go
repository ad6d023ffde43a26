package checkout_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/order"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

// B01: fifty at once want the only unit.
func TestLastUnitGoesToOneOfFifty(t *testing.T) {
	t.Parallel()
	for range 4 {
		w := newWorld(t, plan{capacity: 1, buckets: 1})
		var group sync.WaitGroup
		var mu sync.Mutex
		won := 0
		for i := range 50 {
			group.Go(func() {
				m, err := w.reserve(fmt.Sprintf("u%d", i), "k", 1)
				if errors.Is(err, stock.ErrInsufficient) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				out := w.create(m)
				mu.Lock()
				defer mu.Unlock()
				won += len(out.Live)
			})
		}
		group.Wait()
		if won != 1 {
			t.Fatalf("%d orders of one unit", won)
		}
		w.agree()
	}
}

// B05: repeated clicks of one user take nothing from the others.
func TestRepeatedBuyingByOneUserTakesOneUnit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 10, buckets: 4, limit: 1})
	var group sync.WaitGroup
	var mu sync.Mutex
	var made []checkout.Message
	var refused []*stock.Refusal
	for i := range 50 {
		group.Go(func() {
			m, err := w.reserve("a", fmt.Sprintf("click%d", i), 1)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				made = append(made, m)
				return
			}
			var r *stock.Refusal
			if !errors.As(err, &r) || !errors.Is(err, stock.ErrAlreadyReserved) {
				t.Errorf("a repeat: %v", err)
				return
			}
			refused = append(refused, r)
		})
	}
	group.Wait()
	if len(made) != 1 || len(refused) != 49 {
		t.Fatalf("%d made, %d refused", len(made), len(refused))
	}
	for _, r := range refused {
		if r.OrderID != made[0].OrderID {
			t.Fatalf("a repeat hears of order %s", r.OrderID)
		}
	}
	w.create(made...)
	for i := range 9 {
		w.buy(fmt.Sprintf("u%d", i), "k", 1)
	}
	w.agree()
}

// B06: five units in buckets of 2, 2 and 1.
func TestEveryUnitCanBeSoldAndNoneMore(t *testing.T) {
	t.Parallel()
	singles := newWorld(t, plan{capacity: 5, buckets: 3})
	for i := range 5 {
		singles.buy(fmt.Sprintf("u%d", i), "k", 1)
	}
	if _, err := singles.reserve("u6", "k", 1); !errors.Is(err, stock.ErrInsufficient) {
		t.Fatalf("the sixth: %v", err)
	}
	singles.agree()
	whole := newWorld(t, plan{capacity: 5, buckets: 3})
	if _, err := whole.reserve("u1", "six", 6); !errors.Is(err, stock.ErrInsufficient) {
		t.Fatalf("six of five: %v", err)
	}
	if o := whole.buy("u1", "five", 5); o.Allocations.Units() != 5 || len(o.Allocations) != 3 {
		t.Fatalf("got %+v", o.Allocations)
	}
	whole.agree()
}

// B31: a message is delivered to two consumers at once.
func TestOneMessageToTwoConsumersAtOnceIsOneOrderAndBothSucceed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 100, buckets: 2, limit: 100})
	for i := range 25 {
		m := w.mustReserve("u1", fmt.Sprint(i), 1)
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				if out := w.create(m); len(out.Live) != 1 {
					t.Errorf("got %+v", out)
				}
			})
		}
		group.Wait()
	}
	if n := w.count("SELECT COUNT(*) FROM trade_order"); n != 25 {
		t.Errorf("%d orders", n)
	}
	w.agree()
}

// B37: two consumers, fifty batches each, over the same buckets and users in shuffled order.
func TestTwoConsumersOverTheSameBucketsAndUsersMakeAllOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 2000, buckets: 8, limit: 100, unloaded: true})
	const batches, size, users = 50, 20, 20
	var group sync.WaitGroup
	for consumer := range 2 {
		group.Go(func() {
			for b := range batches {
				var batch []checkout.Message
				for _, user := range rand.Perm(users)[:size] {
					batch = append(batch, w.messageFrom(fmt.Sprintf("u%d", user), fmt.Sprintf("%d-%d", consumer, b), 1, rand.IntN(8)))
				}
				out, err := w.checkout.CreateOrders(t.Context(), batch)
				if err != nil || len(out.Live) != size {
					t.Errorf("%d live of %d, %v", len(out.Live), size, err)
				}
			}
		})
	}
	group.Wait()
	if n := w.count("SELECT COUNT(*) FROM trade_order WHERE status = 'UNPAID'"); n != 2*batches*size {
		t.Errorf("%d orders", n)
	}
	w.agreeInMySQL()
}

// The same with a stock that runs out and users at their limit, so that trust and care meet.
func TestConsumersWhoseBatchesAreRefusedInPartAgreeInTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 150, buckets: 8, limit: 12, unloaded: true})
	var group sync.WaitGroup
	for consumer := range 4 {
		group.Go(func() {
			for b := range 10 {
				var batch []checkout.Message
				for _, user := range rand.Perm(20) {
					batch = append(batch, w.messageFrom(fmt.Sprintf("u%d", user), fmt.Sprintf("%d-%d", consumer, b), 1, rand.IntN(8)))
				}
				out, err := w.checkout.CreateOrders(t.Context(), batch)
				if err != nil || len(out.Live)+len(out.Cancelled) != 20 {
					t.Errorf("%d live, %d cancelled, %v", len(out.Live), len(out.Cancelled), err)
				}
			}
		})
	}
	group.Wait()
	if frozen, _ := w.units(); frozen != 150 {
		t.Errorf("%d of 150 sold", frozen)
	}
	w.agreeInMySQL()
}

// isCommit finds the packet of a COMMIT: its length, its number, the command and the text.
func isCommit(chunk []byte) bool { return bytes.HasSuffix(chunk, []byte("\x03COMMIT")) }

// How many COMMITs stay without answer in one test; a few of them in a short run.
const (
	unclearCommits      = 2000
	unclearCommitsShort = 200
	unclearConsumers    = 4
)

// B35: the connection is cut just after COMMIT was sent; every batch is done, once, and the consumer knows it. Each consumer has a
// network of its own, and none of its connections survives its COMMIT.
func TestBatchWhoseCommitStaysWithoutAnswerIsFoundAndDoneOnce(t *testing.T) {
	t.Parallel()
	commits := unclearCommits
	if testing.Short() {
		commits = unclearCommitsShort
	}
	w := newWorld(t, plan{capacity: 3 * commits, buckets: 8, limit: 3 * commits, unloaded: true})
	var group sync.WaitGroup
	resolved := make([]int, unclearConsumers)
	for consumer := range unclearConsumers {
		proxy, dsn := testenv.ProxyMySQL(t, w.dsn)
		through := checkout.New(w.open(dsn), w.stock, w.catalog, nil)
		group.Go(func() {
			for i := range commits / unclearConsumers {
				cutNextCommit(proxy)
				key := fmt.Sprintf("%d-%d", consumer, i)
				out, err := through.CreateOrders(t.Context(), []checkout.Message{w.message("u1", key, 1), w.message("u2", key, 2)})
				if err != nil || len(out.Live) != 2 || proxy.Cuts() != i+1 {
					t.Errorf("consumer %d, round %d: %+v, %v, %d cuts", consumer, i, out, err, proxy.Cuts())
					return
				}
				resolved[consumer]++
			}
		})
	}
	group.Wait()
	total := 0
	for _, n := range resolved {
		total += n
	}
	if frozen, _ := w.units(); total != commits || frozen != 3*commits {
		t.Errorf("%d of %d resolved, %d units frozen", total, commits, frozen)
	}
	w.agreeInMySQL()
}

// cutNextCommit cuts the connection of the next COMMIT once the server has done it.
func cutNextCommit(proxy *testenv.TCPProxy) {
	var cut sync.Once
	proxy.CutAfter(func(chunk []byte) bool {
		hit := false
		if isCommit(chunk) {
			cut.Do(func() { hit = true })
		}
		return hit
	})
}

func TestBatchWhoseCommitNeverArrivedIsDeliveredAgainAndNoTombstoneIsMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{unloaded: true})
	proxy, dsn := testenv.ProxyMySQL(t, w.dsn)
	through := checkout.New(w.open(dsn), w.stock, w.catalog, nil)
	for i := range 10 {
		var cut sync.Once
		proxy.CutBefore(func(chunk []byte) bool {
			hit := false
			if isCommit(chunk) {
				cut.Do(func() { hit = true })
			}
			return hit
		})
		m := w.message("u1", fmt.Sprint(i), 1)
		if out, err := through.CreateOrders(t.Context(), []checkout.Message{m}); !errors.Is(err, sqltx.ErrCommitUnclear) {
			t.Fatalf("round %d: %+v, %v", i, out, err)
		}
		if n := w.count("SELECT COUNT(*) FROM trade_order WHERE id = ?", m.OrderID[:]); n != 0 {
			t.Fatalf("round %d: a row was made", i)
		}
		if out, err := through.CreateOrders(t.Context(), []checkout.Message{m}); err != nil || len(out.Live) != 1 {
			t.Fatalf("round %d, delivered again: %+v, %v", i, out, err)
		}
	}
	w.agreeInMySQL()
}

func TestCancellingWithoutAnAnswerToCommitIsDoneOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 50, limit: 50})
	proxy, dsn := testenv.ProxyMySQL(t, w.dsn)
	db := w.open(dsn)
	through := checkout.New(db, w.stock, w.catalog, nil)
	for i := range 10 {
		o := w.buy("u1", fmt.Sprint(i), 1)
		cutNextCommit(proxy)
		got, err := through.Cancel(t.Context(), o.ID, byUser("u1"))
		if err != nil || got.Status != order.Cancelled {
			t.Fatalf("round %d: %+v, %v", i, got, err)
		}
	}
	if proxy.Cuts() != 10 {
		t.Errorf("%d cuts", proxy.Cuts())
	}
	w.agree()
}

func TestDatabaseThatIsDownIsAnErrorAndAllOrdersAppearWhenItIsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{capacity: 50})
	proxy, dsn := testenv.ProxyMySQL(t, w.dsn)
	through := checkout.New(w.open(dsn), w.stock, w.catalog, nil)
	proxy.Down()
	var waiting []checkout.Message
	for i := range 10 {
		m := w.mustReserve(fmt.Sprintf("u%d", i), "k", 2) // the sale goes on
		if out, err := through.CreateOrders(t.Context(), []checkout.Message{m}); !errors.Is(err, sqltx.ErrUnavailable) {
			t.Fatalf("got %+v, %v", out, err)
		}
		waiting = append(waiting, m)
	}
	proxy.Up()
	out, err := through.CreateOrders(t.Context(), waiting)
	if err != nil || len(out.Live) != 10 {
		t.Fatalf("%d live, %d cancelled, %v", len(out.Live), len(out.Cancelled), err)
	}
	if err := through.Settle(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	w.agree()
}

func TestRedisThatIsDownUndoesNoCommitAndIsLeftToRepair(t *testing.T) {
	t.Parallel()
	proxy := testenv.Proxy(t, testenv.RedisAddr(t))
	w := newWorld(t, plan{redis: testenv.RedisClient(t, proxy.Addr)})
	o := w.buy("u1", "k1", 1)
	m := w.mustReserve("u2", "k", 1)
	out, err := w.checkout.CreateOrders(t.Context(), []checkout.Message{m})
	if err != nil {
		t.Fatal(err)
	}
	proxy.Down()
	began := time.Now()
	if err := w.checkout.Settle(t.Context(), out); !errors.Is(err, stock.ErrUnavailable) {
		t.Fatalf("settling: %v", err)
	}
	got, err := w.checkout.Cancel(t.Context(), o.ID, byUser("u1"))
	if err != nil || got.Status != order.Cancelled {
		t.Fatalf("got %+v, %v", got, err)
	}
	if spent := time.Since(began); spent > 15*time.Second {
		t.Errorf("gave up after %v", spent)
	}
	if row := w.get(o.ID); row.ReleasedAt != nil {
		t.Fatal("recorded a release that did not happen")
	}
	proxy.Up()
	if err := w.checkout.Settle(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	if err := w.checkout.ReleaseCommitted(t.Context(), *got); err != nil {
		t.Fatal(err)
	}
	w.agree()
}

// Every fifth answer of Redis is lost (a new connection takes two for its greeting): what was done is done once all the same.
func TestLostAnswersOfRedisReleaseAndAcknowledgeOnce(t *testing.T) {
	t.Parallel()
	proxy := testenv.Proxy(t, testenv.RedisAddr(t))
	w := newWorld(t, plan{capacity: 60, redis: testenv.RedisClient(t, proxy.Addr), limit: 60})
	var orders []order.Order
	for i := range 10 {
		orders = append(orders, w.buy("u1", fmt.Sprint(i), 1))
	}
	proxy.DropReplies(5)
	for _, o := range orders {
		if _, err := w.checkout.Cancel(t.Context(), o.ID, byUser("u1")); err != nil {
			t.Fatal(err)
		}
	}
	proxy.DropReplies(0)
	if proxy.Cuts() == 0 {
		t.Fatal("no answer was lost")
	}
	if n := w.count("SELECT COUNT(*) FROM trade_order WHERE released_at IS NULL"); n != 0 {
		t.Errorf("%d orders are not known to be released", n)
	}
	w.agree()
}

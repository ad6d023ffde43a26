package api

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/sale"
	"holdfast/shared/testenv"
)

// soon is the bound for answers when Redis does not work: 400 ms, with slack for a busy machine.
const soon = 3 * 400 * time.Millisecond

func TestRedisDownIsRefusedSoonAndHoldsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	h := NewReserveTicket(w.d)
	w.expect(w.call(h, wish(a, "u0", "k0", one)), 202, "")
	w.redis.Down()
	got := w.call(h, wish(a, "u1", "k1", one))
	w.expect(got, 503, "STOCK_STORE_UNAVAILABLE")
	if got.took > soon || got.body["number"] != 10032.0 {
		t.Errorf("took %v: %s", got.took, got.text)
	}
	cold := w.call(NewReserveTicket(w.d), wish(a, "u1", "k1", one)) // an instance that has no facts yet
	w.expect(cold, 503, "STOCK_STORE_UNAVAILABLE")
	if cold.took > soon {
		t.Errorf("took %v without facts", cold.took)
	}
	w.redis.Up()
	if w.left(a) != 9 {
		t.Errorf("%d left", w.left(a))
	}
	w.expect(w.call(h, wish(a, "u1", "k1", one)), 202, "")
}

func TestASlowRedisLeavesTheReservationUnconfirmed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	h := NewReserveTicket(w.d)
	w.expect(w.call(h, wish(a, "u0", "k0", one)), 202, "")
	w.redis.Delay(time.Hour)
	got := w.call(h, wish(a, "u1", "k1", one))
	w.expect(got, 503, "RESERVATION_UNCONFIRMED")
	if got.took > soon || got.str("orderId") == "" {
		t.Errorf("took %v: %s", got.took, got.text)
	}
	cold := w.call(NewReserveTicket(w.d), wish(a, "u2", "k2", one))
	w.expect(cold, 503, "STOCK_STORE_UNAVAILABLE") // only facts were asked for: nothing can be held
	if cold.took > soon {
		t.Errorf("took %v without facts", cold.took)
	}
	w.redis.Delay(0)
	again := w.call(h, wish(a, "u1", "k1", one))
	w.expect(again, 202, "")
	if again.str("orderId") != got.str("orderId") {
		t.Errorf("the key gave %s, then %s", got.text, again.text)
	}
	if w.left(a) != 8 {
		t.Errorf("%d left", w.left(a))
	}
}

// All that a reservation asks of Redis has one budget together: an instance without facts asks twice, and where each answer comes in time
// and both together do not, it gives up. What is measured is the best of a few attempts.
func TestWhatIsAskedOfRedisTogetherFitsInto400Milliseconds(t *testing.T) {
	t.Parallel()
	const most, each = 400 * time.Millisecond, 190 * time.Millisecond
	if stockBudget > most || stockBudget <= each || stockBudget >= 2*each {
		t.Fatalf("Redis is given %v, %v at most", stockBudget, most)
	}
	w := newWorld(t)
	a := w.sale(func(a *sale.Activity) { a.TicketTypes[0].Capacity = 30 })
	warm, best := NewReserveTicket(w.d), time.Hour
	for try := 0; try < 5 && best > most; try++ {
		w.redis.Delay(0)
		w.expect(w.call(warm, wish(a, fmt.Sprint("warm", try), "k", one)), 202, "") // leaves a connection that is ready
		w.redis.Delay(each)
		got := w.call(NewReserveTicket(w.d), wish(a, fmt.Sprint("cold", try), "k", one))
		if got.status != 503 {
			t.Fatalf("two answers of %v each were waited for: %d %s", each, got.status, got.text)
		}
		if got.str("code") == "RESERVATION_UNCONFIRMED" { // else the machine was too busy even for the first
			best = min(best, got.took)
		}
	}
	if best > most {
		t.Errorf("the best of five attempts took %v", best)
	}
}

func TestLostRepliesOfRedisTakeUnitsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale(func(a *sale.Activity) { a.TicketTypes[0].Capacity = 30 })
	h := NewReserveTicket(w.d)
	w.expect(w.call(h, wish(a, "u0", "k0", one)), 202, "")
	w.redis.DropReplies(3)
	unclear := 0
	for i := range 20 {
		user := fmt.Sprint("user", i)
		got := w.call(h, wish(a, user, "k", one))
		if got.status == 503 {
			unclear++
		}
		for try := 0; got.status == 503 && try < 10; try++ {
			got = w.call(h, wish(a, user, "k", one))
		}
		w.expect(got, 202, "")
	}
	w.redis.DropReplies(0)
	if w.left(a) != 9 || unclear == 0 {
		t.Errorf("%d left, %d answers were lost", w.left(a), unclear)
	}
}

func TestAnEmptyRedisIsBeingMadeReady(t *testing.T) {
	t.Parallel()
	own := testenv.OwnRedis(t)
	w := newWorldOn(t, own.Addr)
	a := w.sale()
	h := NewReserveTicket(w.d)
	w.expect(w.call(h, wish(a, "u0", "k0", one)), 202, "")
	if err := w.sure.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	for name, instance := range map[string]lambda.Handler{"that knows the facts": h, "that is new": NewReserveTicket(w.d)} {
		got := w.call(instance, wish(a, "u1", "k1", one))
		w.expect(got, 503, "SALE_NOT_READY")
		if got.took > soon {
			t.Errorf("an instance %s took %v", name, got.took)
		}
	}
	if w.rows("job") != 1 {
		t.Errorf("%d loads were asked for, want 1", w.rows("job"))
	}
	if err := w.d.Reconcile.Load(t.Context(), a.ID); err != nil {
		t.Fatal(err)
	}
	w.expect(w.call(h, wish(a, "u1", "k1", one)), 202, "")
}

func TestAFullRedisRefusesCleanly(t *testing.T) {
	t.Parallel()
	own := testenv.OwnRedis(t)
	w := newWorldOn(t, own.Addr)
	a := w.sale()
	h := NewReserveTicket(w.d)
	w.expect(w.call(h, wish(a, "u0", "k0", one)), 202, "")
	if err := w.sure.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	before := w.dump(a)
	got := w.call(h, wish(a, "u1", "k1", one))
	w.expect(got, 503, "STOCK_STORE_UNAVAILABLE")
	if got.took > soon || w.dump(a) != before {
		t.Errorf("took %v, or keys changed", got.took)
	}
	if err := w.sure.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	w.expect(w.call(h, wish(a, "u1", "k1", one)), 202, "")
}

func TestAReadOnlyRedisIsRetryableAndHeals(t *testing.T) {
	t.Parallel()
	own := testenv.OwnRedis(t)
	w := newWorldOn(t, own.Addr)
	a := w.sale()
	h := NewReserveTicket(w.d)
	w.expect(w.call(h, wish(a, "u0", "k0", one)), 202, "")
	if err := w.sure.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
	got := w.call(h, wish(a, "u1", "k1", one))
	w.expect(got, 503, "STOCK_STORE_UNAVAILABLE")
	if got.took > soon {
		t.Errorf("took %v", got.took)
	}
	if err := w.sure.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	w.expect(w.call(h, wish(a, "u1", "k1", one)), 202, "")
}

func TestAKeyOfAWrongTypeHoldsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	h := NewReserveTicket(w.d)
	w.expect(w.call(h, wish(a, "u0", "k0", one)), 202, "")
	key := "hf:{" + a.ID + "}:pending"
	if err := w.sure.Rename(t.Context(), key, key+".kept").Err(); err != nil {
		t.Fatal(err)
	}
	if err := w.sure.LPush(t.Context(), key, "x").Err(); err != nil {
		t.Fatal(err)
	}
	before := w.dump(a)
	got := w.call(h, wish(a, "u1", "k1", one))
	w.expect(got, 503, "SALE_NOT_READY")
	if w.dump(a) != before {
		t.Error("keys changed")
	}
}

func TestOneUserOfFiftyClicksHoldsOneOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale(func(a *sale.Activity) { a.PerUserLimit = 1 })
	h := NewReserveTicket(w.d)
	answers := make([]answer, 50)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = w.call(h, wish(a, "A", "k"+strconv.Itoa(i), one)) })
	}
	all.Wait()
	var won string
	for _, got := range answers {
		if got.status == http.StatusAccepted {
			if won != "" {
				t.Fatal("two were promised")
			}
			won = got.str("orderId")
		}
	}
	for _, got := range answers {
		if got.status != http.StatusAccepted && (got.str("code") != "ALREADY_RESERVED" || got.str("orderId") != won) {
			t.Errorf("answered %d %s, want the order %s", got.status, got.text, won)
		}
	}
	if w.left(a) != 9 {
		t.Errorf("%d left", w.left(a))
	}
}

func TestFactsThatAreMissingNeverOutwaitTheGateway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.publish() // Redis has nothing of it
	w.mysql.Delay(40 * time.Second)
	got := w.call(NewReserveTicket(w.d), wish(a, "u1", "k1", one))
	w.expect(got, 503, "ORDER_STORE_UNAVAILABLE")
	if got.took > 3*reserveBudget {
		t.Errorf("took %v", got.took)
	}
	w.mysql.Delay(0)
	w.expect(w.call(NewReserveTicket(w.d), wish(a, "u1", "k1", one)), 503, "SALE_NOT_READY")
}

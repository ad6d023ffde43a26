package drill

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/infra/local/server"
	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

func TestRedisIsSparedWhileItAloneHoldsWhatTheQueueDropped(t *testing.T) {
	cache, err := server.Redis(t.Context(), server.RedisOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Kill()
	client := redis.NewClient(&redis.Options{Addr: cache.Addr})
	defer client.Close()
	store := stock.New(client, nil)
	w := &world{cache: cache, sales: []string{"s", "not-loaded-yet"}}
	if !w.othersAreSafe(t.Context()) {
		t.Error("nothing was dropped, and Redis is spared")
	}

	facts := sale.Facts{ActivityID: "s", Number: 1_760_000_000_000, Salt: []byte("salt of thirty-two bytes, really"), Kind: sale.Ticket, Mode: sale.Live,
		Currency: "CNY", Types: []sale.TypeFact{{ID: "STANDARD", Price: money.Zero("CNY"), Capacities: []int{5}}}}
	rules := sale.Rules{Version: 1, Status: sale.Published, OpensAt: time.Now().Add(-time.Hour), ClosesAt: time.Now().Add(time.Hour), Limit: 2}
	wish := stock.ReserveRequest{OrderID: facts.OrderID("u", "key"), UserID: "u", TicketType: "STANDARD", Quantity: 1}
	for _, step := range []func() error{
		func() error { return store.Begin(t.Context(), facts, rules, 1) },
		func() error { return store.Open(t.Context(), "s", 1) },
		func() error { _, err := store.Reserve(t.Context(), &facts, wish); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	w.dropped = time.Now().Add(10 * time.Millisecond)
	time.Sleep(20 * time.Millisecond)
	if w.othersAreSafe(t.Context()) {
		t.Error("the reservation is in Redis alone, and Redis may be wiped")
	}
	reservation := sale.Reservation{OrderID: wish.OrderID, ActivityID: "s", UserID: "u", TicketType: "STANDARD", Quantity: 1,
		Allocations: sale.Allocations{{Bucket: 0, Count: 1}}}
	if _, err := store.Acknowledge(t.Context(), "s", []sale.Reservation{reservation}); err != nil {
		t.Fatal(err)
	}
	if !w.othersAreSafe(t.Context()) || !w.dropped.IsZero() {
		t.Error("the order exists, and Redis is still spared")
	}
}

package crowd

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/infra/progress"
)

// buyer is one user with one wish. The key names the wish, so a repeated tap is the same reservation.
type buyer struct {
	userID   string
	token    string
	key      string
	Type     string
	quantity int
}

const currency = "CNY"

// payWindow is how long an order may stay unpaid, unless the options say otherwise.
const payWindow = 15 * time.Minute

// ticketTypes are what the crowd's sale offers: one that costs, one that is free and so is paid at once.
var ticketTypes = []struct {
	id, title, price string
	share            float64 // of the capacity, and of the wishes
}{
	{"STANDARD", "Standard seat", "80.00", 0.7},
	{"GUEST", "Guest list", "0.00", 0.3},
}

// nothing is a price of the currency.
const nothing = "0.00"

// priceOf is what so many units of a type cost.
func priceOf(ticketType string, quantity int) string {
	for _, t := range ticketTypes {
		if t.id == ticketType {
			return decimal.RequireFromString(t.price).Mul(decimal.NewFromInt(int64(quantity))).StringFixed(2)
		}
	}
	return nothing
}

// openSale makes and publishes the crowd's sale.
func (c *Crowd) openSale(ctx context.Context) error {
	var err error
	if c.operator, err = c.client.token(ctx, "crowd-operator", "operator"); err != nil {
		return fmt.Errorf("no answer from %s: is the stack up? %w", c.o.Addresses.API, err)
	}
	draft, err := c.draft(ctx)
	if err != nil {
		return err
	}
	if err := c.client.must(ctx, http.MethodPost, "/ops/v1/activities", c.operator, draft, nil); err != nil {
		return err
	}
	return c.client.must(ctx, http.MethodPost, "/ops/v1/activities/"+c.o.ActivityID+"/publication", c.operator, map[string]any{}, nil)
}

// draft is the crowd's sale, open by the stack's clock.
func (c *Crowd) draft(ctx context.Context) (map[string]any, error) {
	var clock struct {
		Now time.Time `json:"now"`
	}
	if err := c.client.must(ctx, http.MethodGet, "/local/clock", "", nil, &clock); err != nil {
		return nil, err
	}
	var types []map[string]any
	for _, t := range ticketTypes {
		if c.o.Deposits && t.price == nothing {
			continue // nothing could be held for it
		}
		types = append(types, map[string]any{"ticketType": t.id, "title": t.title, "capacity": c.capacityOf(t.share), "buckets": c.o.Buckets,
			"price": map[string]string{"amount": t.price, "currency": currency}})
	}
	at := func(after time.Duration) string { return clock.Now.Add(after).Format(time.RFC3339) }
	draft := map[string]any{
		"activityId": c.o.ActivityID, "kind": "TICKET", "mode": "LIVE", "title": "The crowd's sale", "currency": currency,
		"opensAt": at(-time.Minute), "closesAt": at(24 * time.Hour),
		"perUserLimit": c.o.Limit, "payWindowSeconds": int(cmp.Or(c.o.PayWindow, payWindow) / time.Second), "ticketTypes": types,
	}
	if c.o.Deposits {
		draft["kind"], draft["closesAt"] = "DEPOSIT", at(seatsSold)
		draft["deposit"] = map[string]any{"ratio": "0.3", "penaltyRatio": "0.5", "remindAt": at(seatsReminded),
			"confirmDeadline": at(seatsConfirmed), "cancellation": "PENALTY", "clubId": "club-of-the-crowd"}
	}
	return draft, nil
}

// How long after its opening a sale of deposit seats sells, reminds, and may be confirmed: as little as a sale allows.
const (
	seatsSold      = 90 * time.Second
	seatsReminded  = 2 * time.Minute
	seatsConfirmed = 285 * time.Second
)

func (c *Crowd) capacityOf(share float64) int {
	return max(c.o.Buckets, int(float64(c.o.Capacity)*share))
}

// gather makes the buyers and their tokens. The seed fixes who wants what.
func (c *Crowd) gather(ctx context.Context) ([]buyer, error) {
	random := rand.New(rand.NewPCG(c.o.Seed, 1))
	buyers := make([]buyer, c.o.Users)
	for i := range buyers {
		buyers[i] = buyer{userID: fmt.Sprintf("crowd-%06d", i), key: fmt.Sprintf("wish-%d-%d", c.o.Seed, i),
			Type: ticketTypes[0].id, quantity: 1 + random.IntN(c.o.Limit)}
		if random.Float64() < ticketTypes[1].share && !c.o.Deposits {
			buyers[i].Type = ticketTypes[1].id
		}
	}
	bar := progress.Bar(c.o.Out, len(buyers), "buyers arrive")
	defer func() { _ = bar.Finish() }()
	err := inParallel(len(buyers), 8, func(i int) error {
		var err error
		buyers[i].token, err = c.client.token(ctx, buyers[i].userID)
		_ = bar.Add(1)
		return err
	})
	return buyers, err
}

// inParallel calls f for 0..n-1 by a number of workers and returns the first error; the rest is not started then.
func inParallel(n, workers int, f func(int) error) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || failed.Load() != nil {
					return
				}
				if err := f(i); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	wait.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

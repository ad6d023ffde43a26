package drill

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/shared/stock"
)

// Strike is one fault that happened.
type Strike struct {
	Fault string    `json:"fault"`
	Step  string    `json:"step"`
	From  time.Time `json:"from"`
	To    time.Time `json:"to"` // when it was mended
}

// rage deals faults, one after the other, until ctx ends: all of them once in an order of the seed's, then anew. It never destroys the
// second copy of a reservation while the first is gone: what both copies of were destroyed cannot be mended by anybody. It returns what
// happened; an error means that something could not be mended, and the drill says nothing.
func (w *world) rage(ctx context.Context, report func(Strike)) ([]Strike, error) {
	random := dice(w.o.Seed)
	var strikes []Strike
	var deck []fault
	for {
		pause(ctx, w.o.Breath/4+time.Duration(random.Int64N(int64(w.o.Breath*3/4))))
		if ctx.Err() != nil {
			return strikes, nil
		}
		if len(deck) == 0 {
			deck = w.shuffled(random)
		}
		at := slices.IndexFunc(deck, func(f fault) bool { return f.cost != redisSet || w.othersAreSafe(ctx) })
		if at < 0 {
			continue // until repair has made orders of what only Redis knows
		}
		f := deck[at]
		deck = slices.Delete(deck, at, at+1)
		strike := Strike{Fault: f.name, Step: f.step, From: time.Now().UTC()}
		if err := f.does(ctx, w, random); err != nil {
			return strikes, fmt.Errorf("fault %q: %w", f.name, err)
		}
		strike.To = time.Now().UTC()
		if f.cost == messages {
			w.dropped = strike.To
		}
		strikes = append(strikes, strike)
		report(strike)
	}
}

// othersAreSafe says whether Redis holds no reservation any more whose message was dropped.
func (w *world) othersAreSafe(ctx context.Context) bool {
	if w.dropped.IsZero() {
		return true
	}
	client := redis.NewClient(&redis.Options{Addr: w.serving().Addr, MaxRetries: -1})
	defer client.Close()
	store := stock.New(client, nil)
	for _, sale := range w.openedSales() {
		// A sale without a set in Redis has no reservations there.
		left, _, err := store.PendingBefore(ctx, sale, time.Since(w.dropped), stock.PendingCursor{}, 1)
		if len(left) > 0 || err != nil && !errors.Is(err, stock.ErrNotLoaded) {
			return false
		}
	}
	w.dropped = time.Time{}
	return true
}

// dice are the nemesis' own: the crowds throw others.
func dice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x6e656d65736973)) }

// shuffled is a deck of the faults that are dealt.
func (w *world) shuffled(random *rand.Rand) []fault {
	deck := append([]fault{}, faults...)
	if len(w.o.Only) > 0 {
		deck = deck[:0]
		for _, name := range w.o.Only {
			deck = append(deck, *faultNamed(name))
		}
	}
	random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
	return deck
}

package wallet

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/shared/money"
)

// hintTTL is how long a hint is believed, and how long a dropped one stays dropped.
const hintTTL = 5 * time.Second

// dropped stands where a hint was dropped. It keeps out who read the balance before the movement and comes to put it down after: Put
// overwrites nothing. Its life is a hint's own, so that a reader would have to sleep that long to be believed.
const dropped = "-"

// Hints keeps balances in Redis for a few seconds, so that a crowd of hopeless wishes is not read from MySQL. A hint may be old by its
// TTL when a mover died before it dropped it: nobody is refused, and nothing is spent, by a hint alone.
//
// It is one key per user, "wallet:balance:{<user>}": a string, "<version> <available> <frozen> <currency>" of the wallet that was read
// first, or "-" after a drop; TTL 5 s. A user who has two currencies has a hint for one of them at a time.
type Hints struct{ rdb redis.UniversalClient }

// New makes a store of hints.
func New(rdb redis.UniversalClient) *Hints { return &Hints{rdb: rdb} }

func hintKey(userID string) string { return "wallet:balance:{" + userID + "}" }

// Get gives the hint about a wallet; false when there is none. It returns the errors of the client; whoever gets one does without.
func (h *Hints) Get(ctx context.Context, k Key) (Balance, bool, error) {
	text, err := h.rdb.Get(ctx, hintKey(k.UserID)).Result()
	if errors.Is(err, redis.Nil) {
		return Balance{}, false, nil
	}
	if err != nil {
		return Balance{}, false, fmt.Errorf("wallet: read a hint: %w", err)
	}
	parts := strings.Split(text, " ")
	if len(parts) != 4 || parts[3] != k.Currency {
		return Balance{}, false, nil
	}
	version, err1 := strconv.ParseInt(parts[0], 10, 64)
	available, err2 := money.Parse(parts[1], k.Currency)
	frozen, err3 := money.Parse(parts[2], k.Currency)
	if err1 != nil || err2 != nil || err3 != nil {
		return Balance{}, false, nil // a foreign hand wrote it, and it will be gone in a moment
	}
	return Balance{Available: available, Frozen: frozen, Version: version}, true, nil
}

// Put keeps a balance that was just read from MySQL, unless there is a hint or one was dropped a moment ago. It returns the errors of
// the client.
func (h *Hints) Put(ctx context.Context, k Key, b Balance) error {
	text := strconv.FormatInt(b.Version, 10) + " " + b.Available.String() + " " + b.Frozen.String() + " " + k.Currency
	err := h.rdb.SetArgs(ctx, hintKey(k.UserID), text, redis.SetArgs{Mode: "NX", TTL: hintTTL}).Err()
	if err != nil && !errors.Is(err, redis.Nil) { // Nil: it was there
		return fmt.Errorf("wallet: keep a hint: %w", err)
	}
	return nil
}

// Drop makes the hints about these wallets go, after a commit that moved their money. It returns the errors of the client; the hints
// go by themselves within their TTL then.
func (h *Hints) Drop(ctx context.Context, keys []Key) error {
	if len(keys) == 0 {
		return nil
	}
	_, err := h.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		seen := make(map[string]bool, len(keys))
		for _, k := range keys {
			if !seen[k.UserID] {
				seen[k.UserID] = true
				pipe.Set(ctx, hintKey(k.UserID), dropped, hintTTL)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("wallet: drop hints: %w", err)
	}
	return nil
}

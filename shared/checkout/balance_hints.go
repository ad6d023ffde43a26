package checkout

import (
	"context"
	"time"

	"holdfast/shared/wallet"
)

// hintPatience bounds what a caller waits for hints to go: they go by themselves within seconds.
const hintPatience = 300 * time.Millisecond

// HintBy has balances that are hinted at in Redis dropped when money has moved; it is called before the first use, if at all.
func (c *Checkout) HintBy(h *wallet.Hints) { c.hints = h }

// DropHints drops the hints about wallets, after a commit that moved their money. It is best effort: a hint that stays is believed for
// seconds, and nobody is refused by it alone.
func (c *Checkout) DropHints(ctx context.Context, keys []wallet.Key) {
	if c.hints == nil || len(keys) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, hintPatience)
	defer cancel()
	if err := c.hints.Drop(ctx, keys); err != nil {
		c.log.Warn("hints about balances were not dropped and go by themselves", "wallets", len(keys), "error", err)
	}
}

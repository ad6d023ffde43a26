package checkout

import (
	"context"
	"time"

	"holdfast/shared/money"
	"holdfast/shared/wallet"
)

// HintBudget bounds what a caller waits for a hint about a balance, once: MySQL is asked without one.
const HintBudget = 100 * time.Millisecond

// Affords says whether a wallet has an amount available now. That it has may be an old hint, and the wallet itself decides when the money
// is frozen; that it has not is always read from MySQL. It returns the errors of the database.
func (c *Checkout) Affords(ctx context.Context, k wallet.Key, amount money.Amount) (bool, error) {
	hint, found, answered := c.hint(ctx, k)
	if found && !hint.Available.Less(amount) {
		return true, nil
	}
	balance, err := wallet.Get(ctx, c.db, k)
	if err != nil {
		return false, err
	}
	if answered { // a cache that stayed silent is not waited for twice
		c.keepHint(ctx, k, balance)
	}
	return !balance.Available.Less(amount), nil
}

func (c *Checkout) hint(ctx context.Context, k wallet.Key) (b wallet.Balance, found, answered bool) {
	if c.hints == nil {
		return wallet.Balance{}, false, false
	}
	ctx, cancel := context.WithTimeout(ctx, HintBudget)
	defer cancel()
	hint, found, err := c.hints.Get(ctx, k)
	return hint, found && err == nil, err == nil
}

func (c *Checkout) keepHint(ctx context.Context, k wallet.Key, b wallet.Balance) {
	if c.hints == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, HintBudget)
	defer cancel()
	if err := c.hints.Put(ctx, k, b); err != nil {
		c.log.Warn("a hint about a balance was not kept", "error", err)
	}
}

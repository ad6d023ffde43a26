package wallet

import (
	"context"
	"database/sql"
)

// Lock locks wallets in the order of their keys until the transaction ends and says what each holds, for whoever must decide about money
// before Apply moves it. A wallet without a row holds nothing and is not locked: it can only become richer. It returns the errors of
// the driver.
func Lock(ctx context.Context, tx *sql.Tx, keys []Key) (map[Key]Balance, error) {
	locked, err := lockWallets(ctx, tx, keys)
	if err != nil {
		return nil, err
	}
	out := make(map[Key]Balance, len(locked))
	for k, w := range locked {
		out[k] = w.Balance
	}
	return out, nil
}

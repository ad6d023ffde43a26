package wallet_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/shopspring/decimal"

	"holdfast/shared/wallet"
)

// reader reads the ledger again and again while money moves, each time from one snapshot. It keeps the sums of the entries that it has
// read, by wallet, so that a reading costs what has happened since the last one.
type reader struct {
	sums     map[wallet.Key]*tally
	last     int64 // entry_id
	readings int
}

// tally is what a wallet should hold by its entries.
type tally struct {
	available, frozen decimal.Decimal
	version           int64
}

func newReader() *reader { return &reader{sums: map[wallet.Key]*tally{}} }

// inFlight is more entries than all hands together have written and not committed: so far back an entry may come late.
const inFlight = 3000

const (
	recentEntries = `SELECT entry_id, user_id, currency, amount, from_account, to_account, version, available_after, frozen_after
		FROM wallet_log WHERE entry_id > ? AND version IS NOT NULL ORDER BY entry_id`
	allWallets = `SELECT user_id, currency, available, frozen, version FROM wallet`
)

// read says what does not hold; "" when all does.
func (r *reader) read(ctx context.Context, db *sql.DB) (string, error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return "", err
	}
	defer func() { _ = tx.Rollback() }()
	if what, err := r.entries(ctx, tx); err != nil || what != "" {
		return what, err
	}
	if what, err := r.wallets(ctx, tx); err != nil || what != "" {
		return what, err
	}
	var currency, sum string
	err = tx.QueryRowContext(ctx, currencySums).Scan(&currency, &sum)
	if err == nil {
		return fmt.Sprintf("all accounts together hold %s %s", sum, currency), nil
	}
	r.readings++
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return "", err
}

// entries adds what is new to the sums. Each entry must follow the one before it, in version and balances.
func (r *reader) entries(ctx context.Context, tx *sql.Tx) (string, error) {
	rows, err := tx.QueryContext(ctx, recentEntries, r.last-inFlight)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	for rows.Next() {
		var (
			k                         wallet.Key
			amount, available, frozen decimal.Decimal
			from, to                  string
			version                   int64
		)
		if err := rows.Scan(&r.last, &k.UserID, &k.Currency, &amount, &from, &to, &version, &available, &frozen); err != nil {
			return "", err
		}
		sum := r.sums[k]
		if sum == nil {
			sum = &tally{}
			r.sums[k] = sum
		}
		if version <= sum.version {
			continue // read before
		}
		for account, sign := range map[string]int64{from: -1, to: 1} {
			switch account {
			case wallet.Available:
				sum.available = sum.available.Add(amount.Mul(decimal.NewFromInt(sign)))
			case wallet.Frozen:
				sum.frozen = sum.frozen.Add(amount.Mul(decimal.NewFromInt(sign)))
			}
		}
		if version != sum.version+1 || !sum.available.Equal(available) || !sum.frozen.Equal(frozen) {
			return fmt.Sprintf("version %d of %v follows %d with %s and %s, the sums are %s and %s", version, k, sum.version, available, frozen,
				sum.available, sum.frozen), nil
		}
		sum.version = version
	}
	return "", rows.Err()
}

// wallets holds every wallet against the sums of its entries.
func (r *reader) wallets(ctx context.Context, tx *sql.Tx) (string, error) {
	rows, err := tx.QueryContext(ctx, allWallets)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	seen := 0
	for rows.Next() {
		var k wallet.Key
		var available, frozen decimal.Decimal
		var version int64
		if err := rows.Scan(&k.UserID, &k.Currency, &available, &frozen, &version); err != nil {
			return "", err
		}
		sum := r.sums[k]
		if sum == nil || sum.version != version || !sum.available.Equal(available) || !sum.frozen.Equal(frozen) || available.IsNegative() || frozen.IsNegative() {
			return fmt.Sprintf("%v holds %s and %s at version %d, its entries come to %+v", k, available, frozen, version, sum), nil
		}
		seen++
	}
	if err := rows.Err(); err != nil || seen == len(r.sums) {
		return "", err
	}
	return fmt.Sprintf("%d wallets and %d with entries", seen, len(r.sums)), nil
}

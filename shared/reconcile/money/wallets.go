package money

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/shopspring/decimal"

	"holdfast/shared/reconcile"
	"holdfast/shared/sqltx"
)

// walletPage is how many wallets are compared at once: few enough that their keys fit into a statement.
const walletPage = 50

// walletKey names a wallet.
type walletKey struct{ user, currency string }

// walletRow is a wallet, and what its entries add up to.
type walletRow struct {
	available, frozen decimal.Decimal
	version           int64
}

// walletsPage compares the wallets of one page with their entries.
func (r *round) walletsPage(ctx context.Context, tx *sql.Tx, next *progress) ([]finding, error) {
	keys, rows, err := readWallets(ctx, tx, string(next.After), next.Last, min(walletPage, r.cfg.PageSize))
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		next.Step, next.After, next.Last = accounts, nil, ""
		return nil, nil
	}
	sums, newest, lowest, err := readWalletEntries(ctx, tx, keys)
	if err != nil {
		return nil, err
	}
	last := keys[len(keys)-1]
	next.After, next.Last = []byte(last.user), last.currency
	next.Wallets += len(keys)
	var found []finding
	for _, k := range keys {
		has, want := rows[k], sums[k]
		newestSays := newest[k]
		sound := has.equal(want.walletRow) && want.count == has.version && (want.count == 0 || lowest[k] == 1 && has.equal(newestSays))
		if sound {
			continue
		}
		says := []any{has.texts(), want.texts(), want.count, newestSays.texts()}
		found = append(found, finding{kind: reconcile.WalletDiffers, subject: k.user + " " + k.currency, says: says,
			evidence: evidence(map[string]any{"wallet": has.texts(), "entries": want.texts(), "count": want.count,
				"newest": newestSays.texts()})})
	}
	return found, nil
}

func (w walletRow) equal(o walletRow) bool {
	return w.available.Equal(o.available) && w.frozen.Equal(o.frozen) && w.version == o.version
}

func (w walletRow) texts() map[string]any {
	return map[string]any{"available": w.available.StringFixed(2), "frozen": w.frozen.StringFixed(2), "version": w.version}
}

// entrySum is what the entries of a wallet add up to; its version is the highest of theirs.
type entrySum struct {
	walletRow
	count int64
}

func readWallets(ctx context.Context, tx *sql.Tx, user, currency string, limit int) ([]walletKey, map[walletKey]walletRow, error) {
	rows, err := tx.QueryContext(ctx, `SELECT user_id, currency, available, frozen, version FROM wallet
 WHERE user_id >= ? AND (user_id > ? OR currency > ?) ORDER BY user_id, currency LIMIT ?`, user, user, currency, limit)
	if err != nil {
		return nil, nil, fmt.Errorf("money: read wallets: %w", err)
	}
	defer rows.Close()
	var keys []walletKey
	out := make(map[walletKey]walletRow, limit)
	for rows.Next() {
		var k walletKey
		var w walletRow
		if err := rows.Scan(&k.user, &k.currency, &w.available, &w.frozen, &w.version); err != nil {
			return nil, nil, fmt.Errorf("money: read wallets: %w", err)
		}
		keys, out[k] = append(keys, k), w
	}
	return keys, out, rows.Err()
}

// readWalletEntries adds the entries of wallets up, and reads what the newest of each left there and the lowest version.
func readWalletEntries(ctx context.Context, tx *sql.Tx, keys []walletKey) (map[walletKey]entrySum, map[walletKey]walletRow, map[walletKey]int64, error) {
	args := make([]any, 0, len(keys))
	for i, k := range keys {
		if i == 0 || keys[i-1].user != k.user {
			args = append(args, []byte(k.user))
		}
	}
	rows, err := tx.QueryContext(ctx, `SELECT user_id, currency, COUNT(*), MIN(version), MAX(version),
 SUM(CASE 'AVAIL' WHEN to_account THEN amount WHEN from_account THEN -amount ELSE 0 END),
 SUM(CASE 'FROZEN' WHEN to_account THEN amount WHEN from_account THEN -amount ELSE 0 END)
 FROM wallet_log WHERE version IS NOT NULL AND user_id IN `+sqltx.In(len(args))+` GROUP BY user_id, currency`, args...)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("money: read entries: %w", err)
	}
	defer rows.Close()
	sums, lowest := make(map[walletKey]entrySum), make(map[walletKey]int64)
	for rows.Next() {
		var k walletKey
		var e entrySum
		var low int64
		if err := rows.Scan(&k.user, &k.currency, &e.count, &low, &e.version, &e.available, &e.frozen); err != nil {
			return nil, nil, nil, fmt.Errorf("money: read entries: %w", err)
		}
		sums[k], lowest[k] = e, low
	}
	if err := rows.Err(); err != nil {
		return nil, nil, nil, fmt.Errorf("money: read entries: %w", err)
	}
	newest := make(map[walletKey]walletRow, len(sums))
	for k, e := range sums {
		w := walletRow{version: e.version}
		err := tx.QueryRowContext(ctx, `SELECT available_after, frozen_after FROM wallet_log WHERE user_id = ? AND currency = ? AND version = ?`,
			k.user, k.currency, e.version).Scan(&w.available, &w.frozen)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("money: read entries: %w", err)
		}
		newest[k] = w
	}
	return sums, newest, lowest, nil
}

package wallet_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
	"holdfast/shared/wallet"
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// world is a ledger of the test's own.
type world struct {
	t  testing.TB
	db *sqltx.DB
}

func newWorld(t testing.TB) *world {
	t.Helper()
	db := testenv.MySQL(t)
	db.SetMaxOpenConns(24)
	db.SetMaxIdleConns(24)
	return &world{t, sqltx.New(db, nil)}
}

func yuan(text string) money.Amount { return money.Of(decimal.RequireFromString(text), "CNY") }

func key(user string) wallet.Key { return wallet.Key{UserID: user, Currency: "CNY"} }

func move(kind wallet.Type, reference, user, amount string) wallet.Movement {
	m := wallet.Movement{Type: kind, Reference: reference, UserID: user, Amount: yuan(amount)}
	switch kind {
	case wallet.DepositPenalty, wallet.PenaltyReversal:
		m.ClubID = "c1"
	case wallet.Refund:
		m.Target = wallet.ToWallet
	}
	return m
}

// apply applies movements in a transaction of their own.
func (w *world) apply(list ...wallet.Movement) error { return w.applyAt(noon, list...) }

func (w *world) applyAt(now time.Time, list ...wallet.Movement) error {
	return w.db.Run(w.t.Context(), func(ctx context.Context, tx *sql.Tx) error { return wallet.Apply(ctx, tx, list, now) })
}

func (w *world) must(list ...wallet.Movement) {
	w.t.Helper()
	if err := w.apply(list...); err != nil {
		w.t.Fatal(err)
	}
}

// holds checks a wallet of yuan.
func (w *world) holds(user, available, frozen string, version int64) {
	w.t.Helper()
	b, err := wallet.Get(w.t.Context(), w.db, key(user))
	if err != nil {
		w.t.Fatal(err)
	}
	if b.Available.String() != available || b.Frozen.String() != frozen || b.Version != version {
		w.t.Errorf("%s holds %s and %s frozen at version %d, want %s, %s, %d", user, b.Available, b.Frozen, b.Version, available, frozen, version)
	}
}

func (w *world) account(name string) string {
	w.t.Helper()
	a, err := wallet.AccountBalance(w.t.Context(), w.db, name, "CNY")
	if err != nil {
		w.t.Fatal(err)
	}
	return a.String()
}

func (w *world) count(query string, args ...any) (n int) {
	w.t.Helper()
	if err := w.db.QueryRowContext(w.t.Context(), query, args...).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// written counts the rows of all tables but the wallets.
func (w *world) written() int {
	return w.count(`SELECT (SELECT COUNT(*) FROM wallet_log) + (SELECT COUNT(*) FROM account_inbox) + (SELECT COUNT(*) FROM account)`)
}

const (
	// Wallets and their entries, matched; what has no match on the other side, or other figures, is counted.
	wrongWallets = `SELECT COUNT(*) FROM wallet w LEFT JOIN (SELECT user_id, currency, COUNT(*) n, MAX(version) last, MIN(version) first,
		SUM(CASE WHEN to_account = 'AVAIL' THEN amount WHEN from_account = 'AVAIL' THEN -amount ELSE 0 END) available,
		SUM(CASE WHEN to_account = 'FROZEN' THEN amount WHEN from_account = 'FROZEN' THEN -amount ELSE 0 END) frozen
		FROM wallet_log WHERE version IS NOT NULL GROUP BY user_id, currency) e ON e.user_id = w.user_id AND e.currency = w.currency
		WHERE e.n IS NULL OR e.available <> w.available OR e.frozen <> w.frozen OR e.n <> w.version OR e.last <> w.version OR e.first <> 1
		OR w.available < 0 OR w.frozen < 0`
	wrongEntries = `SELECT COUNT(*) FROM wallet_log l LEFT JOIN wallet w ON w.user_id = l.user_id AND w.currency = l.currency
		WHERE l.version IS NOT NULL AND w.user_id IS NULL`
	// An entry's balances are those of the entry before and its own amount.
	wrongSteps = `SELECT COUNT(*) FROM wallet_log l LEFT JOIN wallet_log p ON p.user_id = l.user_id AND p.currency = l.currency
		AND p.version = l.version - 1 WHERE l.version IS NOT NULL AND (l.version > 1 AND p.version IS NULL OR l.at < COALESCE(p.at, l.at)
		OR l.available_after <> COALESCE(p.available_after, 0) + CASE WHEN l.to_account = 'AVAIL' THEN l.amount WHEN l.from_account = 'AVAIL' THEN -l.amount ELSE 0 END
		OR l.frozen_after <> COALESCE(p.frozen_after, 0) + CASE WHEN l.to_account = 'FROZEN' THEN l.amount WHEN l.from_account = 'FROZEN' THEN -l.amount ELSE 0 END)`
	// The sum of all accounts of each currency.
	currencySums = `SELECT currency, SUM(amount) FROM (SELECT currency, available + frozen amount FROM wallet UNION ALL
		SELECT currency, balance FROM account UNION ALL SELECT currency, amount FROM account_inbox) t GROUP BY currency HAVING SUM(amount) <> 0`
	// Accounts that are no wallets, held against the entries.
	wrongAccounts = `SELECT COUNT(*) FROM (SELECT account, currency, SUM(amount) amount FROM (
		SELECT account, currency, balance amount FROM account UNION ALL SELECT account, currency, amount FROM account_inbox UNION ALL
		SELECT to_account, currency, -amount FROM wallet_log WHERE to_account NOT IN ('AVAIL', 'FROZEN') UNION ALL
		SELECT from_account, currency, amount FROM wallet_log WHERE from_account NOT IN ('AVAIL', 'FROZEN')) s
		GROUP BY account, currency) t WHERE amount <> 0`
)

// off reads the whole ledger in one snapshot and says what does not hold; "" when all does.
func off(ctx context.Context, db *sql.DB) (string, error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return "", err
	}
	defer func() { _ = tx.Rollback() }()
	for _, check := range []struct{ name, query string }{{"wallets", wrongWallets}, {"entries without a wallet", wrongEntries},
		{"steps", wrongSteps}, {"accounts", wrongAccounts}} {
		var n int
		if err := tx.QueryRowContext(ctx, check.query).Scan(&n); err != nil {
			return "", fmt.Errorf("%s: %w", check.name, err)
		}
		if n != 0 {
			return fmt.Sprintf("%d %s are off", n, check.name), nil
		}
	}
	var currency, sum string
	err = tx.QueryRowContext(ctx, currencySums).Scan(&currency, &sum)
	if err == nil {
		return fmt.Sprintf("all accounts together hold %s %s", sum, currency), nil
	}
	if err != sql.ErrNoRows {
		return "", err
	}
	return "", nil
}

// sound checks the whole ledger.
func (w *world) sound() {
	w.t.Helper()
	if what, err := off(w.t.Context(), w.db.DB); err != nil || what != "" {
		w.t.Errorf("the ledger is off: %s %v", what, err)
	}
}

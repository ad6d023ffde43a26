package wallet

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

const (
	selectWallet   = `SELECT available, frozen, version FROM wallet WHERE user_id = ? AND currency = ?`
	selectWalletAt = `SELECT available_after, frozen_after, version FROM wallet_log
		WHERE user_id = ? AND currency = ? AND version IS NOT NULL AND at <= ? ORDER BY version DESC LIMIT 1`
	selectCurrencies = `SELECT currency FROM wallet WHERE user_id = ? ORDER BY currency`
)

// Get reads a wallet as last committed; zeros for one that has no row. It returns the errors of the driver.
func Get(ctx context.Context, q sqltx.Querier, k Key) (Balance, error) {
	return balance(k.Currency, q.QueryRowContext(ctx, selectWallet, k.UserID, k.Currency))
}

// At reads what a wallet held at an instant: after its last movement that was not later. It returns the errors of the driver.
func At(ctx context.Context, q sqltx.Querier, k Key, instant time.Time) (Balance, error) {
	return balance(k.Currency, q.QueryRowContext(ctx, selectWalletAt, k.UserID, k.Currency, instant))
}

func balance(currency string, row *sql.Row) (Balance, error) {
	var available, frozen decimal.Decimal
	var version int64
	err := row.Scan(&available, &frozen, &version)
	if errors.Is(err, sql.ErrNoRows) {
		return none(currency), nil
	}
	if err != nil {
		return Balance{}, fmt.Errorf("wallet: read: %w", err)
	}
	return Balance{money.Of(available, currency), money.Of(frozen, currency), version}, nil
}

// Currencies gives the currencies that a user has wallets of, ascending. It returns the errors of the driver.
func Currencies(ctx context.Context, q sqltx.Querier, userID string) ([]string, error) {
	found, err := sqltx.Collect(ctx, q, sqltx.Column[string], selectCurrencies, userID)
	if err != nil {
		return nil, fmt.Errorf("wallet: read currencies: %w", err)
	}
	return found, nil
}

// Entry is a movement of a wallet as its owner sees it.
type Entry struct {
	ID             int64 // rises with every entry
	Type           Type
	Reference      string
	AvailableDelta money.Amount // what the owner could spend more, or, negative, less
	FrozenDelta    money.Amount // what deposits held more, or less
	After          Balance
	OrderID        sale.OrderID // zero: none
	At             time.Time
}

const entryColumns = `SELECT entry_id, type, reference, currency, amount, from_account, to_account, version, available_after,
	frozen_after, order_id, at FROM wallet_log`

const (
	// The index is named because a server may take the primary key for the order, and would read everybody's entries on the way.
	selectEntries = entryColumns + ` FORCE INDEX (wallet_log_user)
		WHERE user_id = ? AND version IS NOT NULL AND entry_id < ? ORDER BY entry_id DESC LIMIT ?`
	selectEntry = entryColumns + ` WHERE type = ? AND reference = ?`
)

// List reads entries of a user's wallets, newest first, that are older than the one with id before; limit at most. Entries that moved
// no wallet, as when the provider paid for an order, are not among them. It returns the errors of the driver.
func List(ctx context.Context, q sqltx.Querier, userID string, before int64, limit int) ([]Entry, error) {
	return entries(ctx, q, selectEntries, userID, before, limit)
}

// entryOf reads the entry of a movement that moved a wallet.
func entryOf(ctx context.Context, q sqltx.Querier, kind Type, reference string) (Entry, error) {
	found, err := entries(ctx, q, selectEntry, string(kind), reference)
	if err != nil {
		return Entry{}, err
	}
	if len(found) != 1 {
		return Entry{}, errRows
	}
	return found[0], nil
}

func entries(ctx context.Context, q sqltx.Querier, statement string, args ...any) ([]Entry, error) {
	found, err := sqltx.Collect(ctx, q, scanEntry, statement, args...)
	if err != nil {
		return nil, fmt.Errorf("wallet: read entries: %w", err)
	}
	return found, nil
}

func scanEntry(row sqltx.Scanner) (Entry, error) {
	var (
		e                         Entry
		currency                  string
		amount, available, frozen decimal.Decimal
		moved                     step
		id                        []byte
	)
	err := row.Scan(&e.ID, &e.Type, &e.Reference, &currency, &amount, &moved.from, &moved.to, &e.After.Version, &available, &frozen, &id, &e.At)
	if err != nil {
		return Entry{}, err
	}
	if id != nil {
		if e.OrderID, err = sale.OrderIDFromBytes(id); err != nil {
			return Entry{}, err
		}
	}
	moved.Amount = money.Of(amount, currency)
	e.AvailableDelta, e.FrozenDelta = moved.delta(Available), moved.delta(Frozen)
	e.After.Available, e.After.Frozen = money.Of(available, currency), money.Of(frozen, currency)
	e.At = e.At.UTC()
	return e, nil
}

const (
	selectAccount = `SELECT COALESCE((SELECT balance FROM account WHERE account = ? AND currency = ?), 0) +
		COALESCE((SELECT SUM(amount) FROM account_inbox WHERE account = ? AND currency = ?), 0)`
	sumAvailable = `SELECT COALESCE(SUM(available), 0) FROM wallet WHERE currency = ?`
	sumFrozen    = `SELECT COALESCE(SUM(frozen), 0) FROM wallet WHERE currency = ?`
)

// AccountBalance reads what an account holds, rolled up or not; of AVAIL and FROZEN what all wallets of the currency hold. It may be
// below zero. It returns the errors of the driver.
func AccountBalance(ctx context.Context, q sqltx.Querier, account, currency string) (money.Amount, error) {
	var value decimal.Decimal
	var err error
	switch account {
	case Available:
		err = q.QueryRowContext(ctx, sumAvailable, currency).Scan(&value)
	case Frozen:
		err = q.QueryRowContext(ctx, sumFrozen, currency).Scan(&value)
	default:
		err = q.QueryRowContext(ctx, selectAccount, account, currency, account, currency).Scan(&value)
	}
	if err != nil {
		return money.Amount{}, fmt.Errorf("wallet: read an account: %w", err)
	}
	return money.Of(value, currency), nil
}

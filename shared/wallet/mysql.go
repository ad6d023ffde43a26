package wallet

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// errRows is the cause of a failure that only rows which disagree, or a lock that was not taken, can bring about.
var errRows = errors.New("wallet: another number of rows changed than was locked")

// pages cuts texts so that the list of each part stays within a statement.
func pages(texts []string) [][]string {
	const (
		words = 1024 // what the longest statement has besides its list
		frame = len("_binary'',") + 1
	)
	var out [][]string
	size, begin := 0, 0
	for i, s := range texts {
		need := 2*len(s) + frame // every byte may need an escape
		if i > begin && size+need > sqltx.MaxStatement-words {
			out, begin, size = append(out, texts[begin:i]), i, 0
		}
		size += need
	}
	if begin < len(texts) {
		out = append(out, texts[begin:])
	}
	return out
}

// The index is named because a small table would be read whole, and every row on the way would be waited for.
const lockHead = `SELECT user_id, currency, available, frozen, version, updated_at FROM wallet FORCE INDEX (PRIMARY) WHERE user_id IN `

// lockWallets locks wallets in the order of their keys. A user who has several currencies among the keys has all currencies of the keys
// locked, which keeps one statement for a page of users.
func lockWallets(ctx context.Context, tx *sql.Tx, keys []Key) (map[Key]*held, error) {
	wallets := make(map[Key]*held, len(keys))
	for _, k := range keys {
		wallets[k] = &held{Balance: none(k.Currency)}
	}
	var users, currencies []string
	for _, k := range sortedKeys(wallets) {
		users, currencies = append(users, k.UserID), append(currencies, k.Currency)
	}
	slices.Sort(currencies)
	users, currencies = slices.Compact(users), slices.Compact(currencies)
	for _, page := range pages(users) {
		rows, err := tx.QueryContext(ctx, lockHead+sqltx.In(len(page))+` AND currency IN `+sqltx.In(len(currencies))+
			` ORDER BY user_id, currency FOR UPDATE`, append(sqltx.Args(page), sqltx.Args(currencies)...)...)
		if err != nil {
			return nil, fmt.Errorf("wallet: lock: %w", err)
		}
		if err := scanLocked(rows, wallets); err != nil {
			return nil, fmt.Errorf("wallet: lock: %w", err)
		}
	}
	return wallets, nil
}

func scanLocked(rows *sql.Rows, wallets map[Key]*held) error {
	defer rows.Close()
	for rows.Next() {
		var (
			k                 Key
			available, frozen decimal.Decimal
			version           int64
			at                time.Time
		)
		if err := rows.Scan(&k.UserID, &k.Currency, &available, &frozen, &version, &at); err != nil {
			return err
		}
		if w := wallets[k]; w != nil {
			w.Balance = Balance{money.Of(available, k.Currency), money.Of(frozen, k.Currency), version}
			w.at, w.exists = at.UTC(), true
		}
	}
	return rows.Err()
}

const writtenHead = `SELECT type, reference, user_id, currency, amount, from_account, to_account, order_id
	FROM wallet_log FORCE INDEX (wallet_log_once) WHERE type IN `

// ofDeposits are the types that move what a deposit holds.
var ofDeposits = []Type{DepositFreeze, DepositConsume, DepositPenalty, DepositRefund}

// readWritten reads the entries that the steps have already, and of deposits that are taken from all entries that moved what they hold.
func readWritten(ctx context.Context, tx *sql.Tx, steps []*step) (map[name]*step, error) {
	kinds, references := make(map[Type][]Type), make(map[Type][]string) // by the first type of those that are looked up together
	for _, s := range steps {
		group := []Type{s.Type}
		if s.from == Frozen {
			group = ofDeposits
		}
		kinds[group[0]] = append(kinds[group[0]], group...)
		references[group[0]] = append(references[group[0]], s.Reference)
	}
	written := make(map[name]*step)
	for first, list := range references {
		slices.Sort(list)
		slices.Sort(kinds[first])
		types := slices.Compact(kinds[first])
		for _, page := range pages(slices.Compact(list)) {
			rows, err := tx.QueryContext(ctx, writtenHead+sqltx.In(len(types))+` AND reference IN `+sqltx.In(len(page)),
				append(sqltx.Args(types), sqltx.Args(page)...)...)
			if err != nil {
				return nil, fmt.Errorf("wallet: read entries: %w", err)
			}
			if err := scanWritten(rows, written); err != nil {
				return nil, fmt.Errorf("wallet: read entries: %w", err)
			}
		}
	}
	return written, nil
}

func scanWritten(rows *sql.Rows, written map[name]*step) error {
	defer rows.Close()
	for rows.Next() {
		var (
			s        step
			currency string
			value    decimal.Decimal
			id       []byte
		)
		err := rows.Scan(&s.Type, &s.Reference, &s.UserID, &currency, &value, &s.from, &s.to, &id)
		if err != nil {
			return err
		}
		if id != nil {
			if s.OrderID, err = sale.OrderIDFromBytes(id); err != nil {
				return err
			}
		}
		s.Amount = money.Of(value, currency)
		written[name{s.Type, s.Reference}] = &s
	}
	return rows.Err()
}

const logHead = `INSERT INTO wallet_log (type, reference, user_id, currency, amount, from_account, to_account, order_id, version,
	available_after, frozen_after, at) VALUES `

// writeLog inserts the entries and says how many stand even when it fails. It is the first to write: should the wallets not have been
// locked as they ought to be, or the same movement be written elsewhere, a unique key refuses here.
func writeLog(ctx context.Context, tx *sql.Tx, entries []entry) (int64, error) {
	written, err := sqltx.WriteRows(ctx, tx, logHead, len(entries), func(i int, r *sqltx.Row) {
		e := entries[i]
		r.Text(string(e.Type))
		r.Text(e.Reference)
		r.Text(e.UserID)
		r.Text(e.Amount.Currency)
		r.Decimal(e.Amount.String())
		r.Text(e.from)
		r.Text(e.to)
		if e.OrderID == (sale.OrderID{}) {
			r.Null()
		} else {
			r.Bytes(e.OrderID[:])
		}
		if e.after == nil {
			r.Null()
			r.Null()
			r.Null()
		} else {
			r.Int(e.after.Version)
			r.Decimal(e.after.Available.String())
			r.Decimal(e.after.Frozen.String())
		}
		r.Instant(e.at)
	}, "")
	if err != nil {
		return written, fmt.Errorf("wallet: write entries: %w", err)
	}
	return written, nil
}

const walletHead = `INSERT INTO wallet (user_id, currency, available, frozen, version, created_at, updated_at) VALUES `

// The CHECK wallet_gate looks at the new values, whether the row is new or not.
const walletTail = ` ON DUPLICATE KEY UPDATE available = VALUES(available), frozen = VALUES(frozen), version = VALUES(version),
	updated_at = VALUES(updated_at)`

// writeWallets brings the wallets that moved to their new balances. Their rows are locked, or are made now, after the entries with
// their first version, which nobody else can have written.
func writeWallets(ctx context.Context, tx *sql.Tx, wallets map[Key]*held) error {
	var moved []Key
	want := int64(0)
	for _, k := range sortedKeys(wallets) {
		if !wallets[k].moved {
			continue
		}
		moved = append(moved, k)
		want++
		if wallets[k].exists {
			want++ // the server counts a row that was there twice
		}
	}
	got, err := sqltx.WriteRows(ctx, tx, walletHead, len(moved), func(i int, r *sqltx.Row) {
		w := wallets[moved[i]]
		r.Text(moved[i].UserID)
		r.Text(moved[i].Currency)
		r.Decimal(w.Available.String())
		r.Decimal(w.Frozen.String())
		r.Int(w.Version)
		r.Instant(w.at)
		r.Instant(w.at)
	}, walletTail)
	if err == nil && got != want {
		err = errRows
	}
	if err != nil {
		return fmt.Errorf("wallet: write wallets: %w", err)
	}
	return nil
}

const inboxHead = `INSERT INTO account_inbox (account, currency, amount) VALUES `

// writeInbox adds a row for every side of an entry that is no wallet.
func writeInbox(ctx context.Context, tx *sql.Tx, entries []entry) error {
	type line struct {
		account string
		amount  money.Amount
	}
	var lines []line
	for _, e := range entries {
		if !ofWallet(e.from) {
			lines = append(lines, line{e.from, e.Amount.Negated()})
		}
		if !ofWallet(e.to) {
			lines = append(lines, line{e.to, e.Amount})
		}
	}
	_, err := sqltx.WriteRows(ctx, tx, inboxHead, len(lines), func(i int, r *sqltx.Row) {
		r.Text(lines[i].account)
		r.Text(lines[i].amount.Currency)
		r.Decimal(lines[i].amount.String())
	}, "")
	if err != nil {
		return fmt.Errorf("wallet: write inbox: %w", err)
	}
	return nil
}

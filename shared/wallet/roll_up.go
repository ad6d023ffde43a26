package wallet

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/sqltx"
)

const (
	takeInbox   = `SELECT inbox_id, account, currency, amount FROM account_inbox ORDER BY inbox_id LIMIT ? FOR UPDATE SKIP LOCKED`
	accountHead = `INSERT INTO account (account, currency, balance, updated_at) VALUES `
	accountTail = ` ON DUPLICATE KEY UPDATE balance = balance + VALUES(balance), updated_at = VALUES(updated_at)`
)

// idPage is how many numbers one statement deletes by: with " UNION ALL SELECT " before each they stay below the longest statement.
const idPage = 360

// accountKey is the key of a row of account, in whose order these are written.
type accountKey struct{ account, currency string }

// RollUp takes rows of account_inbox that nobody has locked, limit at most, adds their sums to the accounts and deletes exactly those
// rows, in one transaction; rows says how many. Any number of calls may run side by side, and with movements. It returns the errors of
// the transaction runner, and that of a sum that outgrows its column, when the rows stay and the balance is still right.
func RollUp(ctx context.Context, db *sqltx.DB, limit int) (rows int, err error) {
	err = db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		ids, sums, err := takeRows(ctx, tx, limit)
		if err != nil || len(ids) == 0 {
			rows = 0
			return err
		}
		now, err := db.Now(ctx, tx)
		if err != nil {
			return err
		}
		if err := addSums(ctx, tx, sums, now); err != nil {
			return err
		}
		rows = len(ids)
		return deleteRows(ctx, tx, ids)
	})
	if err != nil {
		return 0, err
	}
	return rows, nil
}

func takeRows(ctx context.Context, tx *sql.Tx, limit int) (ids []int64, sums map[accountKey]decimal.Decimal, err error) {
	rows, err := tx.QueryContext(ctx, takeInbox, limit)
	if err != nil {
		return nil, nil, fmt.Errorf("wallet: roll up: %w", err)
	}
	defer rows.Close()
	sums = make(map[accountKey]decimal.Decimal)
	for rows.Next() {
		var id int64
		var k accountKey
		var amount decimal.Decimal
		if err := rows.Scan(&id, &k.account, &k.currency, &amount); err != nil {
			return nil, nil, fmt.Errorf("wallet: roll up: %w", err)
		}
		ids, sums[k] = append(ids, id), sums[k].Add(amount)
	}
	if err := rows.Err(); err != nil {
		return nil, nil, fmt.Errorf("wallet: roll up: %w", err)
	}
	return ids, sums, nil
}

func addSums(ctx context.Context, tx *sql.Tx, sums map[accountKey]decimal.Decimal, now time.Time) error {
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b accountKey) int {
		return cmp.Or(strings.Compare(a.account, b.account), strings.Compare(a.currency, b.currency))
	})
	_, err := sqltx.WriteRows(ctx, tx, accountHead, len(keys), func(i int, r *sqltx.Row) {
		r.Text(keys[i].account)
		r.Text(keys[i].currency)
		r.Decimal(sums[keys[i]].StringFixed(2))
		r.Instant(now)
	}, accountTail)
	if err != nil {
		return fmt.Errorf("wallet: roll up: %w", err)
	}
	return nil
}

// deleteRows looks each row up by its number. By a list of numbers a server may prefer to read the table, and would wait on the way for
// the rows of another roll-up, which waits for the accounts of this one.
func deleteRows(ctx context.Context, tx *sql.Tx, ids []int64) error {
	for page := range slices.Chunk(ids, idPage) {
		more := strings.Repeat(` UNION ALL SELECT ?`, len(page)-1)
		result, err := tx.ExecContext(ctx, `DELETE taken FROM (SELECT ? AS inbox_id`+more+`) numbers
			STRAIGHT_JOIN account_inbox taken ON taken.inbox_id = numbers.inbox_id`, sqltx.Args(page)...)
		if err != nil {
			return fmt.Errorf("wallet: roll up: %w", err)
		}
		if n, err := result.RowsAffected(); err != nil || n != int64(len(page)) {
			return fmt.Errorf("wallet: roll up: %w", cmp.Or(err, errRows))
		}
	}
	return nil
}

package deposit

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

const columns = `order_id, activity_id, user_id, currency, mode, status, deposit, penalty_due, consumed, supplement, penalty, refunded,
 penalty_reversed, confirm_deadline, remind_at, reminded_at, penalty_ratio, cancellation, club_id, policy_hash, started_at, revision,
 created_at, updated_at, settled_at`

// idsPerStatement keeps a list of ids, written as parameters, well below sqltx.MaxStatement.
const idsPerStatement = 200

// Columns that are not named begin with the table's defaults: nothing consumed, kept or given back, revision 1.
const insertHead = `INSERT INTO deposit_record (order_id, activity_id, user_id, currency, mode, status, deposit, penalty_due,
 confirm_deadline, remind_at, penalty_ratio, cancellation, club_id, policy_hash, created_at, updated_at) VALUES `

// Insert writes new FROZEN records, in order of their ids. It returns the errors of the driver: a second record of an order is one.
func Insert(ctx context.Context, tx *sql.Tx, list []Record) error {
	_, err := sqltx.WriteRows(ctx, tx, insertHead, len(list), func(i int, r *sqltx.Row) {
		d := &list[i]
		r.Bytes(d.OrderID[:])
		r.Text(d.ActivityID)
		r.Text(d.UserID)
		r.Text(d.Deposit.Currency)
		r.Text(string(d.Mode))
		r.Text(string(d.Status))
		r.Decimal(d.Deposit.String())
		r.Decimal(d.PenaltyDue.String())
		r.Instant(d.ConfirmDeadline)
		r.Instant(d.RemindAt)
		r.Decimal(d.PenaltyRatio.String())
		r.Text(string(d.Cancellation))
		r.Text(d.ClubID)
		r.Bytes(d.PolicyHash[:])
		r.Instant(d.CreatedAt)
		r.Instant(d.UpdatedAt)
	}, "")
	if err != nil {
		return fmt.Errorf("deposit: insert: %w", err)
	}
	return nil
}

// Get reads a deposit as last committed. It returns ErrNotFound when the order has none.
func Get(ctx context.Context, q sqltx.Querier, id sale.OrderID) (*Record, error) {
	return oneOf(GetMany(ctx, q, []sale.OrderID{id}))
}

// Lock reads a deposit and locks its row until the transaction ends. It returns ErrNotFound when the order has none.
func Lock(ctx context.Context, tx *sql.Tx, id sale.OrderID) (*Record, error) {
	return oneOf(LockMany(ctx, tx, []sale.OrderID{id}))
}

func oneOf(found map[sale.OrderID]Record, err error) (*Record, error) {
	if err != nil {
		return nil, err
	}
	for _, r := range found {
		return &r, nil
	}
	return nil, ErrNotFound
}

// GetMany reads the deposits of these orders as last committed, by order; orders without one are absent.
func GetMany(ctx context.Context, q sqltx.Querier, ids []sale.OrderID) (map[sale.OrderID]Record, error) {
	return many(ctx, q, ids, "")
}

// LockMany reads the deposits of these orders and locks their rows, in order of id; orders without one are absent. Their orders are
// locked before, by the same caller.
func LockMany(ctx context.Context, tx *sql.Tx, ids []sale.OrderID) (map[sale.OrderID]Record, error) {
	return many(ctx, tx, ids, " ORDER BY order_id FOR UPDATE")
}

func many(ctx context.Context, q sqltx.Querier, ids []sale.OrderID, tail string) (map[sale.OrderID]Record, error) {
	out := make(map[sale.OrderID]Record, len(ids))
	for page := range slices.Chunk(sorted(ids), idsPerStatement) {
		found, err := query(ctx, q, `SELECT `+columns+` FROM deposit_record WHERE order_id IN `+sqltx.In(len(page))+tail, idArgs(page)...)
		if err != nil {
			return nil, err
		}
		for i := range found {
			out[found[i].OrderID] = found[i]
		}
	}
	return out, nil
}

func sorted(ids []sale.OrderID) []sale.OrderID {
	out := slices.Clone(ids)
	slices.SortFunc(out, func(a, b sale.OrderID) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(out)
}

func idArgs(ids []sale.OrderID) []any {
	args := make([]any, len(ids))
	for i := range ids {
		args[i] = ids[i][:]
	}
	return args
}

func query(ctx context.Context, q sqltx.Querier, statement string, args ...any) ([]Record, error) {
	found, err := sqltx.Collect(ctx, q, scan, statement, args...)
	if err != nil {
		return nil, fmt.Errorf("deposit: read: %w", err)
	}
	return found, nil
}

func scan(row sqltx.Scanner) (Record, error) {
	var (
		r                                                          Record
		id, hash                                                   []byte
		currency                                                   string
		deposit, due, consumed, supplement, kept, refunded, undone decimal.Decimal
		reminded, started, settled                                 sql.NullTime
	)
	err := row.Scan(&id, &r.ActivityID, &r.UserID, &currency, &r.Mode, &r.Status, &deposit, &due, &consumed, &supplement, &kept,
		&refunded, &undone, &r.ConfirmDeadline, &r.RemindAt, &reminded, &r.PenaltyRatio, &r.Cancellation, &r.ClubID, &hash, &started,
		&r.Revision, &r.CreatedAt, &r.UpdatedAt, &settled)
	if err != nil {
		return r, err
	}
	if r.OrderID, err = sale.OrderIDFromBytes(id); err != nil {
		return r, err
	}
	if len(hash) != len(r.PolicyHash) {
		return r, errors.Join(sale.ErrBadPolicyHash, fmt.Errorf("%d bytes", len(hash)))
	}
	r.PolicyHash = sale.PolicyHash(hash)
	r.Deposit, r.PenaltyDue = money.Of(deposit, currency), money.Of(due, currency)
	r.Consumed, r.Supplement = money.Of(consumed, currency), money.Of(supplement, currency)
	r.Penalty, r.Refunded, r.PenaltyReversed = money.Of(kept, currency), money.Of(refunded, currency), money.Of(undone, currency)
	r.RemindedAt, r.StartedAt, r.SettledAt = sqltx.Instant(reminded), sqltx.Instant(started), sqltx.Instant(settled)
	return r, nil
}

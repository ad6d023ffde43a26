package order

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

const columns = `id, reference, revision, activity_id, ticket_type, user_id, quantity, allocations, unit_price, amount, paid,
 refunded, currency, mode, paid_by, source, status, reason, pay_deadline, seq, reserved_at, created_at, updated_at, cancelled_at,
 released_at, replaces, replaced_by, message_id`

// idBytes is what one id takes in a statement at most, with its comma.
const idBytes = 2*16 + len("_binary'',")

// Get reads an order as last committed. It returns ErrNotFound when the id has no row.
func Get(ctx context.Context, q sqltx.Querier, id sale.OrderID) (*Order, error) {
	return one(q.QueryRowContext(ctx, `SELECT `+columns+` FROM trade_order WHERE id = ?`, id[:]))
}

// GetForUpdate reads an order and locks its row until the transaction ends; it waits for whoever has it. It returns ErrNotFound
// when the id has no row.
func GetForUpdate(ctx context.Context, tx *sql.Tx, id sale.OrderID) (*Order, error) {
	return one(tx.QueryRowContext(ctx, `SELECT `+columns+` FROM trade_order WHERE id = ? FOR UPDATE`, id[:]))
}

// GetMany reads the orders among these ids, as last committed, by id; ids without a row are absent.
func GetMany(ctx context.Context, q sqltx.Querier, ids []sale.OrderID) (map[sale.OrderID]Order, error) {
	return many(ctx, q, ids, "")
}

// LockMany reads the orders among these ids and locks their rows, in order of id; ids without a row are absent.
func LockMany(ctx context.Context, tx *sql.Tx, ids []sale.OrderID) (map[sale.OrderID]Order, error) {
	return many(ctx, tx, ids, " ORDER BY id FOR UPDATE")
}

func many(ctx context.Context, q sqltx.Querier, ids []sale.OrderID, tail string) (map[sale.OrderID]Order, error) {
	out := make(map[sale.OrderID]Order, len(ids))
	for _, page := range pages(sorted(ids), idBytes) {
		found, err := query(ctx, q, `SELECT `+columns+` FROM trade_order WHERE id IN `+sqltx.In(len(page))+tail, idArgs(page)...)
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			out[o.ID] = o
		}
	}
	return out, nil
}

func query(ctx context.Context, q sqltx.Querier, statement string, args ...any) ([]Order, error) {
	found, err := sqltx.Collect(ctx, q, scan, statement, args...)
	if err != nil {
		return nil, fmt.Errorf("order: read: %w", err)
	}
	return found, nil
}

func one(row *sql.Row) (*Order, error) { return sqltx.One(row, scan, ErrNotFound) }

func scan(row sqltx.Scanner) (Order, error) {
	var o Order
	var id, replaces, replacedBy []byte
	var reference, paidBy, reason, message sql.NullString
	var unitPrice, amount, paid, refunded decimal.Decimal
	var currency, allocations string
	var deadline, cancelled, released sql.NullTime
	err := row.Scan(&id, &reference, &o.Revision, &o.ActivityID, &o.TicketType, &o.UserID, &o.Quantity, &allocations, &unitPrice,
		&amount, &paid, &refunded, &currency, &o.Mode, &paidBy, &o.Source, &o.Status, &reason, &deadline, &o.Seq, &o.ReservedAt,
		&o.CreatedAt, &o.UpdatedAt, &cancelled, &released, &replaces, &replacedBy, &message)
	if err != nil {
		return Order{}, fmt.Errorf("order: read: %w", err)
	}
	if o.ID, err = sale.OrderIDFromBytes(id); err != nil {
		return Order{}, fmt.Errorf("order: read: %w", err)
	}
	// A text that a foreign hand left there is as no allocations, so that the one row does not take all that are read with it: it fits
	// nowhere, and can be cancelled, after which its bucket can be corrected.
	if o.Allocations, err = sale.ParseAllocations(allocations); err != nil {
		o.Allocations = nil
	}
	o.Reference, o.PaidBy, o.Reason, o.MessageID = reference.String, paidBy.String, Reason(reason.String), message.String
	o.UnitPrice, o.Amount = money.Of(unitPrice, currency), money.Of(amount, currency)
	o.Paid, o.Refunded = money.Of(paid, currency), money.Of(refunded, currency)
	o.PayDeadline, o.CancelledAt, o.ReleasedAt = sqltx.Instant(deadline), sqltx.Instant(cancelled), sqltx.Instant(released)
	o.Replaces, o.ReplacedBy = other(replaces), other(replacedBy)
	o.Before = -1
	return o, nil
}

func other(b []byte) *sale.OrderID {
	id, err := sale.OrderIDFromBytes(b)
	if err != nil {
		return nil
	}
	return &id
}

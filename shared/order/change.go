package order

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// ErrChanged is returned when an order is not in the state that a change leaves. The caller has locked the row, so it is a
// mistake of the caller or of the data, never a race.
var ErrChanged = errors.New("order: not in the state that the change leaves")

// CancelAll moves locked orders from their present state to CANCELLED in one statement per state and page. The orders must be as
// read under the lock; they are changed alike in memory.
func CancelAll(ctx context.Context, tx *sql.Tx, orders []Order, reason Reason, now time.Time) error {
	for _, from := range []Status{Unpaid, Paid} {
		var ids []sale.OrderID
		for i := range orders {
			if orders[i].Status == from {
				ids = append(ids, orders[i].ID)
			}
		}
		for _, page := range pages(sorted(ids), idBytes) {
			args := append([]any{string(reason), now, now, string(from)}, idArgs(page)...)
			result, err := tx.ExecContext(ctx, `UPDATE trade_order SET status = 'CANCELLED', reason = ?, cancelled_at = ?, updated_at = ?,
 revision = revision + 1 WHERE status = ? AND id IN `+sqltx.In(len(page)), args...)
			if err != nil {
				return fmt.Errorf("order: cancel: %w", err)
			}
			if err := expectChanged(result, len(page)); err != nil {
				return err
			}
		}
	}
	for i := range orders {
		if !orders[i].Status.CanBecome(Cancelled) {
			return fmt.Errorf("%w: %s is %s", ErrChanged, orders[i].ID, orders[i].Status)
		}
		orders[i].Cancel(reason, now)
		orders[i].Revision++
	}
	return nil
}

// Pay moves a locked UNPAID order to PAID by the payment with this name, in full.
func Pay(ctx context.Context, tx *sql.Tx, o *Order, paidBy string, now time.Time) error {
	result, err := tx.ExecContext(ctx, `UPDATE trade_order SET status = 'PAID', paid = amount, paid_by = ?, updated_at = ?,
 revision = revision + 1 WHERE id = ? AND status = 'UNPAID'`, paidBy, now, o.ID[:])
	if err != nil {
		return fmt.Errorf("order: pay: %w", err)
	}
	if err := expectChanged(result, 1); err != nil {
		return err
	}
	o.Status, o.Paid, o.PaidBy, o.UpdatedAt = Paid, o.Amount, paidBy, now
	o.Revision++
	return nil
}

// Refuse turns orders that this very transaction has claimed as live ones into tombstones, each with the reason that it has in
// memory. Nobody has seen them live, so their revision stays.
func Refuse(ctx context.Context, tx *sql.Tx, orders []Order, now time.Time) error {
	byReason := make(map[Reason][]sale.OrderID)
	for i := range orders {
		byReason[orders[i].Reason] = append(byReason[orders[i].Reason], orders[i].ID)
	}
	for reason, ids := range byReason {
		for _, page := range pages(sorted(ids), idBytes) {
			args := append([]any{string(reason), now}, idArgs(page)...)
			result, err := tx.ExecContext(ctx, `UPDATE trade_order SET status = 'CANCELLED', reason = ?, cancelled_at = ?,
 pay_deadline = NULL WHERE status <> 'CANCELLED' AND id IN `+sqltx.In(len(page)), args...)
			if err != nil {
				return fmt.Errorf("order: refuse: %w", err)
			}
			if err := expectChanged(result, len(page)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Move writes the allocations of orders that this very transaction has claimed with other ones.
func Move(ctx context.Context, tx *sql.Tx, orders []Order) error {
	for _, page := range pages(orders, 2*idBytes+1024+16) {
		args := make([]any, 0, 3*len(page))
		ids := make([]sale.OrderID, len(page))
		for i := range page {
			ids[i] = page[i].ID
			args = append(args, page[i].ID[:], page[i].Allocations.Compact())
		}
		result, err := tx.ExecContext(ctx, `UPDATE trade_order SET allocations = CASE id `+strings.Repeat("WHEN ? THEN ? ", len(page))+
			`END WHERE id IN `+sqltx.In(len(page)), append(args, idArgs(ids)...)...)
		if err != nil {
			return fmt.Errorf("order: move: %w", err)
		}
		if err := expectChanged(result, len(page)); err != nil {
			return err
		}
	}
	return nil
}

package deposit

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// Confirm moves a locked FROZEN deposit to DEDUCTED: consumed of it pays for the order, surplus of it goes back, and supplement is paid
// on top. The record is changed alike in memory. It returns ErrChanged when the row is not FROZEN.
func Confirm(ctx context.Context, tx *sql.Tx, r *Record, consumed, supplement, surplus money.Amount, now time.Time) error {
	res, err := tx.ExecContext(ctx, `UPDATE deposit_record SET status = 'DEDUCTED', consumed = ?, supplement = ?, refunded = ?,
 settled_at = ?, updated_at = ?, revision = revision + 1 WHERE order_id = ? AND status = 'FROZEN'`,
		consumed.String(), supplement.String(), surplus.String(), now, now, r.OrderID[:])
	if err != nil {
		return fmt.Errorf("deposit: confirm: %w", err)
	}
	if err := expectChanged(res, 1); err != nil {
		return err
	}
	r.confirm(consumed, supplement, surplus, now)
	return nil
}

// Penalise moves locked FROZEN deposits to where the penalty that is due is kept and the rest has gone back, in one statement per page.
// The records are changed alike in memory. It returns ErrChanged when a row is not FROZEN.
func Penalise(ctx context.Context, tx *sql.Tx, list []Record, now time.Time) error {
	err := leaveFrozen(ctx, tx, list, `UPDATE deposit_record SET status = CASE WHEN penalty_due = deposit THEN 'PENALTY' ELSE 'REFUNDED' END,
 penalty = penalty_due, refunded = deposit - penalty_due, settled_at = ?, updated_at = ?, revision = revision + 1
 WHERE status = 'FROZEN' AND order_id IN `, now)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].penalise(now)
	}
	return nil
}

// GiveBack moves locked FROZEN deposits to REFUNDED with everything gone back, in one statement per page. The records are changed alike
// in memory. It returns ErrChanged when a row is not FROZEN.
func GiveBack(ctx context.Context, tx *sql.Tx, list []Record, now time.Time) error {
	err := leaveFrozen(ctx, tx, list, `UPDATE deposit_record SET status = 'REFUNDED', refunded = deposit, settled_at = ?, updated_at = ?,
 revision = revision + 1 WHERE status = 'FROZEN' AND order_id IN `, now)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].giveBack(now)
	}
	return nil
}

func leaveFrozen(ctx context.Context, tx *sql.Tx, list []Record, statement string, now time.Time) error {
	return eachPage(idsOf(list), func(page []sale.OrderID) error {
		res, err := tx.ExecContext(ctx, statement+sqltx.In(len(page)), append([]any{now, now}, idArgs(page)...)...)
		if err != nil {
			return fmt.Errorf("deposit: settle: %w", err)
		}
		return expectChanged(res, len(page))
	})
}

// Extend gives a locked FROZEN deposit a later deadline and has its buyer reminded again, as long before it as at first. The record is
// changed alike in memory. It returns ErrChanged when the row is not FROZEN.
func Extend(ctx context.Context, tx *sql.Tx, r *Record, deadline, now time.Time) error {
	deadline = deadline.UTC().Truncate(time.Second)
	remindAt := deadline.Add(-r.ConfirmDeadline.Sub(r.RemindAt))
	res, err := tx.ExecContext(ctx, `UPDATE deposit_record SET confirm_deadline = ?, remind_at = ?, reminded_at = NULL, updated_at = ?,
 revision = revision + 1 WHERE order_id = ? AND status = 'FROZEN'`, deadline, remindAt, now, r.OrderID[:])
	if err != nil {
		return fmt.Errorf("deposit: extend: %w", err)
	}
	if err := expectChanged(res, 1); err != nil {
		return err
	}
	r.ConfirmDeadline, r.RemindAt, r.RemindedAt, r.UpdatedAt = deadline, remindAt, nil, now.UTC()
	r.Revision++
	return nil
}

// MarkReminded notes that the buyers of locked FROZEN deposits are reminded. It returns ErrChanged when a row is not FROZEN or its buyer
// was reminded before.
func MarkReminded(ctx context.Context, tx *sql.Tx, list []Record, now time.Time) error {
	err := eachPage(idsOf(list), func(page []sale.OrderID) error {
		res, err := tx.ExecContext(ctx, `UPDATE deposit_record SET reminded_at = ?, updated_at = ?, revision = revision + 1
 WHERE status = 'FROZEN' AND reminded_at IS NULL AND order_id IN `+sqltx.In(len(page)), append([]any{now, now}, idArgs(page)...)...)
		if err != nil {
			return fmt.Errorf("deposit: remind: %w", err)
		}
		return expectChanged(res, len(page))
	})
	if err != nil {
		return err
	}
	for i := range list {
		at := now.UTC()
		list[i].RemindedAt, list[i].UpdatedAt = &at, at
		list[i].Revision++
	}
	return nil
}

// MarkStarted notes that the workflows of these deposits are known to have been started. It decides nothing.
func MarkStarted(ctx context.Context, q sqltx.Querier, ids []sale.OrderID, now time.Time) error {
	return eachPage(sorted(ids), func(page []sale.OrderID) error {
		_, err := q.ExecContext(ctx, `UPDATE deposit_record SET started_at = ? WHERE started_at IS NULL AND order_id IN `+sqltx.In(len(page)),
			append([]any{now}, idArgs(page)...)...)
		if err != nil {
			return fmt.Errorf("deposit: mark started: %w", err)
		}
		return nil
	})
}

// ReversePenalty notes that amount of a locked deposit's penalty goes back to the buyer. It returns ErrChanged when that is more than is
// left of it.
func ReversePenalty(ctx context.Context, tx *sql.Tx, r *Record, amount money.Amount, now time.Time) error {
	res, err := tx.ExecContext(ctx, `UPDATE deposit_record SET penalty_reversed = penalty_reversed + ?, updated_at = ?,
 revision = revision + 1 WHERE order_id = ? AND penalty_reversed + ? <= penalty`, amount.String(), now, r.OrderID[:], amount.String())
	if err != nil {
		return fmt.Errorf("deposit: reverse a penalty: %w", err)
	}
	if err := expectChanged(res, 1); err != nil {
		return err
	}
	r.PenaltyReversed, r.UpdatedAt = r.PenaltyReversed.Plus(amount), now.UTC()
	r.Revision++
	return nil
}

func idsOf(list []Record) []sale.OrderID {
	ids := make([]sale.OrderID, len(list))
	for i := range list {
		ids[i] = list[i].OrderID
	}
	return sorted(ids)
}

func eachPage(ids []sale.OrderID, do func(page []sale.OrderID) error) error {
	for page := range slices.Chunk(ids, idsPerStatement) {
		if err := do(page); err != nil {
			return err
		}
	}
	return nil
}

// expectChanged checks that a change of locked rows moved all of them.
func expectChanged(res sql.Result, want int) error {
	got, err := res.RowsAffected()
	if err != nil {
		return fmt.Errorf("deposit: rows affected: %w", err)
	}
	if got != int64(want) {
		return fmt.Errorf("%w: %d of %d rows changed", ErrChanged, got, want)
	}
	return nil
}

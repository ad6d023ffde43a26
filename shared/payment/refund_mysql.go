package payment

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

const refundColumns = `refund_id, order_id, activity_id, user_id, payment_id, surplus, penalty, target, amount, currency, status, reason,
 attempts, due_at, last_error, created_at, updated_at, finished_at`

// GetRefund reads a refund as last committed. It returns ErrNotFound for an id without a row.
func GetRefund(ctx context.Context, q sqltx.Querier, id string) (*Refund, error) {
	return oneRefund(q.QueryRowContext(ctx, `SELECT `+refundColumns+` FROM refund WHERE refund_id = ?`, id))
}

// GetRefundForUpdate reads a refund and locks its row until the transaction ends. It returns ErrNotFound for an id without a row.
func GetRefundForUpdate(ctx context.Context, tx *sql.Tx, id string) (*Refund, error) {
	return oneRefund(tx.QueryRowContext(ctx, `SELECT `+refundColumns+` FROM refund WHERE refund_id = ? FOR UPDATE`, id))
}

// RefundsOf gives the refunds of orders, each order's in the order in which they were asked for.
func RefundsOf(ctx context.Context, q sqltx.Querier, orders []sale.OrderID) (map[sale.OrderID][]Refund, error) {
	out := make(map[sale.OrderID][]Refund)
	for page := range slices.Chunk(orders, pageSize) {
		found, err := queryRefunds(ctx, q, `SELECT `+refundColumns+` FROM refund WHERE order_id IN `+sqltx.In(len(page))+
			` ORDER BY created_at, refund_id`, idArgs(page)...)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			out[r.OrderID] = append(out[r.OrderID], r)
		}
	}
	return out, nil
}

// InsertRefund writes a new refund. It returns ErrExists when the id is taken, or the payment's surplus goes back already.
func InsertRefund(ctx context.Context, tx *sql.Tx, r *Refund) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO refund (`+refundColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.ID, r.OrderID[:], r.ActivityID, r.UserID, orNull(r.PaymentID), mark(r.Surplus), mark(r.Penalty), string(r.Target),
		r.Amount.String(), r.Amount.Currency, string(r.Status), r.Reason, r.Attempts, r.DueAt, orNull(r.LastError), r.CreatedAt,
		r.UpdatedAt, r.FinishedAt)
	if key, duplicate := sqltx.DuplicateKey(err); duplicate {
		return fmt.Errorf("%w: %s", ErrExists, key)
	}
	if err != nil {
		return fmt.Errorf("payment: insert a refund: %w", err)
	}
	return nil
}

// DueRefunds lists the ids of refunds that are to be sent, longest due first, as last committed.
func DueRefunds(ctx context.Context, q sqltx.Querier, now time.Time, limit int) ([]string, error) {
	return ids(ctx, q, `SELECT refund_id FROM refund WHERE status IN ('REQUESTED', 'SENT') AND due_at <= ? ORDER BY due_at, refund_id LIMIT ?`,
		now, limit)
}

// TakeUp claims a locked refund for one sending: it is SENT, and due again at an instant in case no answer comes.
func TakeUp(ctx context.Context, tx *sql.Tx, r *Refund, again, now time.Time) error {
	result, err := tx.ExecContext(ctx, `UPDATE refund SET status = 'SENT', attempts = attempts + 1, due_at = ?, updated_at = ?
 WHERE refund_id = ? AND status IN ('REQUESTED', 'SENT')`, again, now, r.ID)
	if err := changed(result, err); err != nil {
		return fmt.Errorf("take up a refund: %w", err)
	}
	r.Status, r.Attempts, r.DueAt, r.UpdatedAt = RefundSent, r.Attempts+1, again, now
	return nil
}

// NoteUnanswered keeps why a sending of a refund told nothing. The refund goes on.
func NoteUnanswered(ctx context.Context, q sqltx.Querier, id, why string, now time.Time) error {
	_, err := q.ExecContext(ctx, `UPDATE refund SET last_error = ?, updated_at = ? WHERE refund_id = ? AND status = 'SENT'`, why, now, id)
	if err != nil {
		return fmt.Errorf("payment: note an unanswered refund: %w", err)
	}
	return nil
}

// Finish moves a locked refund to SUCCEEDED or FAILED; failure says why it failed, as a code.
func Finish(ctx context.Context, tx *sql.Tx, r *Refund, to RefundStatus, failure string, now time.Time) error {
	result, err := tx.ExecContext(ctx, `UPDATE refund SET status = ?, last_error = ?, finished_at = ?, updated_at = ?
 WHERE refund_id = ? AND status IN ('REQUESTED', 'SENT')`, string(to), orNull(failure), now, now, r.ID)
	if err := changed(result, err); err != nil {
		return fmt.Errorf("finish a refund: %w", err)
	}
	at := now
	r.Status, r.LastError, r.FinishedAt, r.UpdatedAt = to, failure, &at, now
	return nil
}

func queryRefunds(ctx context.Context, q sqltx.Querier, statement string, args ...any) ([]Refund, error) {
	found, err := sqltx.Collect(ctx, q, scanRefund, statement, args...)
	if err != nil {
		return nil, fmt.Errorf("payment: read refunds: %w", err)
	}
	return found, nil
}

func oneRefund(row *sql.Row) (*Refund, error) { return sqltx.One(row, scanRefund, ErrNotFound) }

func scanRefund(row sqltx.Scanner) (Refund, error) {
	var r Refund
	var order []byte
	var paymentID, lastError sql.NullString
	var surplus, penalty sql.NullInt16
	var amount decimal.Decimal
	var currency string
	var finished sql.NullTime
	err := row.Scan(&r.ID, &order, &r.ActivityID, &r.UserID, &paymentID, &surplus, &penalty, &r.Target, &amount, &currency, &r.Status,
		&r.Reason, &r.Attempts, &r.DueAt, &lastError, &r.CreatedAt, &r.UpdatedAt, &finished)
	if err != nil {
		return Refund{}, fmt.Errorf("payment: read a refund: %w", err)
	}
	if r.OrderID, err = sale.OrderIDFromBytes(order); err != nil {
		return Refund{}, fmt.Errorf("payment: read refund %s: %w", r.ID, err)
	}
	r.PaymentID, r.LastError, r.Surplus, r.Penalty = paymentID.String, lastError.String, surplus.Valid, penalty.Valid
	r.Amount, r.FinishedAt = money.Of(amount, currency), sqltx.Instant(finished)
	return r, nil
}

func mark(set bool) any {
	if set {
		return 1
	}
	return nil
}

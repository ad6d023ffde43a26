package payment

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

const columns = `payment_id, order_id, activity_id, user_id, mode, method, amount, currency, status, disposition, new_order_id,
 provider_reference, action, failure, expires_at, created_at, updated_at, succeeded_at`

// Get reads a payment as last committed. It returns ErrNotFound for an id without a row.
func Get(ctx context.Context, q sqltx.Querier, id string) (*Payment, error) {
	return one(q.QueryRowContext(ctx, `SELECT `+columns+` FROM payment WHERE payment_id = ?`, id))
}

// GetForUpdate reads a payment and locks its row until the transaction ends. It returns ErrNotFound for an id without a row.
func GetForUpdate(ctx context.Context, tx *sql.Tx, id string) (*Payment, error) {
	return one(tx.QueryRowContext(ctx, `SELECT `+columns+` FROM payment WHERE payment_id = ? FOR UPDATE`, id))
}

// OpenOf reads and locks the PENDING payment of an order. It returns ErrNotFound when none is pending.
func OpenOf(ctx context.Context, tx *sql.Tx, order sale.OrderID) (*Payment, error) {
	return one(tx.QueryRowContext(ctx, `SELECT `+columns+` FROM payment WHERE order_id = ? AND open_mark = 1 FOR UPDATE`, order[:]))
}

// LatestOf gives of each order the payment that says most about it: the one that paid it, else the latest that was begun. Orders that a
// late payment made are found by their own ids. Orders without payment are absent.
func LatestOf(ctx context.Context, q sqltx.Querier, orders []sale.OrderID) (map[sale.OrderID]Payment, error) {
	out := make(map[sale.OrderID]Payment)
	for page := range slices.Chunk(orders, pageSize) {
		ids := idArgs(page)
		found, err := query(ctx, q, `SELECT `+columns+` FROM payment WHERE order_id IN `+sqltx.In(len(page))+` UNION ALL
 SELECT `+columns+` FROM payment WHERE disposition = 'NEW_ORDER' AND new_order_id IN `+sqltx.In(len(page))+` ORDER BY created_at, payment_id`,
			append(ids, ids...)...)
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			if p.Disposition == ToNewOrder {
				out[*p.NewOrderID] = p
			}
			if out[p.OrderID].Disposition != ToOrder {
				out[p.OrderID] = p
			}
		}
	}
	return out, nil
}

// Insert writes a new payment. It returns ErrOpen when another one of the order is PENDING and this one would be too, and ErrExists when
// the id is taken.
func Insert(ctx context.Context, tx *sql.Tx, p *Payment) error {
	action, err := actionText(p.Action)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO payment (`+columns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		p.ID, p.OrderID[:], p.ActivityID, p.UserID, string(p.Mode), string(p.Method), p.Amount.String(), p.Amount.Currency,
		string(p.Status), orNull(string(p.Disposition)), idOrNull(p.NewOrderID), orNull(p.ProviderReference), action, orNull(p.Failure),
		p.ExpiresAt, p.CreatedAt, p.UpdatedAt, p.SucceededAt)
	switch key, duplicate := sqltx.DuplicateKey(err); {
	case duplicate && key == "payment_open":
		return ErrOpen
	case duplicate:
		return fmt.Errorf("%w: %s", ErrExists, key)
	case err != nil:
		return fmt.Errorf("payment: insert: %w", err)
	}
	return nil
}

// KeepAction notes what the provider said when a charge was begun, if the payment is still PENDING; otherwise nothing needs it.
func KeepAction(ctx context.Context, q sqltx.Querier, id string, a Action, now time.Time) error {
	action, err := actionText(&a)
	if err != nil {
		return err
	}
	_, err = q.ExecContext(ctx, `UPDATE payment SET action = ?, provider_reference = ?, updated_at = ?
 WHERE payment_id = ? AND status = 'PENDING'`, action, orNull(a.Reference), now, id)
	if err != nil {
		return fmt.Errorf("payment: keep action: %w", err)
	}
	return nil
}

// Succeed moves a locked payment to SUCCEEDED, from wherever it stood: the money has moved. Its disposition stays open. reference is the id
// of the charge, as the news says; what the provider said when the charge was begun is believed before it, and one that another payment
// has is not kept.
func Succeed(ctx context.Context, tx *sql.Tx, p *Payment, reference string, now time.Time) error {
	if p.ProviderReference != "" {
		reference = p.ProviderReference
	}
	set := func() (sql.Result, error) {
		return tx.ExecContext(ctx, `UPDATE payment SET status = 'SUCCEEDED', failure = NULL, provider_reference = ?, succeeded_at = ?,
 updated_at = ? WHERE payment_id = ? AND status = ?`, orNull(reference), now, now, p.ID, string(p.Status))
	}
	result, err := set()
	if key, duplicate := sqltx.DuplicateKey(err); duplicate && key == "payment_provider" {
		reference = ""
		result, err = set()
	}
	if err := changed(result, err); err != nil {
		return fmt.Errorf("succeed: %w", err)
	}
	at := now
	p.Status, p.Failure, p.ProviderReference, p.SucceededAt, p.UpdatedAt = Succeeded, "", reference, &at, now
	return nil
}

// Fail moves a locked payment from PENDING to FAILED, for a reason in code.
func Fail(ctx context.Context, tx *sql.Tx, p *Payment, failure string, now time.Time) error {
	result, err := tx.ExecContext(ctx, `UPDATE payment SET status = 'FAILED', failure = ?, updated_at = ?
 WHERE payment_id = ? AND status = 'PENDING'`, failure, now, p.ID)
	if err := changed(result, err); err != nil {
		return fmt.Errorf("fail: %w", err)
	}
	p.Status, p.Failure, p.UpdatedAt = Failed, failure, now
	return nil
}

// GiveUp moves what is PENDING of these locked orders to EXPIRED.
func GiveUp(ctx context.Context, tx *sql.Tx, orders []sale.OrderID, now time.Time) error {
	for page := range slices.Chunk(orders, pageSize) {
		args := append([]any{now}, idArgs(page)...)
		_, err := tx.ExecContext(ctx, `UPDATE payment SET status = 'EXPIRED', updated_at = ? WHERE open_mark = 1 AND order_id IN `+
			sqltx.In(len(page)), args...)
		if err != nil {
			return fmt.Errorf("payment: give up: %w", err)
		}
	}
	return nil
}

// Expire moves those of these payments to EXPIRED that are still PENDING at their end, and counts them.
func Expire(ctx context.Context, q sqltx.Querier, ids []string, now time.Time) (int, error) {
	args := append([]any{now, now}, sqltx.Args(ids)...)
	result, err := q.ExecContext(ctx, `UPDATE payment SET status = 'EXPIRED', updated_at = ? WHERE status = 'PENDING' AND expires_at <= ?
 AND payment_id IN `+sqltx.In(len(ids)), args...)
	if err != nil {
		return 0, fmt.Errorf("payment: expire: %w", err)
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// Postpone gives what is PENDING of a locked order a later end.
func Postpone(ctx context.Context, tx *sql.Tx, order sale.OrderID, until, now time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE payment SET expires_at = ?, updated_at = ? WHERE order_id = ? AND open_mark = 1 AND expires_at < ?`,
		until, now, order[:], until)
	if err != nil {
		return fmt.Errorf("payment: postpone: %w", err)
	}
	return nil
}

// Decide sets the disposition of a locked success that has none. newOrder is the order that a late payment made, or its tombstone.
func Decide(ctx context.Context, tx *sql.Tx, p *Payment, to Disposition, newOrder *sale.OrderID, now time.Time) error {
	result, err := tx.ExecContext(ctx, `UPDATE payment SET disposition = ?, new_order_id = ?, updated_at = ?
 WHERE payment_id = ? AND status = 'SUCCEEDED' AND disposition IS NULL`, string(to), idOrNull(newOrder), now, p.ID)
	if err := changed(result, err); err != nil {
		return fmt.Errorf("decide: %w", err)
	}
	p.Disposition, p.NewOrderID, p.UpdatedAt = to, newOrder, now
	return nil
}

// Undecided lists the ids of successes without disposition, after an id (empty: from the start), as last committed.
func Undecided(ctx context.Context, q sqltx.Querier, after string, limit int) ([]string, error) {
	return ids(ctx, q, `SELECT payment_id FROM payment WHERE disposition IS NULL AND status = 'SUCCEEDED' AND payment_id > ?
 ORDER BY payment_id LIMIT ?`, after, limit)
}

// Overdue lists the ids of PENDING payments that are to be given up, longest overdue first, as last committed.
func Overdue(ctx context.Context, q sqltx.Querier, now time.Time, limit int) ([]string, error) {
	return ids(ctx, q, `SELECT payment_id FROM payment WHERE status = 'PENDING' AND expires_at <= ? ORDER BY expires_at, payment_id LIMIT ?`,
		now, limit)
}

func ids(ctx context.Context, q sqltx.Querier, statement string, args ...any) ([]string, error) {
	found, err := sqltx.Collect(ctx, q, sqltx.Column[string], statement, args...)
	if err != nil {
		return nil, fmt.Errorf("payment: read ids: %w", err)
	}
	return found, nil
}

func query(ctx context.Context, q sqltx.Querier, statement string, args ...any) ([]Payment, error) {
	found, err := sqltx.Collect(ctx, q, scan, statement, args...)
	if err != nil {
		return nil, fmt.Errorf("payment: read: %w", err)
	}
	return found, nil
}

func one(row *sql.Row) (*Payment, error) { return sqltx.One(row, scan, ErrNotFound) }

func scan(row sqltx.Scanner) (Payment, error) {
	var p Payment
	var order, newOrder, action []byte
	var disposition, reference, failure sql.NullString
	var amount decimal.Decimal
	var currency string
	var expires, succeeded sql.NullTime
	err := row.Scan(&p.ID, &order, &p.ActivityID, &p.UserID, &p.Mode, &p.Method, &amount, &currency, &p.Status, &disposition, &newOrder,
		&reference, &action, &failure, &expires, &p.CreatedAt, &p.UpdatedAt, &succeeded)
	if err != nil {
		return Payment{}, fmt.Errorf("payment: read: %w", err)
	}
	if p.OrderID, err = sale.OrderIDFromBytes(order); err != nil {
		return Payment{}, fmt.Errorf("payment: read %s: %w", p.ID, err)
	}
	if id, err := sale.OrderIDFromBytes(newOrder); err == nil {
		p.NewOrderID = &id
	}
	if action != nil {
		p.Action = &Action{Reference: reference.String}
		if err := json.Unmarshal(action, p.Action); err != nil {
			return Payment{}, fmt.Errorf("payment: read %s: %w", p.ID, err)
		}
	}
	p.Amount, p.Disposition = money.Of(amount, currency), Disposition(disposition.String)
	p.ProviderReference, p.Failure = reference.String, failure.String
	p.ExpiresAt, p.SucceededAt = sqltx.Instant(expires), sqltx.Instant(succeeded)
	return p, nil
}

package waitlist

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// pageSize is how many ids stand in one statement: each takes up to 45 bytes in it.
const pageSize = 200

// usersPage is how many user ids do: each takes up to 260 bytes.
const usersPage = 50

const columns = `entry_id, activity_id, ticket_type, user_id, quantity, status, reason, attempt, order_id, accept_by, policy_hash,
 passed_since, saving_since, joined_at, updated_at`

// Insert writes a WAITING entry, unless its user has an active one in the activity: then inserted is false and nothing is changed.
func Insert(ctx context.Context, tx *sql.Tx, e *Entry) (inserted bool, err error) {
	var policy any
	if !e.PolicyHash.IsZero() {
		policy = e.PolicyHash[:]
	}
	// A clash changes nothing but locks the row that is there, and unlike INSERT IGNORE it does not silence a CHECK.
	result, err := tx.ExecContext(ctx, `INSERT INTO waitlist_entry (entry_id, activity_id, ticket_type, user_id, quantity, status, policy_hash,
 joined_at, updated_at) VALUES (?, ?, ?, ?, ?, 'WAITING', ?, ?, ?) ON DUPLICATE KEY UPDATE entry_id = entry_id`,
		e.ID[:], e.ActivityID, e.TicketType, e.UserID, e.Quantity, policy, e.JoinedAt, e.JoinedAt)
	if err != nil {
		return false, fmt.Errorf("waitlist: insert: %w", err)
	}
	n, err := changed(result)
	return n == 1, err
}

// Leave makes a WAITING entry LEFT. One that is not WAITING any more stays what it is.
func Leave(ctx context.Context, tx *sql.Tx, id EntryID, now time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE waitlist_entry SET status = 'LEFT', updated_at = ? WHERE entry_id = ? AND status = 'WAITING'`, now, id[:])
	if err != nil {
		return fmt.Errorf("waitlist: leave: %w", err)
	}
	return nil
}

// Offer makes an entry OFFERED that is WAITING at this attempt. done is false when it is not, and then nothing is changed.
func Offer(ctx context.Context, tx *sql.Tx, id EntryID, attempt int, order sale.OrderID, acceptBy, now time.Time) (done bool, err error) {
	result, err := tx.ExecContext(ctx, `UPDATE waitlist_entry SET status = 'OFFERED', order_id = ?, accept_by = ?, updated_at = ?
 WHERE entry_id = ? AND status = 'WAITING' AND attempt = ?`, order[:], acceptBy, now, id[:], attempt)
	if err != nil {
		return false, fmt.Errorf("waitlist: offer: %w", err)
	}
	n, err := changed(result)
	return n == 1, err
}

// TryAgain raises the attempt of an entry that is WAITING at this one, because its order id is dead. done is false when it is not.
func TryAgain(ctx context.Context, tx *sql.Tx, id EntryID, attempt int, now time.Time) (done bool, err error) {
	result, err := tx.ExecContext(ctx, `UPDATE waitlist_entry SET attempt = attempt + 1, updated_at = ?
 WHERE entry_id = ? AND status = 'WAITING' AND attempt = ?`, now, id[:], attempt)
	if err != nil {
		return false, fmt.Errorf("waitlist: next attempt: %w", err)
	}
	n, err := changed(result)
	return n == 1, err
}

// Accept makes the entries ACCEPTED that these orders were offered to. Orders that were offered to nobody, or not to an entry that is
// OFFERED, change nothing.
func Accept(ctx context.Context, tx *sql.Tx, ids []sale.OrderID, now time.Time) error {
	return endOffers(ctx, tx, ids, `UPDATE waitlist_entry SET status = 'ACCEPTED', updated_at = ? WHERE status = 'OFFERED' AND order_id IN `, now)
}

// Lapse makes the entries LAPSED that these orders were offered to, as Accept makes them ACCEPTED.
func Lapse(ctx context.Context, tx *sql.Tx, ids []sale.OrderID, now time.Time) error {
	return endOffers(ctx, tx, ids, `UPDATE waitlist_entry SET status = 'LAPSED', updated_at = ? WHERE status = 'OFFERED' AND order_id IN `, now)
}

func endOffers(ctx context.Context, tx *sql.Tx, ids []sale.OrderID, update string, now time.Time) error {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b sale.OrderID) int { return bytes.Compare(a[:], b[:]) })
	for page := range slices.Chunk(ids, pageSize) {
		args := []any{now}
		for i := range page {
			args = append(args, page[i][:])
		}
		if _, err := tx.ExecContext(ctx, update+sqltx.In(len(page)), args...); err != nil {
			return fmt.Errorf("waitlist: end offers: %w", err)
		}
	}
	return nil
}

// Close makes those of these entries CLOSED that are WAITING, and counts them.
func Close(ctx context.Context, tx *sql.Tx, ids []EntryID, reason Reason, now time.Time) (closed int, err error) {
	for page := range slices.Chunk(ids, pageSize) {
		args := []any{string(reason), now}
		for i := range page {
			args = append(args, page[i][:])
		}
		result, err := tx.ExecContext(ctx, `UPDATE waitlist_entry SET status = 'CLOSED', reason = ?, updated_at = ? WHERE status = 'WAITING'
 AND entry_id IN `+sqltx.In(len(page)), args...)
		if err != nil {
			return closed, fmt.Errorf("waitlist: close: %w", err)
		}
		n, err := changed(result)
		if err != nil {
			return closed, err
		}
		closed += int(n)
	}
	return closed, nil
}

// PassOver notes since when these entries are passed over, where that is not noted yet.
func PassOver(ctx context.Context, tx *sql.Tx, ids []EntryID, now time.Time) error {
	for page := range slices.Chunk(ids, pageSize) {
		args := []any{now, now}
		for i := range page {
			args = append(args, page[i][:])
		}
		_, err := tx.ExecContext(ctx, `UPDATE waitlist_entry SET passed_since = ?, updated_at = ? WHERE status = 'WAITING' AND passed_since IS NULL
 AND entry_id IN `+sqltx.In(len(page)), args...)
		if err != nil {
			return fmt.Errorf("waitlist: pass over: %w", err)
		}
	}
	return nil
}

// Save begins saving units up for an entry. done is false when it is not WAITING, or has been saved up for before.
func Save(ctx context.Context, tx *sql.Tx, id EntryID, now time.Time) (done bool, err error) {
	result, err := tx.ExecContext(ctx, `UPDATE waitlist_entry SET saving_since = ?, updated_at = ? WHERE entry_id = ? AND status = 'WAITING'
 AND saving_since IS NULL`, now, now, id[:])
	if err != nil {
		return false, fmt.Errorf("waitlist: save up: %w", err)
	}
	n, err := changed(result)
	return n == 1, err
}

func changed(result sql.Result) (int64, error) {
	n, err := result.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("waitlist: counting rows: %w", err)
	}
	return n, nil
}

func one(row *sql.Row) (*Entry, error) { return sqltx.One(row, scan, ErrNotFound) }

func scan(row sqltx.Scanner) (Entry, error) {
	var e Entry
	var id, orderID, policy []byte
	var reason sql.NullString
	var acceptBy, passed, saving sql.NullTime
	err := row.Scan(&id, &e.ActivityID, &e.TicketType, &e.UserID, &e.Quantity, &e.Status, &reason, &e.Attempt, &orderID, &acceptBy, &policy,
		&passed, &saving, &e.JoinedAt, &e.UpdatedAt)
	if err != nil {
		return Entry{}, fmt.Errorf("waitlist: read: %w", err)
	}
	copy(e.ID[:], id)
	copy(e.OrderID[:], orderID)
	copy(e.PolicyHash[:], policy)
	e.Reason = Reason(reason.String)
	e.AcceptBy, e.PassedSince, e.SavingSince = sqltx.Instant(acceptBy), sqltx.Instant(passed), sqltx.Instant(saving)
	return e, nil
}

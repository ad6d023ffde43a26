package reconcile

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// DeadLetter is a message that was given up.
type DeadLetter struct {
	Queue        string        // that gave it up or took it in; 1..128 bytes
	MessageID    string        // its id there; 1..128 bytes
	OrderID      *sale.OrderID // that it spoke of; nil when it could not be read
	ActivityID   string        // that it spoke of; "" when it could not be read
	Reason       string        // a code, at most 64 letters
	Detail       string        // a sentence, at most 500 characters
	Body         []byte        // as it came
	ReceiveCount int           // how often it had been delivered
}

const insertDeadLetter = `INSERT INTO dead_letter (queue, message_id, order_id, activity_id, reason, detail, body, receive_count, created_at)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE message_id = message_id`

// maxDetail is what the column takes, in characters.
const maxDetail = 500

// RecordDeadLetter keeps a message that was given up, once, however often it is called with it. It returns the errors of the driver.
func RecordDeadLetter(ctx context.Context, db *sqltx.DB, l DeadLetter) error {
	now, err := db.Now(ctx, db)
	if err != nil {
		return err
	}
	var orderID, activityID any
	if l.OrderID != nil {
		orderID, activityID = l.OrderID[:], l.ActivityID
	}
	if text := []rune(l.Detail); len(text) > maxDetail {
		l.Detail = string(text[:maxDetail])
	}
	if l.Body == nil {
		l.Body = []byte{}
	}
	_, err = db.ExecContext(ctx, insertDeadLetter, l.Queue, l.MessageID, orderID, activityID, l.Reason, l.Detail, l.Body, l.ReceiveCount, now)
	if err != nil {
		return fmt.Errorf("reconcile: record a dead letter: %w", err)
	}
	return nil
}

// KeptDeadLetter is a dead letter as it stands in the database.
type KeptDeadLetter struct {
	ID int64 // rises with every record
	DeadLetter
	At         time.Time
	RedrivenAt *time.Time // when an operator sent it again
}

// DeadLetterFilter says which records a list holds; an empty member filters nothing.
type DeadLetterFilter struct {
	ActivityID string
	OrderID    *sale.OrderID
	Redriven   *bool // whether an operator has sent it again
}

const selectDeadLetters = `SELECT dead_letter_id, queue, message_id, order_id, activity_id, reason, detail, body, receive_count, created_at,
 redriven_at FROM dead_letter`

// ListDeadLetters reads records, newest first, that are older than the one with id before. It returns the errors of the driver.
func ListDeadLetters(ctx context.Context, q sqltx.Querier, f DeadLetterFilter, before int64, limit int) ([]KeptDeadLetter, error) {
	where, args := []string{"dead_letter_id < ?"}, []any{before}
	if f.ActivityID != "" {
		where, args = append(where, "activity_id = ?"), append(args, f.ActivityID)
	}
	if f.OrderID != nil {
		where, args = append(where, "order_id = ?"), append(args, f.OrderID[:])
	}
	if f.Redriven != nil {
		is := map[bool]string{true: "redriven_at IS NOT NULL", false: "redriven_at IS NULL"}[*f.Redriven]
		where = append(where, is)
	}
	return deadLetters(ctx, q, selectDeadLetters+` WHERE `+strings.Join(where, " AND ")+` ORDER BY dead_letter_id DESC LIMIT ?`,
		append(args, limit)...)
}

func deadLetters(ctx context.Context, q sqltx.Querier, query string, args ...any) ([]KeptDeadLetter, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("reconcile: list dead letters: %w", err)
	}
	defer rows.Close()
	var out []KeptDeadLetter
	for rows.Next() {
		var l KeptDeadLetter
		var orderID []byte
		var activityID sql.NullString
		var redriven sql.NullTime
		err := rows.Scan(&l.ID, &l.Queue, &l.MessageID, &orderID, &activityID, &l.Reason, &l.Detail, &l.Body, &l.ReceiveCount, &l.At,
			&redriven)
		if err != nil {
			return nil, fmt.Errorf("reconcile: list dead letters: %w", err)
		}
		if id, err := sale.OrderIDFromBytes(orderID); err == nil {
			l.OrderID = &id
		}
		l.ActivityID = activityID.String
		if redriven.Valid {
			l.RedrivenAt = &redriven.Time
		}
		out = append(out, l)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reconcile: list dead letters: %w", err)
	}
	return out, nil
}

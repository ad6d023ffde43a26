package reconcile

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// KeptDeadLetter is a dead letter as it stands in the database.
type KeptDeadLetter struct {
	ID int64 // rises with every record
	DeadLetter
	At         time.Time
	RedrivenAt *time.Time // when an operator sent it again
}

// Alert is something that a person should look at.
type Alert struct {
	ID             int64
	Kind           string          // what is wrong, as a code
	Subject        string          // which order, activity or message
	ActivityID     string          // "" when it concerns none
	Detail         json.RawMessage // evidence
	Occurrences    int
	FirstAt        time.Time
	LastAt         time.Time
	AcknowledgedAt *time.Time
	AcknowledgedBy string
}

const (
	selectDeadLetters = `SELECT dead_letter_id, queue, message_id, order_id, activity_id, reason, detail, body, receive_count, created_at,
 redriven_at FROM dead_letter WHERE dead_letter_id < ? ORDER BY dead_letter_id DESC LIMIT ?`
	selectAlerts = `SELECT alert_id, kind, subject, activity_id, detail, occurrences, first_at, last_at, acknowledged_at, acknowledged_by
 FROM alert WHERE alert_id < ? ORDER BY alert_id DESC LIMIT ?`
)

// ListDeadLetters reads records, newest first, that are older than the one with id before. It returns the errors of the driver.
func ListDeadLetters(ctx context.Context, q sqltx.Querier, before int64, limit int) ([]KeptDeadLetter, error) {
	rows, err := q.QueryContext(ctx, selectDeadLetters, before, limit)
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

// ListAlerts reads alerts, the newest kind and subject first, that are older than the one with id before. It returns the errors of
// the driver.
func ListAlerts(ctx context.Context, q sqltx.Querier, before int64, limit int) ([]Alert, error) {
	rows, err := q.QueryContext(ctx, selectAlerts, before, limit)
	if err != nil {
		return nil, fmt.Errorf("reconcile: list alerts: %w", err)
	}
	defer rows.Close()
	var out []Alert
	for rows.Next() {
		var a Alert
		var activityID, by sql.NullString
		var detail []byte
		var acknowledged sql.NullTime
		err := rows.Scan(&a.ID, &a.Kind, &a.Subject, &activityID, &detail, &a.Occurrences, &a.FirstAt, &a.LastAt, &acknowledged, &by)
		if err != nil {
			return nil, fmt.Errorf("reconcile: list alerts: %w", err)
		}
		a.ActivityID, a.Detail, a.AcknowledgedBy = activityID.String, json.RawMessage(detail), by.String
		if acknowledged.Valid {
			a.AcknowledgedAt = &acknowledged.Time
		}
		out = append(out, a)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reconcile: list alerts: %w", err)
	}
	return out, nil
}

package reconcile

import (
	"context"
	"fmt"

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

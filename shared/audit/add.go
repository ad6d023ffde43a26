package audit

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// Entry is one act of an operator.
type Entry struct {
	Operator  string          // who: the verified claim, 1..128 bytes
	Action    string          // what: "activity.publish", at most 64 bytes of ASCII
	Subject   string          // to what: an activity or order id, at most 191 bytes
	Detail    json.RawMessage // what changed; nil when the action says it all; no secrets, no tokens
	RequestID string          // the request that caused it, at most 128 bytes
	At        time.Time       // when, by the clock of the database
}

const insertEntry = `INSERT INTO audit_log (operator, action, subject, detail, request_id, at) VALUES (?, ?, ?, ?, ?, ?)`

// Add writes the entry in the transaction tx. It returns the errors of the driver; the database refuses an entry without operator,
// action or subject, and a detail that is no JSON.
func Add(ctx context.Context, tx *sql.Tx, e Entry) error {
	var detail any
	if e.Detail != nil {
		detail = string(e.Detail)
	}
	if _, err := tx.ExecContext(ctx, insertEntry, e.Operator, e.Action, e.Subject, detail, e.RequestID, e.At); err != nil {
		return fmt.Errorf("audit: %s: %w", e.Action, err)
	}
	return nil
}

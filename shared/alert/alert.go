package alert

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"holdfast/shared/sqltx"
)

// Kind is what is wrong, as a code.
type Kind string

// The kinds that concern an order; each names it as its subject.
const (
	LiveButDead         Kind = "LIVE_ORDER_DEAD_IN_REDIS" // one life per id is broken
	LiveButOtherwise    Kind = "LIVE_ORDER_CONTRADICTED"  // the log has another type, quantity, or an earlier move
	PendingWithoutEntry Kind = "PENDING_WITHOUT_ENTRY"    // something is pending that the log does not know
	PendingUnfit        Kind = "PENDING_UNFIT"            // a reservation that can never become an order
	CompensationStuck   Kind = "COMPENSATION_STUCK"       // repair has failed again and again, and goes on trying
	RefundFailed        Kind = "REFUND_FAILED"            // names the refund: the provider will not give it back, and its money waits
)

// Alert is what a person should look at.
type Alert struct {
	Kind       Kind
	Subject    string         // which order, activity or message; at most 191 bytes
	ActivityID string         // "" when it concerns none
	Evidence   map[string]any // what shows it; no user ids, no secrets
}

const raise = `INSERT INTO alert (kind, subject, activity_id, detail, first_at, last_at) VALUES (?, ?, ?, ?, ?, ?)
 ON DUPLICATE KEY UPDATE occurrences = occurrences + 1, detail = ?, last_at = GREATEST(last_at, ?)`

// Raise writes an alert, or counts one more occurrence of the one that is there and keeps the newer evidence. It returns the errors of
// the driver.
func Raise(ctx context.Context, q sqltx.Querier, a Alert, now time.Time) error {
	if a.Evidence == nil {
		a.Evidence = map[string]any{}
	}
	detail, err := json.Marshal(a.Evidence)
	if err != nil {
		return fmt.Errorf("alert: %s: %w", a.Kind, err)
	}
	var activityID any
	if a.ActivityID != "" {
		activityID = a.ActivityID
	}
	_, err = q.ExecContext(ctx, raise, string(a.Kind), a.Subject, activityID, string(detail), now, now, string(detail), now)
	if err != nil {
		return fmt.Errorf("alert: %s: %w", a.Kind, err)
	}
	return nil
}

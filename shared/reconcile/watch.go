package reconcile

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"holdfast/shared/sqltx"
)

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

const selectAlerts = `SELECT alert_id, kind, subject, activity_id, detail, occurrences, first_at, last_at, acknowledged_at, acknowledged_by
 FROM alert WHERE alert_id < ? ORDER BY alert_id DESC LIMIT ?`

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

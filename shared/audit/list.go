package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"holdfast/shared/sqltx"
)

// Record is a row of the log.
type Record struct {
	ID int64 // rises with every entry
	Entry
}

// Filter says which records a list holds; an empty member filters nothing.
type Filter struct {
	Subject  string
	Operator string
}

// List reads records, newest first, that are older than the one with id before. It returns the errors of
// the driver.
func List(ctx context.Context, q sqltx.Querier, f Filter, before int64, limit int) ([]Record, error) {
	where, args := []string{"audit_id < ?"}, []any{before}
	add := func(condition string, arg any) { where, args = append(where, condition), append(args, arg) }
	if f.Subject != "" {
		add("subject = ?", f.Subject)
	}
	if f.Operator != "" {
		add("operator = ?", f.Operator)
	}
	statement := `SELECT audit_id, operator, action, subject, detail, request_id, at FROM audit_log WHERE ` +
		strings.Join(where, " AND ") + ` ORDER BY audit_id DESC LIMIT ?`
	rows, err := q.QueryContext(ctx, statement, append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("audit: list: %w", err)
	}
	defer rows.Close()
	var out []Record
	for rows.Next() {
		var r Record
		var detail []byte
		var at time.Time
		if err := rows.Scan(&r.ID, &r.Operator, &r.Action, &r.Subject, &detail, &r.RequestID, &at); err != nil {
			return nil, fmt.Errorf("audit: list: %w", err)
		}
		r.Detail, r.At = json.RawMessage(detail), at
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("audit: list: %w", err)
	}
	return out, nil
}

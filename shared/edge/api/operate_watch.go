package api

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strconv"

	"holdfast/shared/audit"
	"holdfast/shared/reconcile"
)

// alertView is what a person should look at.
type alertView struct {
	AlertID        string          `json:"alertId"`
	Kind           string          `json:"kind"`
	Subject        string          `json:"subject"`
	ActivityID     string          `json:"activityId,omitempty"`
	Detail         json.RawMessage `json:"detail"`
	Occurrences    int             `json:"occurrences"`
	FirstAt        string          `json:"firstAt"`
	LastAt         string          `json:"lastAt"`
	AcknowledgedAt string          `json:"acknowledgedAt,omitempty"`
	AcknowledgedBy string          `json:"acknowledgedBy,omitempty"`
}

// auditView is one act of an operator.
type auditView struct {
	AuditID   string          `json:"auditId"`
	Operator  string          `json:"operator"`
	Action    string          `json:"action"`
	Subject   string          `json:"subject"`
	Detail    json.RawMessage `json:"detail,omitempty"`
	RequestID string          `json:"requestId"`
	At        string          `json:"at"`
}

// numbered is a page of rows that go by a rising number, newest first. It reads one row more than fits, which tells whether there
// is another page.
func numbered[T, V any](q *Query, read func(before int64, limit int) ([]T, error), number func(T) int64, view func(T) V) (*Response, error) {
	limit, before := q.Limit(), q.before()
	if err := q.Finish(); err != nil {
		return nil, err
	}
	rows, err := read(before, limit+1)
	if err != nil {
		return nil, err
	}
	answer := page[V]{Items: []V{}}
	for i, row := range rows {
		if i == limit {
			answer.NextCursor = strconv.FormatInt(number(rows[i-1]), 36)
			break
		}
		answer.Items = append(answer.Items, view(row))
	}
	return JSON(http.StatusOK, answer)
}

// before reads the cursor of a numbered list: the number that the page before ended with, or one above all.
func (q *Query) before() int64 {
	text := q.Text("cursor")
	if text == "" {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(text, 36, 64)
	if err != nil || n < 1 || strconv.FormatInt(n, 36) != text {
		q.Break("cursor", "BAD_FORMAT", "nextCursor of the page before, unchanged")
	}
	return n
}

// listAlerts answers GET /ops/v1/alerts.
func (o *operate) listAlerts(ctx context.Context, r *Request, _ caller) (*Response, error) {
	return numbered(r.Query(),
		func(before int64, limit int) ([]reconcile.Alert, error) {
			return reconcile.ListAlerts(ctx, o.DB, before, limit)
		},
		func(a reconcile.Alert) int64 { return a.ID },
		func(a reconcile.Alert) alertView {
			return alertView{AlertID: strconv.FormatInt(a.ID, 10), Kind: a.Kind, Subject: a.Subject, ActivityID: a.ActivityID,
				Detail: a.Detail, Occurrences: a.Occurrences, FirstAt: stamp(a.FirstAt), LastAt: stamp(a.LastAt),
				AcknowledgedAt: optStamp(a.AcknowledgedAt), AcknowledgedBy: a.AcknowledgedBy}
		})
}

// readAuditLog answers GET /ops/v1/audit-log.
func (o *operate) readAuditLog(ctx context.Context, r *Request, _ caller) (*Response, error) {
	q := r.Query()
	filter := audit.Filter{Subject: q.Text("subject"), Operator: q.Text("operator")}
	return numbered(q,
		func(before int64, limit int) ([]audit.Record, error) {
			return audit.List(ctx, o.DB, filter, before, limit)
		},
		func(a audit.Record) int64 { return a.ID },
		func(a audit.Record) auditView {
			return auditView{AuditID: strconv.FormatInt(a.ID, 10), Operator: a.Operator, Action: a.Action, Subject: a.Subject,
				Detail: a.Detail, RequestID: a.RequestID, At: stamp(a.At)}
		})
}

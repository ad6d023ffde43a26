package audit_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"holdfast/shared/audit"
	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

func count(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM audit_log`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestEntryStandsOrFallsWithItsTransaction(t *testing.T) {
	t.Parallel()
	db := sqltx.New(testenv.MySQL(t), nil)
	at := time.Date(2026, 7, 1, 12, 0, 0, 123e6, time.UTC)
	entry := audit.Entry{Operator: "Op1", Action: "activity.publish", Subject: "A", Detail: json.RawMessage(`{"from":"DRAFT"}`),
		RequestID: "r1", At: at}
	refusal := errors.New("refused")
	err := db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error { return errors.Join(audit.Add(ctx, tx, entry), refusal) })
	if !errors.Is(err, refusal) || count(t, db.DB) != 0 {
		t.Fatalf("an entry outlived its transaction: %v", err)
	}
	if err := db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error { return audit.Add(ctx, tx, entry) }); err != nil {
		t.Fatal(err)
	}
	var got audit.Entry
	var detail string
	err = db.QueryRowContext(t.Context(), `SELECT operator, action, subject, detail, request_id, at FROM audit_log`).
		Scan(&got.Operator, &got.Action, &got.Subject, &detail, &got.RequestID, &got.At)
	if err != nil || got.Operator != "Op1" || got.Action != "activity.publish" || got.Subject != "A" || detail != `{"from":"DRAFT"}` ||
		got.RequestID != "r1" || !got.At.Equal(at) {
		t.Errorf("got %+v with %s: %v", got, detail, err)
	}
}

func TestEntryOfNobodyIsRefused(t *testing.T) {
	t.Parallel()
	db := sqltx.New(testenv.MySQL(t), nil)
	err := db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return audit.Add(ctx, tx, audit.Entry{Action: "activity.publish", Subject: "A", RequestID: "r", At: time.Now()})
	})
	if !sqltx.CheckViolated(err) || count(t, db.DB) != 0 {
		t.Errorf("an entry without an operator: %v", err)
	}
}

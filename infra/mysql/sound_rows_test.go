package mysql_test

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/shared/testenv"
)

// row is one row to insert: column -> value.
type row map[string]any

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func sixteen(text string) []byte { return []byte((text + strings.Repeat(".", 16))[:16]) }

var hash = []byte(strings.Repeat("h", 32))

// soundRows holds for each table a row that every rule accepts.
var soundRows = map[string]row{
	"activity": {"activity_id": "A", "number": 1, "salt": hash, "kind": "TICKET", "mode": "LIVE", "title": "T", "status": "PUBLISHED",
		"opens_at": noon, "closes_at": noon.Add(time.Hour), "per_user_limit": 1, "pay_window_s": 60, "currency": "CNY",
		"created_hash": hash, "created_at": noon, "updated_at": noon},
	"ticket_type": {"activity_id": "A", "ticket_type": "T", "position": 0, "title": "T", "price": "1.00", "capacity": 10, "buckets": 2},
	"stock_bucket": {"activity_id": "A", "ticket_type": "T", "bucket": 0, "capacity": 5, "adjusted": 0, "frozen": 0, "sold": 0,
		"updated_at": noon},
	"trade_order": {"id": sixteen("1"), "activity_id": "A", "ticket_type": "T", "user_id": "U", "quantity": 2, "allocations": "0:2",
		"unit_price": "1.50", "amount": "3.00", "currency": "CNY", "mode": "LIVE", "source": "SALE", "status": "UNPAID", "seq": 1,
		"reserved_at": noon, "created_at": noon, "updated_at": noon},
	"order_router":   {"order_id": sixteen("1"), "user_id": "U", "activity_id": "A", "created_at": noon},
	"purchase_limit": {"activity_id": "A", "user_id": "U", "quantity": 1, "max_quantity": 2, "updated_at": noon},
	"stock_log": {"order_id": sixteen("1"), "direction": -1, "action": "FREEZE", "activity_id": "A", "ticket_type": "T", "user_id": "U",
		"allocations": "0:2", "change_quantity": -2, "business_type": 1, "created_at": noon, "updated_at": noon},
	"stock_adjustment": {"activity_id": "A", "adjustment_id": "J", "ticket_type": "T", "delta": 2, "reason": "R", "status": "PENDING",
		"operator": "O", "created_at": noon, "updated_at": noon},
	"compensation_fail": {"order_id": sixteen("1"), "kind": "RELEASE", "activity_id": "A", "status": "OPEN", "due_at": noon,
		"last_error": "E", "created_at": noon, "updated_at": noon},
	"idempotency": {"user_id": "U", "route": "POST /x", "idempotency_key": "K", "body_hash": hash, "created_at": noon,
		"expires_at": noon.Add(time.Hour)},
	"alert":       {"kind": "K", "subject": "S", "detail": "{}", "first_at": noon, "last_at": noon},
	"dead_letter": {"queue": "Q", "message_id": "M", "reason": "R", "body": "B", "created_at": noon},
	"job":         {"job_id": "J", "kind": "LOAD", "activity_id": "A", "status": "QUEUED", "created_at": noon, "updated_at": noon},
	"lease":       {"name": "N", "holder": "H", "acquired_at": noon, "expires_at": noon.Add(time.Minute)},
	"reconcile_run": {"run_id": "R", "mode": "REPAIR", "cause": "SCHEDULE", "activity_id": "A", "status": "QUEUED", "created_at": noon,
		"updated_at": noon},
	"difference": {"activity_id": "A", "kind": "K", "subject": "S", "status": "OPEN", "digest": hash, "evidence": "{}", "proposed_action": "NONE",
		"found_at": noon, "seen_at": noon},
	"repair":          {"activity_id": "A", "order_id": sixteen("1"), "layer": 2, "kind": "ACK", "at": noon},
	"certificate":     {"activity_id": "A", "verdict": "PASS", "seq": 1, "body": "{}", "at": noon},
	"last_consistent": {"activity_id": "A", "epoch": 1, "run": "R", "seq": 1, "orders": 0, "figures": hash, "at": noon},
	"audit_log":       {"operator": "O", "action": "x.y", "subject": "S", "request_id": "R", "at": noon},

	"wallet": {"user_id": "U", "currency": "CNY", "available": "1.00", "frozen": "0.00", "version": 1, "created_at": noon, "updated_at": noon},
	"wallet_log": {"type": "TOP_UP", "reference": "R", "user_id": "U", "currency": "CNY", "amount": "1.00", "from_account": "OUTSIDE",
		"to_account": "AVAIL", "version": 1, "available_after": "1.00", "frozen_after": "0.00", "at": noon},
	"account":       {"account": "HOUSE", "currency": "CNY", "balance": "-1.00", "updated_at": noon},
	"account_inbox": {"account": "HOUSE", "currency": "CNY", "amount": "-1.00"},
	"deposit_policy": {"activity_id": "A", "version": 1, "ratio": "0.3", "penalty_ratio": "0.5", "confirm_deadline": noon.Add(time.Hour),
		"remind_at": noon, "cancellation": "PENALTY", "club_id": "C", "offer_lead_s": 60, "hash": hash, "created_at": noon},
	"deposit_record": {"order_id": sixteen("1"), "activity_id": "A", "user_id": "U", "currency": "CNY", "mode": "LIVE", "status": "FROZEN",
		"deposit": "3.00", "penalty_due": "1.00", "confirm_deadline": noon.Add(time.Hour), "remind_at": noon, "penalty_ratio": "0.5",
		"cancellation": "FREE", "club_id": "C", "policy_hash": hash, "created_at": noon, "updated_at": noon},
	"payment": {"payment_id": "P", "order_id": sixteen("1"), "activity_id": "A", "user_id": "U", "mode": "LIVE", "method": "PROVIDER",
		"amount": "3.00", "currency": "CNY", "status": "PENDING", "created_at": noon, "updated_at": noon},
	"refund": {"refund_id": "R", "order_id": sixteen("1"), "activity_id": "A", "user_id": "U", "payment_id": "P", "surplus": 1, "target": "PROVIDER",
		"amount": "3.00", "currency": "CNY", "status": "REQUESTED", "reason": "R", "due_at": noon, "created_at": noon, "updated_at": noon},
	"waitlist_entry": {"entry_id": sixteen("1"), "activity_id": "A", "ticket_type": "T", "user_id": "U", "quantity": 1, "status": "WAITING",
		"joined_at": noon, "updated_at": noon},
	"notice": {"subject": "S", "kind": "K", "user_id": "U", "activity_id": "A", "mode": "LIVE", "data": "{}", "status": "WAITING",
		"due_at": noon, "created_at": noon, "updated_at": noon},
}

func (r row) with(change row) row {
	out := maps.Clone(r)
	maps.Copy(out, change)
	return out
}

func (r row) insert(ctx context.Context, q interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, table string) error {
	columns := slices.Sorted(maps.Keys(r))
	args := make([]any, len(columns))
	for i, c := range columns {
		args[i] = r[c]
	}
	_, err := q.ExecContext(ctx, "INSERT INTO "+table+" ("+strings.Join(columns, ", ")+") VALUES (?"+strings.Repeat(", ?", len(columns)-1)+")", args...)
	return err
}

// unlinked is a connection on a migrated database that does not look at foreign keys, in a transaction that is rolled back.
func unlinked(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := conn.ExecContext(t.Context(), "SET foreign_key_checks = 0"); err != nil {
		t.Fatal(err)
	}
	return conn
}

// textColumn reads one column of text.
func textColumn(t *testing.T, q interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, query string, args ...any) (out []string) {
	t.Helper()
	rows, err := q.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

const allTables = `SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name <> 'goose_db_version'`

func TestSoundRowOfEveryTableIsAccepted(t *testing.T) {
	t.Parallel()
	db := testenv.MySQL(t)
	tables := textColumn(t, db, allTables)
	if len(tables) != len(soundRows) {
		t.Errorf("%d tables and %d sound rows", len(tables), len(soundRows))
	}
	for _, table := range []string{"activity", "ticket_type", "stock_bucket"} { // Parents first.
		if err := soundRows[table].insert(t.Context(), db, table); err != nil {
			t.Errorf("%s: %v", table, err)
		}
	}
	for _, table := range tables {
		if slices.Contains([]string{"activity", "ticket_type", "stock_bucket"}, table) {
			continue
		}
		if err := soundRows[table].insert(t.Context(), db, table); err != nil {
			t.Errorf("%s: %v", table, err)
		}
	}
}

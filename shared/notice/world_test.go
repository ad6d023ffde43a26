package notice_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"holdfast/shared/notice"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

// world is one test's own database, with a clock of its own.
type world struct {
	t   *testing.T
	db  *sqltx.DB
	now time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db, err := sqltx.Open(testenv.MySQLDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(8)
	t.Cleanup(func() { _ = db.Close() })
	return &world{t: t, db: sqltx.New(db, nil), now: time.Date(2031, 5, 1, 10, 0, 0, int(250*time.Millisecond), time.UTC)}
}

// tx runs f in a transaction that must succeed.
func (w *world) tx(f func(ctx context.Context, tx *sql.Tx) error) {
	w.t.Helper()
	if err := w.db.Run(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) add(list ...notice.Notice) {
	w.t.Helper()
	w.tx(func(ctx context.Context, tx *sql.Tx) error { return notice.Add(ctx, tx, list, w.now) })
}

func (w *world) claim(limit int) (claimed []notice.Stored) {
	w.t.Helper()
	w.tx(func(ctx context.Context, tx *sql.Tx) (err error) {
		claimed, err = notice.Claim(ctx, tx, w.now, limit)
		return err
	})
	return claimed
}

// states reads every notice as "subject KIND STATUS attempts", in the order of writing.
func (w *world) states() (out []string) {
	w.t.Helper()
	rows, err := w.db.QueryContext(w.t.Context(), `SELECT subject, kind, status, attempts FROM notice ORDER BY notice_id`)
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var subject, kind, status string
		var attempts int
		if err := rows.Scan(&subject, &kind, &status, &attempts); err != nil {
			w.t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %s %s %d", subject, kind, status, attempts))
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// about is a notice that an order was paid.
func about(subject string) notice.Notice {
	return notice.Notice{Subject: subject, Kind: notice.OrderPaid, UserID: "u1", ActivityID: "a", OrderID: sale.OrderID{1, 2, 3}, Mode: sale.Live,
		Data: map[string]any{"revision": 2}}
}

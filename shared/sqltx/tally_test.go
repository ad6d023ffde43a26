package sqltx_test

import (
	"context"
	"database/sql"
	"testing"

	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

// open opens the DSN as production does and closes it at the end of the test.
func open(t *testing.T, dsn string) *sqltx.DB {
	t.Helper()
	db, err := sqltx.Open(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return sqltx.New(db, nil)
}

// tally makes a table of counters with rows a = 0 and b = 0, and returns a direct pool to look into it.
func tally(t *testing.T) (dsn string, look *sql.DB) {
	t.Helper()
	dsn, look = testenv.MySQLDSN(t), testenv.MySQL(t)
	makeTally(t, look)
	return dsn, look
}

func makeTally(t *testing.T, db *sql.DB) {
	t.Helper()
	must(t, db, `CREATE TABLE tally (name VARBINARY(8) PRIMARY KEY, n INT NOT NULL, CHECK (n <= 100))`)
	must(t, db, `INSERT INTO tally (name, n) VALUES ('a', 0), ('b', 0)`)
}

func must(t *testing.T, q sqltx.Querier, statement string, args ...any) {
	t.Helper()
	if _, err := q.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// add raises a counter by one.
func add(ctx context.Context, q sqltx.Querier, name string) error {
	_, err := q.ExecContext(ctx, `UPDATE tally SET n = n + 1 WHERE name = ?`, name)
	return err
}

// want fails the test unless the counter has this value.
func want(t *testing.T, look *sql.DB, name string, n int) {
	t.Helper()
	var got int
	if err := look.QueryRowContext(t.Context(), `SELECT n FROM tally WHERE name = ?`, name).Scan(&got); err != nil {
		t.Fatal(err)
	}
	if got != n {
		t.Errorf("counter %s is %d, want %d", name, got, n)
	}
}

package sqltx_test

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/infra/local/server"
	"holdfast/shared/testenv"
)

// eastServer runs eight hours east of UTC and writes down every statement.
func eastServer(t *testing.T) (*server.MariaDBProcess, *sql.DB) {
	t.Helper()
	p := testenv.OwnMariaDB(t, "--default-time-zone=+08:00", "--general-log=1", "--log-output=TABLE")
	look := testenv.OpenMySQL(t, p.DSN)
	must(t, look, `CREATE TABLE deadline (id INT PRIMARY KEY, due_at DATETIME(3) NOT NULL, amount DECIMAL(18, 2) NOT NULL)`)
	return p, look
}

const envZoneDSN = "SQLTX_TEST_ZONE_DSN"

func TestInstantStaysTheSameWhateverTheZonesOfServerAndProcess(t *testing.T) {
	if dsn := os.Getenv(envZoneDSN); dsn != "" {
		writeDeadline(t, dsn) // This is the process in New York.
		return
	}
	t.Parallel()
	p, look := eastServer(t)
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), "TZ=America/New_York", envZoneDSN+"="+p.DSN)
	if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), "EDT") {
		t.Fatalf("the process in New York: %v\n%s", err, out)
	}
	db := open(t, p.DSN)
	var due time.Time
	if err := db.QueryRowContext(t.Context(), `SELECT due_at FROM deadline WHERE id = 1`).Scan(&due); err != nil {
		t.Fatal(err)
	}
	if due.Format(time.RFC3339Nano) != "2026-07-01T10:00:00.123Z" {
		t.Errorf("10:00:00.123Z, written from New York, reads back as %v", due)
	}
	var text string // The column itself holds UTC, for whoever reads it by hand, and is cut, not rounded.
	if err := look.QueryRowContext(t.Context(), `SELECT CAST(due_at AS CHAR) FROM deadline WHERE id = 1`).Scan(&text); err != nil {
		t.Fatal(err)
	}
	if text != "2026-07-01 10:00:00.123" {
		t.Errorf("the column holds %q", text)
	}
	now, err := db.Now(t.Context(), db)
	if off := time.Since(now).Abs(); err != nil || off > time.Minute {
		t.Errorf("the clock of the server in the east says %v, %v off: %v", now, off, err)
	}
}

// writeDeadline writes an instant as a process whose own zone is New York has it in hand, and finds it by comparing instants.
func writeDeadline(t *testing.T, dsn string) {
	db := open(t, dsn)
	due := time.Date(2026, 7, 1, 10, 0, 0, 123_999_999, time.UTC).Local()
	t.Log("written as", due) // The parent looks for EDT, to know that the zone took effect.
	must(t, db, `INSERT INTO deadline (id, due_at, amount) VALUES (1, ?, 0)`, due)
	var found int
	err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM deadline WHERE due_at <= ? AND due_at > ?`, due, due.Add(-time.Second)).Scan(&found)
	if err != nil || found != 1 {
		t.Fatalf("a scan by the same instant found %d rows: %v", found, err)
	}
}

func TestNoPrepareAndNoSetReachTheServerAndDecimalsStayExact(t *testing.T) {
	t.Parallel()
	p, look := eastServer(t)
	db := open(t, p.DSN)
	must(t, look, `TRUNCATE mysql.general_log`)

	for i, amount := range []string{"0.10", "9999999999.99", "49.99", "0.01", "9999999999999999.99"} {
		err := db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO deadline (id, due_at, amount) VALUES (?, ?, ?)`, 10+i, time.Now(), amount)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		var text string
		var exact decimal.Decimal
		row := db.QueryRowContext(t.Context(), `SELECT amount, amount FROM deadline WHERE id = ? AND amount = ?`, 10+i, amount)
		if err := row.Scan(&text, &exact); err != nil || text != amount || exact.StringFixed(2) != amount {
			t.Errorf("%s came back as %q and %s: %v", amount, text, exact, err)
		}
	}
	var sum string
	if err := db.QueryRowContext(t.Context(), `SELECT amount * 3 FROM deadline WHERE id = ?`, 10).Scan(&sum); err != nil || sum != "0.30" {
		t.Errorf("0.10 x 3 is %q: %v", sum, err)
	}
	if _, err := db.Now(t.Context(), db); err != nil {
		t.Fatal(err)
	}

	must(t, look, `SET GLOBAL general_log = 0`)
	if got := statements(t, look, `'Prepare', 'Execute', 'Query'`); len(got) < 15 {
		t.Fatalf("the log holds %d statements only", len(got))
	}
	if got := statements(t, look, `'Prepare', 'Execute'`); len(got) > 0 {
		t.Errorf("prepared on the server: %q", got)
	}
	for _, s := range statements(t, look, `'Query'`) {
		if strings.HasPrefix(strings.ToUpper(s), "SET ") && !strings.Contains(s, "general_log") {
			t.Errorf("a SET reached the server: %q", s)
		}
	}
}

// statements reads the server's log.
func statements(t *testing.T, look *sql.DB, kinds string) (out []string) {
	t.Helper()
	rows, err := look.QueryContext(t.Context(), `SELECT argument FROM mysql.general_log WHERE command_type IN (`+kinds+`)`)
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

func TestRowsAffectedCountChangesAndTellNewKeysFromOldOnes(t *testing.T) {
	t.Parallel()
	dsn, look := tally(t)
	db := open(t, dsn)
	affected := func(statement string) int64 {
		t.Helper()
		res, err := db.ExecContext(t.Context(), statement)
		if err != nil {
			t.Fatal(err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, c := range []struct {
		outcome, statement string
		rows               int64
	}{
		{"a move is counted", `UPDATE tally SET n = n + 1 WHERE name = 'a' AND n = 0`, 1},
		{"the same move again is not: the condition does not hold any more", `UPDATE tally SET n = n + 1 WHERE name = 'a' AND n = 0`, 0},
		{"the same value again is not, though the row matches", `UPDATE tally SET n = 1 WHERE name = 'a'`, 0},
		{"a row that is not there is not", `UPDATE tally SET n = 1 WHERE name = 'z'`, 0},
		{"a new key counts one", `INSERT INTO tally (name, n) VALUES ('k', 1) ON DUPLICATE KEY UPDATE name = name`, 1},
		{"an old key counts none", `INSERT INTO tally (name, n) VALUES ('k', 1) ON DUPLICATE KEY UPDATE name = name`, 0},
	} {
		if got := affected(c.statement); got != c.rows {
			t.Errorf("%s: %d rows, want %d", c.outcome, got, c.rows)
		}
	}
	want(t, look, "a", 1)

	// A DSN that asks for the other way of counting is overruled.
	db = open(t, dsn+"&clientFoundRows=true")
	if got := affected(`UPDATE tally SET n = 1 WHERE name = 'a'`); got != 0 {
		t.Errorf("the DSN changed how rows are counted: %d", got)
	}
}

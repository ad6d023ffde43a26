package sqltx_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

// hostileTexts would be code if they were not written as values; one holds all bytes that there are.
func hostileTexts() []string {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	texts := []string{"", " ", "'", `\`, `\'`, "''", `"`, "`", "?", "a?b", "%s", "-- x", "/* x */", "'; DROP TABLE kept; -- ", "\x00\n\r\x1a",
		"naïve 漢字", "\xff\xfe", "\xbf'", "\xbf\\", "12.50", string(every), "plain text ~!@#$%^&*()_+{}|:<>"}
	for range 50 {
		b := make([]byte, rand.IntN(12))
		for i := range b {
			b[i] = every[rand.IntN(256)]
		}
		texts = append(texts, string(b))
	}
	return texts
}

func TestRowsHoldExactlyWhatWasGivenWhateverTheSQLMode(t *testing.T) {
	t.Parallel()
	server := testenv.OwnMariaDB(t)
	look := testenv.OpenMySQL(t, server.DSN)
	for _, mode := range []string{"STRICT_TRANS_TABLES", "STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES,ANSI_QUOTES"} {
		must(t, look, `SET GLOBAL sql_mode = '`+mode+`'`)
		db := open(t, server.DSN)
		must(t, look, `CREATE OR REPLACE TABLE kept (id INT PRIMARY KEY, words VARBINARY(300) NOT NULL, bytes VARBINARY(300) NOT NULL)`)
		texts := hostileTexts()
		n, err := sqltx.WriteRows(t.Context(), db, `INSERT INTO kept (id, words, bytes) VALUES `, len(texts), func(i int, r *sqltx.Row) {
			r.Int(int64(i))
			r.Text(texts[i])
			r.Bytes([]byte(texts[i]))
		}, "")
		if err != nil || int(n) != len(texts) {
			t.Fatalf("%s: %d rows, %v", mode, n, err)
		}
		for i, s := range texts {
			var words, b []byte
			if err := look.QueryRowContext(t.Context(), `SELECT words, bytes FROM kept WHERE id = ?`, i).Scan(&words, &b); err != nil {
				t.Fatal(err)
			}
			if string(words) != s || !bytes.Equal(b, []byte(s)) {
				t.Errorf("%s: %q became %q and %q", mode, s, words, b)
			}
		}
	}
}

func TestRowsHoldValuesOfEveryTypeAsParametersDo(t *testing.T) {
	t.Parallel()
	dsn, look := tally(t)
	db := open(t, dsn)
	must(t, look, `CREATE TABLE typed (id INT PRIMARY KEY, n BIGINT, at DATETIME(3), due DATETIME(3), word VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin,
 amount DECIMAL(18, 2), raw VARBINARY(20), none INT, never DATETIME(3), empty VARBINARY(20))`)
	east := time.Date(2031, 5, 1, 18, 0, 0, int(123999*time.Microsecond), time.FixedZone("", 8*3600))
	due := time.Date(1999, 12, 31, 23, 59, 59, 0, time.UTC)
	head := `INSERT INTO typed (id, n, at, due, word, amount, raw, none, never, empty) VALUES `
	must(t, db, head+sqltx.In(10), 1, int64(math.MinInt64), east, due, "INSUFFICIENT_STOCK", "-9999999999.99", []byte{0, 255}, nil, nil, nil)
	_, err := sqltx.WriteRows(t.Context(), db, head, 1, func(_ int, r *sqltx.Row) {
		r.Int(2)
		r.Int(math.MinInt64)
		r.Instant(east)
		r.InstantOrNull(&due)
		r.Text("INSUFFICIENT_STOCK")
		r.Decimal("-9999999999.99")
		r.Bytes([]byte{0, 255})
		r.Null()
		r.InstantOrNull(nil)
		r.TextOrNull("")
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	var same int
	err = look.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM typed a JOIN typed b ON b.id = 2 AND a.n <=> b.n AND a.at <=> b.at AND a.due <=> b.due
 AND a.word <=> b.word AND a.amount <=> b.amount AND a.raw <=> b.raw AND a.none <=> b.none AND a.never <=> b.never AND a.empty <=> b.empty
 WHERE a.id = 1`).Scan(&same)
	if err != nil || same != 1 {
		t.Errorf("the rows differ: %d, %v", same, err)
	}
}

// An instant that was written before is not worked out again; it must be the right one all the same.
func TestInstantsOfManyRowsStayApart(t *testing.T) {
	t.Parallel()
	dsn, look := tally(t)
	db := open(t, dsn)
	must(t, look, `CREATE TABLE typed (id INT PRIMARY KEY, at DATETIME(3), again DATETIME(3), due DATETIME(3))`)
	first := time.Date(2031, 5, 1, 10, 0, 0, int(999*time.Millisecond), time.UTC)
	instants := []time.Time{time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC), first, first.Add(time.Millisecond), first.In(time.FixedZone("", -3*3600)), first.Add(time.Millisecond)}
	_, err := sqltx.WriteRows(t.Context(), db, `INSERT INTO typed (id, at, again, due) VALUES `, len(instants), func(i int, r *sqltx.Row) {
		r.Int(int64(i))
		r.Instant(instants[i])
		r.Instant(instants[i])
		r.Instant(first)
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range instants {
		var right int
		if err := look.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM typed WHERE id = ? AND at = ? AND again = ? AND due = ?`,
			i, want.UTC().Format("2006-01-02 15:04:05.000"), want.UTC().Format("2006-01-02 15:04:05.000"), "2031-05-01 10:00:00.999").Scan(&right); err != nil || right != 1 {
			t.Errorf("row %d is not of %v: %d, %v", i, want, right, err)
		}
	}
}

func TestValueThatDoesNotFitStopsTheRowsBeforeTheServer(t *testing.T) {
	t.Parallel()
	dsn, look := tally(t)
	db := open(t, dsn)
	must(t, look, `CREATE TABLE typed (id INT PRIMARY KEY, amount DECIMAL(18, 2), at DATETIME(3))`)
	write := func(digits string, at time.Time) error {
		_, err := sqltx.WriteRows(t.Context(), db, `INSERT INTO typed (id, amount, at) VALUES `, 1, func(_ int, r *sqltx.Row) {
			r.Int(1)
			r.Decimal(digits)
			r.Instant(at)
		}, "")
		return err
	}
	now := time.Now()
	for _, digits := range []string{"", "-", ".", "1.", ".5", "1e3", "1.2.3", "0x10", "1 OR 1", "NULL", "١"} {
		if err := write(digits, now); err == nil {
			t.Errorf("%q was taken for a number", digits)
		}
	}
	for _, year := range []int{-1, 0, 1, 99, 999, 10000} { // a number that begins with zeros is read as one of this century
		if err := write("1", time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)); err == nil {
			t.Errorf("the year %d was taken", year)
		}
	}
	if err := write("1", time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Error(err)
	}
	must(t, look, `DELETE FROM typed`)
	if err := write("-0.50", now); err != nil {
		t.Error(err)
	}
}

func TestWrittenRowsStayBelowTheLimitAndAreCounted(t *testing.T) {
	t.Parallel()
	dsn, look := tally(t)
	must(t, look, `CREATE TABLE long_row (id INT PRIMARY KEY, body VARBINARY(20000) NOT NULL)`)
	m := &measured{Querier: open(t, dsn)}
	sizes := []int{1, 7000, 400, 400, 9000, 3, 3, 7300, 2} // the fifth alone is longer than a statement may be
	write := func() (int64, error) {
		return sqltx.WriteRows(t.Context(), m, `INSERT INTO long_row (id, body) VALUES `, len(sizes), func(i int, r *sqltx.Row) {
			r.Int(int64(i))
			r.Text(strings.Repeat("'", sizes[i]))
		}, ` ON DUPLICATE KEY UPDATE id = id`)
	}
	if n, err := write(); err != nil || n != int64(len(sizes)) {
		t.Fatalf("%d rows, %v", n, err)
	}
	if n, err := write(); err != nil || n != 0 {
		t.Fatalf("again: %d rows, %v", n, err)
	}
	if m.statements != 2*4 {
		t.Errorf("%d statements", m.statements)
	}
	if n, err := sqltx.WriteRows(t.Context(), m, "nonsense", 0, nil, ""); n != 0 || err != nil {
		t.Errorf("no rows: %d, %v", n, err)
	}
}

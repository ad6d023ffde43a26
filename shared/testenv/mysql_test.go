package testenv

import (
	"bytes"
	"testing"
	"time"
)

func TestMySQLIsMigratedAndOfThisTestAlone(t *testing.T) {
	t.Parallel()
	var names []string
	count := func(t *testing.T) int {
		t.Helper()
		db := MySQL(t)
		var name string
		if err := db.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE only_here (id INT PRIMARY KEY)"); err != nil {
			t.Fatal(err)
		}
		// The second call must lead to the same database.
		if _, err := MySQL(t).ExecContext(t.Context(), "INSERT INTO only_here VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		var tables int
		err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()").Scan(&tables)
		if err != nil {
			t.Fatal(err)
		}
		return tables
	}
	var first, second int
	t.Run("first", func(t *testing.T) { first = count(t) })
	t.Run("second", func(t *testing.T) { second = count(t) })
	if first < 5 || first != second {
		t.Fatalf("two tests see %d and %d tables", first, second)
	}
	var left int
	err := mustMySQL(t).admin.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name IN (?, ?)", names[0], names[1]).Scan(&left)
	if err != nil || left != 0 {
		t.Fatalf("%d databases outlived their tests, %v", left, err)
	}
}

func TestMySQLCopyEqualsAMigratedDatabase(t *testing.T) {
	t.Parallel()
	s := mustMySQL(t)
	want, err := sharedModel()
	if err != nil {
		t.Fatal(err)
	}
	got, err := readModel(t.Context(), MySQL(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.tables) != len(want.tables) || len(got.rows) != len(want.rows) {
		t.Fatalf("the copy has %d tables and %d rows, the migrations made %d and %d", len(got.tables), len(got.rows), len(want.tables), len(want.rows))
	}
	for i := range want.tables {
		if got.tables[i] != want.tables[i] {
			t.Errorf("copied:\n%s\nmigrated:\n%s", got.tables[i], want.tables[i])
		}
	}
	name := s.newDatabase(t)
	db, err := s.openDatabase(name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "CREATE VIEW v AS SELECT 1 AS one"); err != nil {
		t.Fatal(err)
	}
	if _, err := readModel(t.Context(), db); err == nil {
		t.Error("a view would silently be left out of the copies")
	}
}

func TestMySQLSessionIsSetByTheServerNotByTheClient(t *testing.T) {
	t.Parallel()
	db := EmptyMySQL(t)
	var isolation, zone, mode, name string
	err := db.QueryRowContext(t.Context(), "SELECT @@tx_isolation, @@time_zone, @@sql_mode, DATABASE()").Scan(&isolation, &zone, &mode, &name)
	if err != nil {
		t.Fatal(err)
	}
	if isolation != "READ-COMMITTED" || zone != "+00:00" || !bytes.Contains([]byte(mode), []byte("STRICT_TRANS_TABLES")) || name == "" {
		t.Fatalf("isolation %q, time zone %q, mode %q, database %q", isolation, zone, mode, name)
	}
	at := time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.FixedZone("", 3600))
	var back time.Time
	if err := db.QueryRowContext(t.Context(), "SELECT CAST(? AS DATETIME(3))", at).Scan(&back); err != nil {
		t.Fatal(err)
	}
	if !back.Equal(at) || back.Location() != time.UTC {
		t.Fatalf("%v came back as %v", at, back)
	}
}

func TestOwnMariaDBKeepsWhatItCommittedOverAKill(t *testing.T) {
	t.Parallel()
	own := OwnMariaDB(t)
	db := OpenMySQL(t, own.DSN)
	for _, q := range []string{"CREATE TABLE k (id INT PRIMARY KEY)", "INSERT INTO k VALUES (1)"} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	own.Kill()
	if err := db.PingContext(t.Context()); err == nil {
		t.Fatal("a killed server answered")
	}
	if err := own.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	var rows int
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM k").Scan(&rows); err != nil || rows != 1 {
		t.Fatalf("after the restart: %d rows, %v", rows, err)
	}
}

func TestProxyCutAfterCommitLeavesACommittedRow(t *testing.T) {
	t.Parallel()
	dsn := MySQLDSN(t)
	direct := MySQL(t)
	if _, err := direct.ExecContext(t.Context(), "CREATE TABLE k (id INT PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	p, through := ProxyMySQL(t, dsn)
	db := OpenMySQL(t, through)
	commit := func(id int) error {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO k VALUES (?)", id); err != nil {
			t.Fatal(err)
		}
		return tx.Commit()
	}
	isCommit := func(chunk []byte) bool { return bytes.Contains(chunk, []byte("COMMIT")) }
	p.CutAfter(isCommit)
	if commit(1) == nil {
		t.Fatal("CutAfter: the client heard of the commit")
	}
	p.CutAfter(nil)
	p.CutBefore(isCommit)
	if commit(2) == nil {
		t.Fatal("CutBefore: the client heard of a commit")
	}
	p.CutBefore(nil)
	var ids string
	if err := direct.QueryRowContext(t.Context(), "SELECT GROUP_CONCAT(id) FROM k").Scan(&ids); err != nil || ids != "1" {
		t.Fatalf("rows %q, %v; want 1 alone", ids, err)
	}
}

package server

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func startMariaDB(t *testing.T, o MariaDBOptions) *MariaDBProcess {
	t.Helper()
	if o.Dir == "" {
		o.Dir = scratchDir(t)
	}
	p, err := MariaDB(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func execSQL(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func TestMariaDBHoldsTheParametersThatTheCodeReliesOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		durable bool
		flush   string
	}{{true, "1"}, {false, "0"}} {
		db := open(t, startMariaDB(t, MariaDBOptions{Durable: c.durable}).DSN)
		for name, want := range map[string]string{
			"tx_isolation": "READ-COMMITTED", "time_zone": "+00:00", "character_set_server": "utf8mb4",
			"bind_address": "127.0.0.1", "max_connections": "500", "log_bin": "0", "performance_schema": "0",
			"skip_name_resolve": "1", "sql_mode": "", "innodb_flush_log_at_trx_commit": c.flush,
		} {
			var got string
			if err := db.QueryRowContext(t.Context(), "SELECT @@"+name).Scan(&got); err != nil {
				t.Fatal(err)
			}
			if name == "sql_mode" {
				// The server puts them into an order of its own.
				for _, mode := range strings.Split(sqlMode, ",") {
					if !strings.Contains(got, mode) {
						t.Errorf("sql_mode %s misses %s", got, mode)
					}
				}
			} else if got != want {
				t.Errorf("durable %v: %s is %q, want %q", c.durable, name, got, want)
			}
		}
	}
}

func TestMariaDBRestartsWithWhatItCommitted(t *testing.T) {
	t.Parallel()
	p := startMariaDB(t, MariaDBOptions{Durable: true})
	dsn := p.DSN
	execSQL(t, open(t, dsn), "CREATE TABLE k (id INT PRIMARY KEY)", "INSERT INTO k VALUES (1)")
	p.Kill()
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	db := open(t, dsn)
	execSQL(t, db, "INSERT INTO k VALUES (2)")
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A new start in the same folder, as the next run of the local stack makes it, keeps data and password.
	again := startMariaDB(t, MariaDBOptions{Dir: p.Dir(), Port: p.Port, Durable: true})
	if again.DSN != dsn {
		t.Error("the DSN has changed")
	}
	var rows int
	if err := open(t, again.DSN).QueryRowContext(t.Context(), "SELECT COUNT(*) FROM k").Scan(&rows); err != nil || rows != 2 {
		t.Fatalf("%d rows, %v; want 2", rows, err)
	}
}

func TestTwoMariaDBsSideBySideKnowNothingOfEachOther(t *testing.T) {
	t.Parallel()
	a, b := startMariaDB(t, MariaDBOptions{}), startMariaDB(t, MariaDBOptions{})
	execSQL(t, open(t, a.DSN), "CREATE TABLE only_a (id INT)")
	execSQL(t, open(t, b.DSN), "CREATE TABLE only_b (id INT)", "CREATE DATABASE of_a_test", "CREATE TABLE of_a_test.k (id INT)")
	var tables string
	const list = "SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = DATABASE()"
	if err := open(t, a.DSN).QueryRowContext(t.Context(), list).Scan(&tables); err != nil || tables != "only_a" {
		t.Fatalf("the first has the tables %q, %v", tables, err)
	}
}

func TestMariaDBLetsNobodyInWithoutThePassword(t *testing.T) {
	t.Parallel()
	p := startMariaDB(t, MariaDBOptions{})
	_, password, _ := strings.Cut(strings.SplitN(p.DSN, "@", 2)[0], ":")
	if len(password) < 20 {
		t.Fatal("the password is short")
	}
	for _, user := range []string{"root", "root:" + password, "holdfast", "", "mariadb.sys"} {
		if err := open(t, user+"@tcp("+p.Addr+")/").PingContext(t.Context()); err == nil {
			t.Errorf("%q got in", strings.ReplaceAll(user, password, "<password>"))
		}
	}
	admin := open(t, p.AdminDSN)
	execSQL(t, admin, "SET GLOBAL read_only = ON")
	if _, err := open(t, p.DSN).ExecContext(t.Context(), "CREATE TABLE k (id INT)"); err == nil {
		t.Error("a read-only server took a write")
	}
	execSQL(t, admin, "SET GLOBAL read_only = OFF")
	err := filepath.WalkDir(p.Dir(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "password" || d.Name() == initName {
			return err
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || d.Type()&fs.ModeSocket != 0 {
			return nil
		}
		if strings.Contains(string(text), password) {
			t.Errorf("the password stands in %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestMariaDBStartsInAFolderWithALongName(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(scratchDir(t), strings.Repeat("a-long-name-", 12))
	p := startMariaDB(t, MariaDBOptions{Dir: dir})
	if err := open(t, p.AdminDSN).PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(socketPath(dir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket outlived the server: %v", err)
	}
}

func TestInterruptedInstallationIsBegunAnew(t *testing.T) {
	t.Parallel()
	dir := scratchDir(t)
	if err := os.MkdirAll(filepath.Join(dir, "data.new", "mysql"), 0o700); err != nil {
		t.Fatal(err)
	}
	startMariaDB(t, MariaDBOptions{Dir: dir})
}

package testenv

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"

	"holdfast/infra/local/server"
	"holdfast/infra/mysql"
)

// mysqlServer is the shared MariaDB.
type mysqlServer struct {
	dsn   string  // its database is used by no test
	admin *sql.DB // takes several statements in one text; makes and drops the databases of tests
}

var sharedMySQL = shared("mariadb", func(ctx context.Context, dir string) (*mysqlServer, error) {
	dsn := os.Getenv(server.EnvTestMySQL)
	if dsn == "" {
		p, err := server.MariaDB(ctx, server.MariaDBOptions{Dir: dir})
		if err != nil {
			return nil, err
		}
		dsn = p.DSN
	}
	admin, err := openMySQL(dsn, func(c *mysqldriver.Config) { c.MultiStatements = true })
	if err != nil {
		return nil, err
	}
	// Copying a database is a burst of CREATE TABLE; more at once would only wait for each other.
	admin.SetMaxOpenConns(4)
	return &mysqlServer{dsn: dsn, admin: admin}, admin.PingContext(ctx)
})

// sharedModel migrates once per process; tests that need no tables do not pay for it.
var sharedModel = sync.OnceValues(func() (*model, error) {
	s, err := sharedMySQL()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	return s.makeModel(ctx)
})

// MySQLDSN returns the DSN of this test's own database with all migrations applied. It is made by the test's first call
// of MySQLDSN or MySQL, and dropped at the end of the test. A subtest is a test of its own.
func MySQLDSN(t testing.TB) string {
	t.Helper()
	ownDatabases.Lock()
	defer ownDatabases.Unlock()
	if dsn, ok := ownDatabases.dsn[t]; ok {
		return dsn
	}
	s := mustMySQL(t)
	m, err := sharedModel()
	if err != nil {
		t.Fatalf("testenv: migrate: %v", err)
	}
	name := s.newDatabase(t)
	if err := m.copyTo(t.Context(), s.admin, name); err != nil {
		t.Fatalf("testenv: copy the migrated database: %v", err)
	}
	dsn := s.dsnOf(t, name)
	ownDatabases.dsn[t] = dsn
	t.Cleanup(func() {
		ownDatabases.Lock()
		defer ownDatabases.Unlock()
		delete(ownDatabases.dsn, t)
	})
	return dsn
}

var ownDatabases = struct {
	sync.Mutex
	dsn map[testing.TB]string
}{dsn: map[testing.TB]string{}}

// MySQL returns a pool on this test's own migrated database; see MySQLDSN. It is closed at the end of the test.
func MySQL(t testing.TB) *sql.DB {
	t.Helper()
	return OpenMySQL(t, MySQLDSN(t))
}

// EmptyMySQL returns a pool on a new database without tables, dropped at the end of the test.
func EmptyMySQL(t testing.TB) *sql.DB {
	t.Helper()
	s := mustMySQL(t)
	return OpenMySQL(t, s.dsnOf(t, s.newDatabase(t)))
}

// OpenMySQL returns a pool on the DSN, set as in production, closed at the end of the test. It does not connect before it
// is used.
func OpenMySQL(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := openMySQL(dsn, func(*mysqldriver.Config) {})
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// OwnMariaDB starts a MariaDB for this test alone, whose database holdfast is migrated, with more settings if given. A
// COMMIT that it answered survives Kill. It is killed at the end of the test.
func OwnMariaDB(t testing.TB, args ...string) *server.MariaDBProcess {
	t.Helper()
	p, err := server.MariaDB(startContext(t), server.MariaDBOptions{Dir: ownDir(t), Durable: true, Args: args})
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	t.Cleanup(p.Kill)
	db, err := openMySQL(p.DSN, func(*mysqldriver.Config) {})
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	defer db.Close()
	if err := mysql.Migrate(t.Context(), db); err != nil {
		t.Fatalf("testenv: migrate: %v", err)
	}
	return p
}

// ProxyMySQL starts a Proxy in front of the server that the DSN names, and returns it with the DSN that leads through it
// to the same database.
func ProxyMySQL(t testing.TB, dsn string) (*TCPProxy, string) {
	t.Helper()
	cfg, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	p := Proxy(t, cfg.Addr)
	cfg.Addr = p.Addr
	return p, cfg.FormatDSN()
}

func mustMySQL(t testing.TB) *mysqlServer {
	t.Helper()
	s, err := sharedMySQL()
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	return s
}

// newDatabase makes an empty database with a name that no other process uses and drops it at the end of the test.
func (s *mysqlServer) newDatabase(t testing.TB) string {
	t.Helper()
	name := newDatabaseName("test")
	if _, err := s.admin.ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatalf("testenv: %v", err)
	}
	t.Cleanup(func() {
		// The test's own context is over by now.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := s.admin.ExecContext(ctx, "DROP DATABASE IF EXISTS "+name); err != nil {
			t.Errorf("testenv: %v", err)
		}
	})
	return name
}

func newDatabaseName(kind string) string {
	return "holdfast_" + kind + "_" + strings.ToLower(rand.Text()[:16])
}

func (s *mysqlServer) dsnOf(t testing.TB, database string) string {
	t.Helper()
	cfg, err := mysqldriver.ParseDSN(s.dsn)
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	cfg.DBName = database
	setParams(cfg)
	return cfg.FormatDSN()
}

func (s *mysqlServer) openDatabase(name string) (*sql.DB, error) {
	return openMySQL(s.dsn, func(c *mysqldriver.Config) { c.DBName = name })
}

// setParams sets what production sets. None of it makes the driver send SET: the server's parameters hold time zone,
// isolation and SQL mode, and the collation travels in the handshake.
func setParams(cfg *mysqldriver.Config) {
	cfg.InterpolateParams = true
	cfg.RejectReadOnly = true
	cfg.ParseTime = true
	cfg.Loc = time.UTC
	cfg.Timeout = 10 * time.Second
	cfg.ReadTimeout = time.Minute
	cfg.WriteTimeout = time.Minute
}

func openMySQL(dsn string, change func(*mysqldriver.Config)) (*sql.DB, error) {
	cfg, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("mysql DSN: %w", err)
	}
	setParams(cfg)
	change(cfg)
	connector, err := mysqldriver.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("mysql DSN: %w", err)
	}
	return sql.OpenDB(connector), nil
}

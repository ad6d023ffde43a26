package sqltx

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// What Open sets. A Lambda instance handles one event at a time and a second connection serves what runs beside it. A connection lives
// shorter than any sensible wait_timeout of a server or proxy.
const (
	dialTimeout   = 2 * time.Second
	ioTimeout     = 10 * time.Second
	poolSize      = 2
	MaxLifetime   = 3 * time.Minute // CheckServer holds the server's wait_timeout against it
	connectTries  = 6
	connectPauses = 100 * time.Millisecond // the first pause's bound while the server is full; it doubles
)

// ErrBadDSN is returned by Open for a DSN that it does not take. It never holds the DSN, which has a password.
var ErrBadDSN = errors.New("sqltx: bad DSN")

// Open prepares a pool for the DSN ("user:password@tcp(host:port)/database"); it connects on first use. Whatever the DSN says, the pool
// writes parameters into the statement's text itself (no server-side PREPARE, which would pin a session of RDS Proxy), reads DATETIME
// as UTC, sends instants cut to milliseconds, throws a connection away whose server turned read-only, counts changed rows, and sends no
// SET. Timeouts of the DSN (timeout, readTimeout, writeTimeout) hold; otherwise 2 s, 10 s, 10 s. While the server says that it has no
// connection left, connecting is tried again with pauses, six times at most. options are the driver's, for what a DSN cannot say, such
// as a password that changes (mysql.BeforeConnect).
//
// options are applied after all that, such as mysql.BeforeConnect for a password that rotates.
//
// It returns ErrBadDSN for a DSN that cannot be read, names no database, or asks for SET statements (system variables, charset,
// collation): those belong into the server's parameters.
func Open(dsn string, options ...mysql.Option) (*sql.DB, error) {
	connector, err := Connector(dsn, options...)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(poolSize)
	db.SetMaxIdleConns(poolSize)
	db.SetConnMaxLifetime(MaxLifetime)
	return db, nil
}

// Connector makes the connections of Open, for a pool of another size or with something between the pool and the driver.
func Connector(dsn string, options ...mysql.Option) (driver.Connector, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("%w: write user:password@tcp(host:port)/database", ErrBadDSN)
	}
	if cfg.DBName == "" {
		return nil, fmt.Errorf("%w: it names no database; write user:password@tcp(host:port)/database", ErrBadDSN)
	}
	if len(cfg.Params) > 0 || cfg.Collation != "" || hasCharset(cfg) {
		return nil, fmt.Errorf("%w: system variables, charset and collation are set in the server's parameters, not in the DSN", ErrBadDSN)
	}
	cfg.InterpolateParams = true
	cfg.RejectReadOnly = true
	cfg.ParseTime = true
	cfg.Loc = time.UTC
	cfg.CheckConnLiveness = true
	cfg.ClientFoundRows = false
	cfg.MultiStatements = false
	cfg.Logger = &mysql.NopLogger{} // What it would write is returned as an error too.
	cfg.Timeout = orElse(cfg.Timeout, dialTimeout)
	cfg.ReadTimeout = orElse(cfg.ReadTimeout, ioTimeout)
	cfg.WriteTimeout = orElse(cfg.WriteTimeout, ioTimeout)
	if err := cfg.Apply(append(options, mysql.TimeTruncate(time.Millisecond))...); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadDSN, err)
	}
	inner, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("%w: its TLS settings or its address cannot be used", ErrBadDSN)
	}
	return patient{inner}, nil
}

// hasCharset says whether the DSN asks for SET NAMES. The driver keeps that to itself and shows it only when it writes the DSN again.
func hasCharset(cfg *mysql.Config) bool {
	_, settings, _ := strings.Cut(cfg.FormatDSN(), "?")
	return strings.HasPrefix(settings, "charset=") || strings.Contains(settings, "&charset=")
}

// WithReadTimeout gives a DSN another time to wait for answers, for who sends statements that take long by their nature, as migrations
// do. It returns ErrBadDSN for a DSN that cannot be read.
func WithReadTimeout(dsn string, timeout time.Duration) (string, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return "", fmt.Errorf("%w: write user:password@tcp(host:port)/database", ErrBadDSN)
	}
	cfg.ReadTimeout = timeout
	return cfg.FormatDSN(), nil
}

func orElse(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// patient connects again while the server is full: a burst of instances must not turn into errors at once, and must not hammer.
type patient struct{ driver.Connector }

func (p patient) Connect(ctx context.Context) (driver.Conn, error) {
	for try := 1; ; try++ {
		conn, err := p.Connector.Connect(ctx)
		if err == nil || !tooMany[number(err)] || try == connectTries {
			return conn, err
		}
		if !wait(ctx, connectPauses<<(try-1)) {
			return nil, err
		}
	}
}

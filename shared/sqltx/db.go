package sqltx

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Querier is what *sql.DB, *sql.Conn and *sql.Tx have in common. Functions that only read take one.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// DB is the database together with the offset of its clock.
type DB struct {
	*sql.DB
	// Offset is added to the clock of the server. Only a stack for tests moves it; nil is none.
	Offset func() time.Duration
	// Pause stands in for Wait where time is only simulated; nil is none.
	Pause func(ctx context.Context, bound time.Duration) bool
}

// New pairs a database with the offset of its clock; nil is none.
func New(db *sql.DB, offset func() time.Duration) *DB { return &DB{DB: db, Offset: offset} }

const selectNow = `SELECT UTC_TIMESTAMP(3)`

// Now is the instant by the clock that decides about deadlines: the server's, plus the offset; UTC, whole milliseconds. It returns
// the errors of the driver.
func (d *DB) Now(ctx context.Context, q Querier) (time.Time, error) {
	var now time.Time
	if err := q.QueryRowContext(ctx, selectNow).Scan(&now); err != nil {
		return time.Time{}, fmt.Errorf("reading the clock of the database: %w", err)
	}
	if d.Offset != nil {
		now = now.Add(d.Offset())
	}
	return now.UTC().Truncate(time.Millisecond), nil
}

// Wait waits a random time up to the bound before something is tried again, so that two that met do not meet again. It returns false
// when ctx ends first.
func (d *DB) Wait(ctx context.Context, bound time.Duration) bool {
	if d.Pause != nil {
		return d.Pause(ctx, bound)
	}
	return wait(ctx, bound)
}

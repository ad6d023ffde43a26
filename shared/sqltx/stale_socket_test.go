package sqltx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

// firstCall checks that the first call after a pause works and does not hang on a dead socket.
func firstCall(t *testing.T, db *sqltx.DB, name string) {
	t.Helper()
	began := time.Now()
	if err := db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error { return add(ctx, tx, name) }); err != nil {
		t.Errorf("the first call after the pause failed: %v", err)
	}
	if err := add(t.Context(), db, name); err != nil {
		t.Errorf("the first plain statement after the pause failed: %v", err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the first call took %v", took)
	}
}

// fill opens all connections that the pool may hold and gives them back.
func fill(t *testing.T, db *sqltx.DB) (ids []int64) {
	t.Helper()
	for range db.Stats().MaxOpenConnections {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		var id int64
		if err := conn.QueryRowContext(t.Context(), `SELECT CONNECTION_ID()`).Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

func TestFirstCallAfterTheServerKilledTheConnectionsSucceeds(t *testing.T) {
	t.Parallel()
	dsn, look := tally(t)
	db := open(t, dsn)
	for _, id := range fill(t, db) {
		must(t, look, fmt.Sprintf(`KILL %d`, id))
	}
	time.Sleep(50 * time.Millisecond)
	firstCall(t, db, "a")
	want(t, look, "a", 2)
}

func TestFirstCallAfterTheNetworkForgotTheConnectionsSucceeds(t *testing.T) {
	t.Parallel()
	dsn, look := tally(t)
	proxy, through := testenv.ProxyMySQL(t, dsn)
	db := open(t, through)
	fill(t, db)
	proxy.Down()
	proxy.Up()
	firstCall(t, db, "a")
	want(t, look, "a", 2)
}

func TestFirstCallAfterIdleTimeoutSucceeds(t *testing.T) {
	t.Parallel()
	server := testenv.OwnMariaDB(t, "--wait-timeout=1")
	look := testenv.OpenMySQL(t, server.DSN)
	makeTally(t, look)
	db := open(t, server.DSN)
	fill(t, db)
	time.Sleep(2500 * time.Millisecond) // The server closes idle connections after one second.
	firstCall(t, db, "a")
	want(t, look, "a", 2)

	// Such a server is named at the start, for a pooled connection lives longer than that.
	if err := sqltx.CheckServer(t.Context(), db); !errors.Is(err, sqltx.ErrServerSettings) {
		t.Errorf("a wait_timeout of 1 s passed the check: %v", err)
	}
}

func TestFullServerIsAskedAgainABoundedNumberOfTimes(t *testing.T) {
	t.Parallel()
	server := testenv.OwnMariaDB(t, "--max-connections=10")
	look := testenv.OpenMySQL(t, server.DSN)
	look.SetMaxOpenConns(1)
	makeTally(t, look)

	// Forty instances, each with its own pool, want ten connections: all get their turn.
	ended := make(chan error, 40)
	for range cap(ended) {
		go func() { ended <- oneInstance(t.Context(), server.DSN) }()
	}
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Errorf("an instance lost its work to a full server: %v", err)
		}
	}
	want(t, look, "a", 40)

	// While all connections are taken for good, the answer is an error that says so, in bounded time.
	holders := testenv.OpenMySQL(t, server.DSN)
	taken := 0
	for range 12 {
		conn, err := holders.Conn(t.Context())
		if err != nil {
			break
		}
		defer conn.Close()
		taken++
	}
	if taken == 12 {
		t.Fatal("the server was never full")
	}
	if err := oneInstance(t.Context(), server.DSN); !errors.Is(err, sqltx.ErrUnavailable) {
		t.Errorf("got %v from a full server, want ErrUnavailable", err)
	}
}

// oneInstance does what a Lambda instance does in its life: it connects, works once, and goes.
func oneInstance(ctx context.Context, dsn string) error {
	db, err := sqltx.Open(dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	return sqltx.New(db, nil).Run(ctx, func(ctx context.Context, tx *sql.Tx) error { return add(ctx, tx, "a") })
}

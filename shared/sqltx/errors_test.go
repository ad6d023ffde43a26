package sqltx

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"

	"holdfast/shared/testenv"
)

func server(n uint16, message string) error {
	return fmt.Errorf("doing it: %w", &mysql.MySQLError{Number: n, Message: message})
}

func TestDuplicateKeyIsNamedOnBothServers(t *testing.T) {
	t.Parallel()
	for message, key := range map[string]string{
		"Duplicate entry 'x' for key 'activity_number'":               "activity_number",
		"Duplicate entry 'x' for key 'activity.activity_number'":      "activity_number",
		"Duplicate entry 'x' for key 'PRIMARY'":                       "PRIMARY",
		"Duplicate entry 'for key 'y.z'' for key 'activity.PRIMARY'":  "PRIMARY",
		"Duplicate entry 'a.b-c' for key 'trade_order.trade_order_x'": "trade_order_x",
	} {
		if got, ok := DuplicateKey(server(1062, message)); !ok || got != key {
			t.Errorf("%s: got %q, %v", message, got, ok)
		}
	}
	if _, ok := DuplicateKey(server(1213, "Deadlock")); ok {
		t.Error("a deadlock passed for a duplicate")
	}
}

func TestRealServerRefusesWithTheErrorsThatAreLookedFor(t *testing.T) {
	t.Parallel()
	db := testenv.MySQL(t)
	for _, s := range []string{`CREATE TABLE gate (id INT PRIMARY KEY, n INT NOT NULL, UNIQUE KEY gate_n (n), CONSTRAINT gate_small CHECK (n < 10))`,
		`INSERT INTO gate (id, n) VALUES (1, 1)`} {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	_, err := db.ExecContext(t.Context(), `UPDATE gate SET n = 10`)
	if !CheckViolated(err) || Unavailable(err) {
		t.Errorf("a CHECK: %v", err)
	}
	_, err = db.ExecContext(t.Context(), `INSERT INTO gate (id, n) VALUES (2, 1)`)
	if key, ok := DuplicateKey(err); !ok || key != "gate_n" {
		t.Errorf("a unique key: %q, %v", key, err)
	}
	_, err = db.ExecContext(t.Context(), `INSERT INTO gate (id, n) VALUES (99999999999, 2)`)
	if !OutOfRange(err) {
		t.Errorf("a number that does not fit: %v", err)
	}
}

func TestUnavailableTellsStoreFromStatement(t *testing.T) {
	t.Parallel()
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for _, err := range []error{dial, mysql.ErrInvalidConn, driver.ErrBadConn, context.DeadlineExceeded, server(1040, "Too many connections"),
		server(1290, "read-only"), server(1045, "Access denied"), server(1053, "Server shutdown"), fmt.Errorf("x: %w", ErrUnavailable)} {
		if !Unavailable(err) {
			t.Errorf("%v counts as the statement's fault", err)
		}
	}
	for _, err := range []error{nil, context.Canceled, sql.ErrNoRows, server(1062, "Duplicate entry"), server(4025, "CONSTRAINT"),
		server(1064, "syntax"), errors.New("else"), fmt.Errorf("%w: %w", ErrCommitUnclear, mysql.ErrInvalidConn)} {
		if Unavailable(err) {
			t.Errorf("%v counts as the store's fault", err)
		}
	}
	if connectionLost(dial) {
		t.Error("a refused dial would be tried again")
	}
}

func TestCommitErrorIsUnclearUnlessTheServerSaidNo(t *testing.T) {
	t.Parallel()
	for _, err := range []error{mysql.ErrInvalidConn, server(1317, "interrupted"), server(1927, "killed"), errors.New("else")} {
		if !errors.Is(commitError(err), ErrCommitUnclear) {
			t.Errorf("COMMIT failed with %v and passed for clear", err)
		}
	}
	for _, err := range []error{driver.ErrBadConn, context.Canceled, context.DeadlineExceeded, sql.ErrTxDone, server(1213, "Deadlock"), server(3101, "group")} {
		if got := commitError(err); got == nil || errors.Is(got, ErrCommitUnclear) {
			t.Errorf("COMMIT failed with %v: %v", err, got)
		}
	}
}

package sqltx

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// ErrCommitUnclear is returned when COMMIT was sent and its answer never came: the transaction may have happened or not. Look the
// row up by its key, with a locking read.
var ErrCommitUnclear = errors.New("sqltx: no answer to COMMIT, it may have happened")

// ErrUnavailable is returned when the database cannot be reached, is full, read-only or shutting down, or did not answer in time, and
// nothing was committed.
var ErrUnavailable = errors.New("sqltx: the database is unavailable")

// Numbers of the server's errors, the same on MariaDB and MySQL unless said otherwise.
const (
	errDuplicateKey  = 1062
	errLockWait      = 1205
	errDeadlock      = 1213
	errGroupRollback = 3101 // MySQL group replication refused the transaction at COMMIT
	errCheckMariaDB  = 4025
	errCheckMySQL    = 3819
	errOutOfRange    = 1264
)

// tooMany: the server has no connection left for us. It says so before it reads anything, so that connecting again is safe.
var tooMany = map[uint16]bool{
	1040: true, // too many connections
	1203: true, // too many connections of this user
	1226: true, // resource limit of this user
}

// readOnly: the server refuses writes, for example after a failover.
var readOnly = map[uint16]bool{1290: true, 1792: true, 1836: true}

// unavailable: other words by which a server says that it does not work for us now.
var unavailable = map[uint16]bool{
	1021: true, 1114: true, // disk or table full
	1044: true, 1045: true, // access denied: a password that was just rotated, too
	1049: true,             // the database does not exist (yet)
	1053: true,             // shutting down
	1129: true, 1130: true, // this host is blocked or not allowed
	1317: true, 1969: true, 3024: true, // interrupted, or took longer than the server allows
	1927: true, 4031: true, // the server closed the connection, or it was idle too long
}

func number(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// Retryable says whether the server rolled back for a reason that goes away: deadlock, lock wait, a refused COMMIT in a group.
func Retryable(err error) bool {
	n := number(err)
	return n == errDeadlock || n == errLockWait || n == errGroupRollback
}

// CheckViolated says whether a CHECK refused the statement: 4025 on MariaDB, 3819 on MySQL.
func CheckViolated(err error) bool {
	n := number(err)
	return n == errCheckMariaDB || n == errCheckMySQL
}

// OutOfRange says whether a number did not fit its column.
func OutOfRange(err error) bool { return number(err) == errOutOfRange }

// DuplicateKey says whether a unique key refused the statement, and its name as in CREATE TABLE ("PRIMARY" for the primary key).
func DuplicateKey(err error) (key string, ok bool) {
	var e *mysql.MySQLError
	if !errors.As(err, &e) || e.Number != errDuplicateKey {
		return "", false
	}
	// MariaDB: Duplicate entry 'x' for key 'name'; MySQL 8 puts the table before the name. The entry may hold anything.
	const mark = "for key '"
	at := strings.LastIndex(e.Message, mark)
	if at < 0 {
		return "", true
	}
	key = strings.TrimSuffix(e.Message[at+len(mark):], "'")
	if dot := strings.LastIndexByte(key, '.'); dot >= 0 {
		key = key[dot+1:]
	}
	return key, true
}

// Unavailable says whether err means that the database could not be reached, does not work now, or did not answer in time (the
// deadline of the context included). It is false for ErrCommitUnclear, whose transaction may have happened.
func Unavailable(err error) bool {
	if err == nil || errors.Is(err, ErrCommitUnclear) {
		return false
	}
	if errors.Is(err, ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || connectionLost(err) {
		return true
	}
	n := number(err)
	if tooMany[n] || readOnly[n] || unavailable[n] {
		return true
	}
	var netErr net.Error
	return errors.As(err, &netErr)
}

// connectionLost says whether a connection that had worked broke. A dial that failed is not meant: it failed at once and would again.
func connectionLost(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return false
	}
	n := number(err)
	return errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || n == 1927 || n == 4031 || errors.As(err, &op)
}

// refusedCommit says whether an error of COMMIT proves that nothing was committed: the server said so, or the driver wrote nothing
// (driver.ErrBadConn; it stands for a read-only server as well).
func refusedCommit(err error) bool {
	return Retryable(err) || errors.Is(err, driver.ErrBadConn) || readOnly[number(err)]
}

func asUnavailable(err error) error {
	if Unavailable(err) && !errors.Is(err, ErrUnavailable) {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

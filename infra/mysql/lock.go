package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// sessionLock keeps two migrators of one database apart by a lock of the server, held by the connection that migrates: it ends
// with the connection, so a migrator that dies leaves nothing behind. The name holds a hash of the database's name, since such
// locks are shared by all databases of a server and their names are at most 64 characters long.
type sessionLock struct{}

// One wait stays below any sensible read timeout of the connection; SessionLock repeats it until ctx ends.
const getLock = `SELECT GET_LOCK(CONCAT('holdfast-migrate-', SHA1(DATABASE())), 3)`
const releaseLock = `SELECT RELEASE_LOCK(CONCAT('holdfast-migrate-', SHA1(DATABASE())))`

var errNoDatabase = errors.New("the connection has no database selected; name one in the DSN")

// SessionLock waits until this connection is the only migrator, or ctx ends.
func (sessionLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	for {
		var got sql.NullInt64
		if err := conn.QueryRowContext(ctx, getLock).Scan(&got); err != nil {
			return fmt.Errorf("waiting for another migrator: %w", err)
		}
		if !got.Valid { // NULL: CONCAT had no database's name to hash.
			return errNoDatabase
		}
		if got.Int64 == 1 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("waiting for another migrator: %w", err)
		}
	}
}

// SessionUnlock lets the next migrator in.
func (sessionLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	var released sql.NullInt64
	if err := conn.QueryRowContext(ctx, releaseLock).Scan(&released); err != nil {
		return fmt.Errorf("letting the next migrator in: %w", err)
	}
	return nil
}

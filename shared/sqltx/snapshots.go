package sqltx

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
)

// Snapshots reads several times, each time all of one moment. The server runs at READ COMMITTED, under which each statement has a moment
// of its own, so these transactions ask for REPEATABLE READ. A proxy pins a session that was told so: all of them go over one
// connection, which goes back to no pool.
type Snapshots struct{ conn *sql.Conn }

// Snapshots takes the connection. It returns ErrUnavailable (wrapped) when there is none. Close must be called.
func (d *DB) Snapshots(ctx context.Context) (*Snapshots, error) {
	conn, err := d.Conn(ctx)
	if err != nil {
		return nil, asUnavailable(fmt.Errorf("a connection for snapshots: %w", err))
	}
	return &Snapshots{conn}, nil
}

// Read runs reads that all see one moment. It returns their error, and the driver's.
func (s *Snapshots) Read(ctx context.Context, read func(tx *sql.Tx) error) error {
	tx, err := s.conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return asUnavailable(fmt.Errorf("beginning a snapshot: %w", err))
	}
	return errors.Join(read(tx), tx.Rollback())
}

// Close throws the connection away.
func (s *Snapshots) Close() {
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn }) // tells the pool to throw it away, which also closes s.conn
}

// Snapshot runs reads that all see one moment, once. It returns what Snapshots and its Read return.
func (d *DB) Snapshot(ctx context.Context, read func(tx *sql.Tx) error) error {
	snapshots, err := d.Snapshots(ctx)
	if err != nil {
		return err
	}
	defer snapshots.Close()
	return snapshots.Read(ctx, read)
}

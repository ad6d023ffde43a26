package sqltx

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// ErrLeased is returned when somebody else holds a lease, or has taken one over that had run out.
var ErrLeased = errors.New("leased by somebody else")

// Lease is one holding of a right to do something alone until it runs out by the database's clock. The token tells it from a later
// holding of the same holder.
type Lease struct {
	Name   string
	Holder string
	Token  int64
}

// TakeLease takes a lease that is free or has run out, for so long. It returns ErrLeased (wrapped) while it is held, whoever by, and the
// errors of the driver; it belongs into a transaction of its own, which is then rolled back.
func TakeLease(ctx context.Context, tx *sql.Tx, name, holder string, now time.Time, length time.Duration) (Lease, error) {
	l := Lease{Name: name, Holder: holder, Token: 1}
	until := now.Add(length)
	// A new row counts 1, one that is there 0: the insert changes nothing but locks it.
	result, err := tx.ExecContext(ctx, `INSERT INTO lease (name, holder, token, acquired_at, expires_at) VALUES (?, ?, 1, ?, ?)
 ON DUPLICATE KEY UPDATE name = name`, name, holder, now, until)
	if err != nil {
		return l, l.wrap(err)
	}
	if made, err := result.RowsAffected(); err != nil || made == 1 {
		return l, l.wrap(err)
	}
	result, err = tx.ExecContext(ctx, `UPDATE lease SET holder = ?, token = token + 1, acquired_at = ?, expires_at = ?
 WHERE name = ? AND expires_at <= ?`, holder, now, until, name, now)
	if err := l.one(result, err); err != nil {
		return l, err
	}
	return l, l.wrap(tx.QueryRowContext(ctx, `SELECT token FROM lease WHERE name = ?`, name).Scan(&l.Token))
}

// Renew lets the lease run until a later instant. It returns ErrLeased (wrapped) when it has run out, and the errors of the driver.
func (l Lease) Renew(ctx context.Context, q Querier, now, until time.Time) error {
	return l.one(q.ExecContext(ctx, `UPDATE lease SET expires_at = ? WHERE name = ? AND holder = ? AND token = ? AND expires_at > ?`,
		until, l.Name, l.Holder, l.Token, now))
}

// End gives the lease back, unless it is another's by now. If it fails the lease just runs out. It returns the errors of the driver.
func (l Lease) End(ctx context.Context, q Querier, now time.Time) error {
	_, err := q.ExecContext(ctx, `UPDATE lease SET expires_at = ? WHERE name = ? AND holder = ? AND token = ?`, now, l.Name, l.Holder, l.Token)
	return l.wrap(err)
}

// one is nil when a statement has changed the lease's row.
func (l Lease) one(result sql.Result, err error) error {
	if err != nil {
		return l.wrap(err)
	}
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		err = ErrLeased
	}
	return l.wrap(err)
}

func (l Lease) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("lease %s: %w", l.Name, err)
}

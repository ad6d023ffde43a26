package reconcile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// errLeased is returned when somebody else holds a lease.
var errLeased = errors.New("reconcile: leased by somebody else")

// lease is the right to do something alone until it expires by the database's clock. The holding's token tells it from a later
// holding of the same process.
type lease struct {
	r       *Reconciler
	name    string
	token   int64
	length  time.Duration
	renewAt time.Time // by the database's clock
}

// acquire takes a lease that is free or has expired. It returns errLeased when it is held.
func (r *Reconciler) acquire(ctx context.Context, name string, length time.Duration) (*lease, error) {
	l := &lease{r: r, name: name, length: length}
	err := r.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now, err := r.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		until := now.Add(length)
		// A new row counts 1, one that is there 0: the insert changes nothing but locks it.
		result, err := tx.ExecContext(ctx, `INSERT INTO lease (name, holder, token, acquired_at, expires_at) VALUES (?, ?, 1, ?, ?)
 ON DUPLICATE KEY UPDATE name = name`, name, r.holder, now, until)
		if err != nil {
			return err
		}
		if inserted, err := result.RowsAffected(); err != nil || inserted == 1 {
			l.token, l.renewAt = 1, now.Add(length/3)
			return err
		}
		result, err = tx.ExecContext(ctx, `UPDATE lease SET holder = ?, token = token + 1, acquired_at = ?, expires_at = ?
 WHERE name = ? AND expires_at <= ?`, r.holder, now, until, name, now)
		if err != nil {
			return err
		}
		if taken, err := result.RowsAffected(); err != nil || taken == 0 {
			return errors.Join(err, errLeased)
		}
		l.renewAt = now.Add(length / 3)
		return tx.QueryRowContext(ctx, `SELECT token FROM lease WHERE name = ?`, name).Scan(&l.token)
	})
	if err != nil {
		return nil, fmt.Errorf("lease %s: %w", name, err)
	}
	return l, nil
}

// renew keeps the lease when a third of its time is over. It returns errLeased when it was lost.
func (l *lease) renew(ctx context.Context) error {
	now, err := l.r.db.Now(ctx, l.r.db)
	if err != nil {
		return err
	}
	if now.Before(l.renewAt) {
		return nil
	}
	result, err := l.r.db.ExecContext(ctx, `UPDATE lease SET expires_at = ? WHERE name = ? AND holder = ? AND token = ? AND expires_at > ?`,
		now.Add(l.length), l.name, l.r.holder, l.token, now)
	if err != nil {
		return fmt.Errorf("lease %s: %w", l.name, err)
	}
	kept, err := result.RowsAffected()
	if err != nil {
		return fmt.Errorf("lease %s: %w", l.name, err)
	}
	if kept == 0 {
		return fmt.Errorf("lease %s: %w", l.name, errLeased)
	}
	l.renewAt = now.Add(l.length / 3)
	return nil
}

// releaseBudget bounds giving a lease back, which is tried even when the caller's time is over.
const releaseBudget = 2 * time.Second

// release gives the lease back. If it fails the lease just runs out.
func (l *lease) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseBudget)
	defer cancel()
	now, err := l.r.db.Now(ctx, l.r.db)
	if err == nil {
		_, err = l.r.db.ExecContext(ctx, `UPDATE lease SET expires_at = ? WHERE name = ? AND holder = ? AND token = ?`,
			now, l.name, l.r.holder, l.token)
	}
	if err != nil {
		l.r.log.Warn("a lease was not given back and will run out", "lease", l.name, "error", err)
	}
}

package reconcile

import (
	"context"
	"database/sql"
	"time"

	"holdfast/shared/sqltx"
)

// errLeased is returned when somebody else holds a lease.
var errLeased = sqltx.ErrLeased

// lease is the right to do something alone until it expires by the database's clock, which is kept by renewing it.
type lease struct {
	sqltx.Lease
	r       *Reconciler
	length  time.Duration
	renewAt time.Time // by the database's clock
}

// acquire takes a lease that is free or has expired. It returns errLeased when it is held.
func (r *Reconciler) acquire(ctx context.Context, name string, length time.Duration) (*lease, error) {
	l := &lease{r: r, length: length}
	err := r.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now, err := r.db.Now(ctx, tx)
		if err != nil {
			return err
		}
		l.renewAt = now.Add(length / 3)
		l.Lease, err = sqltx.TakeLease(ctx, tx, name, r.holder, now, length)
		return err
	})
	if err != nil {
		return nil, err
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
	if err := l.Renew(ctx, l.r.db, now, now.Add(l.length)); err != nil {
		return err
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
		err = l.End(ctx, l.r.db, now)
	}
	if err != nil {
		l.r.log.Warn("a lease was not given back and will run out", "lease", l.Name, "error", err)
	}
}

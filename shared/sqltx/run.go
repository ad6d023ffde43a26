package sqltx

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// How often and how long Run tries. Five deadlocks in a row mean that the order of locks is wrong somewhere, not bad luck. A broken
// connection is tried once more only: what broke it took up to a read timeout.
const (
	maxAttempts  = 5
	maxReconnect = 1
	firstPause   = 5 * time.Millisecond
	longestPause = 200 * time.Millisecond
)

// Run runs f in a transaction and commits it, as the package comment says: f runs again, from its beginning, after a deadlock, a lock
// wait that took too long, or a connection that broke before COMMIT.
//
// It returns f's error as it is, after a rollback; ErrUnavailable (wrapped) when the database could not be reached or was lost before
// COMMIT, so that nothing was committed; ErrCommitUnclear (wrapped) when COMMIT was sent and no answer came; ctx's error, wrapped in
// ErrUnavailable when its deadline passed, if nothing was committed.
func (d *DB) Run(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	reconnects := 0
	for attempt := 1; ; attempt++ {
		err := d.once(ctx, f)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrCommitUnclear):
			return err
		case Retryable(err) && attempt < maxAttempts:
		case connectionLost(err) && reconnects < maxReconnect:
			reconnects++
		default:
			return asUnavailable(err)
		}
		if !d.Wait(ctx, min(firstPause<<attempt, longestPause)) { // the bound doubles with every attempt, up to a limit
			return asUnavailable(err)
		}
	}
}

// once runs f in one transaction. A panic of f rolls back and goes on.
func (d *DB) once(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	tx, err := d.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	open := true
	defer func() {
		if open {
			_ = tx.Rollback() // A rollback that fails means a broken connection, and the server rolls back by itself.
		}
	}()
	if err := f(ctx, tx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil { // COMMIT looks too, but may not have heard of a deadline that has just passed
		return fmt.Errorf("not committed: %w", err)
	}
	open = false
	return commitError(tx.Commit())
}

// commitError tells a COMMIT that did not happen from one that may have. database/sql answers ctx's error or ErrTxDone without
// sending anything; refusedCommit lists the words of a server that has rolled back. Whatever else went wrong, it may have happened.
func commitError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, sql.ErrTxDone):
		return fmt.Errorf("not committed: %w", err)
	case refusedCommit(err):
		return fmt.Errorf("not committed: %w", err)
	}
	return fmt.Errorf("%w: %w", ErrCommitUnclear, err)
}

// wait waits a random time up to the bound, so that two that met do not meet again. It returns false when ctx ends first.
func wait(ctx context.Context, bound time.Duration) bool {
	timer := time.NewTimer(time.Millisecond + rand.N(bound))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

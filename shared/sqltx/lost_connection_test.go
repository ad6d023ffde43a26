package sqltx_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"testing"

	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

func contains(text string) func([]byte) bool {
	return func(chunk []byte) bool { return bytes.Contains(chunk, []byte(text)) }
}

func TestCommitCutOffAfterItHappenedIsUnclearAndTheRowIsFoundByKey(t *testing.T) {
	t.Parallel()
	dsn, look := tally(t)
	proxy, through := testenv.ProxyMySQL(t, dsn)
	db := open(t, through)
	proxy.CutAfter(contains("COMMIT"))
	runs := 0
	insert := func(ctx context.Context, tx *sql.Tx) error {
		runs++
		if _, err := tx.ExecContext(ctx, `INSERT INTO tally (name, n) VALUES ('order', 1)`); err != nil {
			return err
		}
		return add(ctx, tx, "a")
	}
	err := db.Run(t.Context(), insert)
	if !errors.Is(err, sqltx.ErrCommitUnclear) || errors.Is(err, sqltx.ErrUnavailable) || sqltx.Unavailable(err) {
		t.Errorf("got %v, want ErrCommitUnclear alone", err)
	}
	if proxy.Cuts() != 1 || runs != 1 {
		t.Errorf("%d cuts and %d runs: an unclear COMMIT must not be repeated", proxy.Cuts(), runs)
	}
	proxy.CutAfter(nil)
	// What the caller does next: look by the key, with a lock, through the same pool.
	err = db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		var n int
		return tx.QueryRowContext(ctx, `SELECT n FROM tally WHERE name = 'order' FOR UPDATE`).Scan(&n)
	})
	if err != nil {
		t.Errorf("the committed row was not found: %v", err)
	}
	want(t, look, "a", 1)
}

func TestCommitCutOffBeforeItHappenedIsUnclearAndNoRowIsFound(t *testing.T) {
	t.Parallel()
	dsn, look := tally(t)
	proxy, through := testenv.ProxyMySQL(t, dsn)
	db := open(t, through)
	proxy.CutBefore(contains("COMMIT"))
	err := db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error { return add(ctx, tx, "a") })
	if !errors.Is(err, sqltx.ErrCommitUnclear) {
		t.Errorf("got %v, want ErrCommitUnclear", err)
	}
	want(t, look, "a", 0)
}

func TestConnectionLostBeforeCommitRunsTheWholeTransactionOnceMore(t *testing.T) {
	t.Parallel()
	dsn, look := tally(t)
	proxy, through := testenv.ProxyMySQL(t, dsn)
	db := open(t, through)
	proxy.CutAfter(contains("UPDATE tally")) // The server did it and will roll it back, for the connection is gone.
	runs := 0
	err := db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		if runs++; runs == 2 {
			proxy.CutAfter(nil)
		}
		return add(ctx, tx, "a")
	})
	if err != nil || runs != 2 || proxy.Cuts() != 1 {
		t.Errorf("got %v after %d runs and %d cuts, want success in the second run", err, runs, proxy.Cuts())
	}
	want(t, look, "a", 1)
}

func TestConnectionLostAgainAndAgainIsUnavailable(t *testing.T) {
	t.Parallel()
	dsn, look := tally(t)
	proxy, through := testenv.ProxyMySQL(t, dsn)
	db := open(t, through)
	proxy.CutAfter(contains("UPDATE tally"))
	runs := 0
	err := db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		runs++
		return add(ctx, tx, "a")
	})
	if !errors.Is(err, sqltx.ErrUnavailable) || runs != 2 {
		t.Errorf("got %v after %d runs, want ErrUnavailable after 2", err, runs)
	}
	want(t, look, "a", 0)
}

// A statement outside a transaction commits by itself. When its answer is lost the pool must not send it again.
func TestStatementWithItsAnswerLostIsNotSentTwice(t *testing.T) {
	t.Parallel()
	dsn, look := tally(t)
	proxy, through := testenv.ProxyMySQL(t, dsn)
	db := open(t, through)
	proxy.CutAfter(contains("UPDATE tally"))
	err := add(t.Context(), db, "a")
	if !sqltx.Unavailable(err) || proxy.Cuts() != 1 {
		t.Errorf("got %v after %d cuts, want one lost answer", err, proxy.Cuts())
	}
	want(t, look, "a", 1)
}

package sqltx_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

func TestDeadlockRunsTheWholeTransactionAgain(t *testing.T) {
	t.Parallel()
	dsn, look := tally(t)
	db := open(t, dsn)
	// Both lock one row and wait for the other before they want its row: the server must break one of them off.
	var meet sync.WaitGroup
	meet.Add(2)
	runs := [2]int{}
	work := func(i int, first, second string) error {
		return db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			runs[i]++
			if err := add(ctx, tx, first); err != nil {
				return err
			}
			if runs[i] == 1 {
				meet.Done()
				meet.Wait()
			}
			return add(ctx, tx, second)
		})
	}
	ended := make(chan error, 2)
	go func() { ended <- work(0, "a", "b") }()
	go func() { ended <- work(1, "b", "a") }()
	for range 2 {
		if err := <-ended; err != nil {
			t.Errorf("a deadlock reached the caller: %v", err)
		}
	}
	if runs[0]+runs[1] < 3 {
		t.Errorf("the transactions ran %v times: there was no deadlock to repeat", runs)
	}
	want(t, look, "a", 2)
	want(t, look, "b", 2)
}

func TestDeadlocksAreRepeatedABoundedNumberOfTimes(t *testing.T) {
	t.Parallel()
	dsn, look := tally(t)
	db := open(t, dsn)
	runs := 0
	err := db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		runs++
		if err := add(ctx, tx, "a"); err != nil {
			return err
		}
		return fmt.Errorf("wrapped: %w", &mysql.MySQLError{Number: 1213, Message: "Deadlock found"})
	})
	if !sqltx.Retryable(err) || runs != 5 {
		t.Errorf("got %v after %d runs, want the deadlock after 5", err, runs)
	}
	want(t, look, "a", 0)
}

func TestErrorAndPanicRollBackAndKeepTheConnectionUsable(t *testing.T) {
	t.Parallel()
	dsn, look := tally(t)
	db := open(t, dsn)
	refusal := errors.New("refused")
	for range 5 { // More often than the pool has connections: a leaked one would block.
		err := db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			return errors.Join(add(ctx, tx, "a"), refusal)
		})
		if !errors.Is(err, refusal) || sqltx.Unavailable(err) {
			t.Errorf("got %v, want the function's own error", err)
		}
		func() {
			defer func() {
				if recover() != "broken" {
					t.Error("the panic did not reach the caller")
				}
			}()
			_ = db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				_ = add(ctx, tx, "a")
				panic("broken")
			})
		}()
	}
	want(t, look, "a", 0)
}

func TestDeadlineEndsTheTransactionWithNothingCommitted(t *testing.T) {
	t.Parallel()
	dsn, look := tally(t)
	db := open(t, dsn)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := add(ctx, tx, "a"); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `SELECT SLEEP(1)`)
		return err
	})
	if !errors.Is(err, sqltx.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want ErrUnavailable for a deadline", err)
	}
	want(t, look, "a", 0)
}

func TestDeadlinePassedBeforeCommitIsNotUnclear(t *testing.T) {
	t.Parallel()
	dsn, look := tally(t)
	db := open(t, dsn)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		err := add(ctx, tx, "a")
		<-ctx.Done()
		return err
	})
	if errors.Is(err, sqltx.ErrCommitUnclear) || !sqltx.Unavailable(err) && !errors.Is(err, sql.ErrTxDone) {
		t.Errorf("got %v, want an error that says that nothing was committed", err)
	}
	want(t, look, "a", 0)
}

func TestRefusedPortIsUnavailableAtOnce(t *testing.T) {
	t.Parallel()
	proxy, dsn := testenv.ProxyMySQL(t, testenv.MySQLDSN(t))
	proxy.Down()
	db := open(t, dsn)
	began := time.Now()
	err := db.Run(t.Context(), func(context.Context, *sql.Tx) error { return nil })
	if !errors.Is(err, sqltx.ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("a refused connection took %v", took)
	}
}

func TestNowIsTheServersClockPlusTheOffset(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.MySQLDSN(t))
	plain, err := db.Now(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	moved, err := sqltx.New(db.DB, func() time.Duration { return 48 * time.Hour }).Now(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if off := time.Since(plain).Abs(); off > time.Minute || plain.Location() != time.UTC {
		t.Errorf("the clock says %v", plain)
	}
	if d := moved.Sub(plain); d < 48*time.Hour || d > 48*time.Hour+time.Minute {
		t.Errorf("an offset of 48 h moved the clock by %v", d)
	}
}

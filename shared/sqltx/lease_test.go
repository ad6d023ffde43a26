package sqltx_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

func TestLeaseIsOneHoldersUntilItRunsOutOrIsGivenBack(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.MySQLDSN(t))
	now := time.Date(2031, 5, 1, 10, 0, 0, 0, time.UTC)
	take := func(holder string, after time.Duration) (l sqltx.Lease, err error) {
		err = db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			l, err = sqltx.TakeLease(ctx, tx, "n", holder, now.Add(after), time.Minute)
			return err
		})
		return l, err
	}
	first, err := take("a", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := take("a", time.Minute-time.Millisecond); !errors.Is(err, sqltx.ErrLeased) {
		t.Errorf("while it is held: %v", err)
	}
	second, err := take("a", time.Minute)
	if err != nil || second.Token == first.Token {
		t.Fatalf("at the instant at which it runs out: %+v, %v", second, err)
	}
	if err := first.Renew(t.Context(), db, now.Add(time.Minute), now.Add(time.Hour)); !errors.Is(err, sqltx.ErrLeased) {
		t.Errorf("the same holder renews a holding that it has lost: %v", err)
	}
	if err := first.End(t.Context(), db, now.Add(time.Minute)); err != nil {
		t.Error(err)
	}
	if err := second.Renew(t.Context(), db, now.Add(90*time.Second), now.Add(time.Hour)); err != nil {
		t.Errorf("after the late end of another holding: %v", err)
	}
	if _, err := take("b", 30*time.Minute); !errors.Is(err, sqltx.ErrLeased) {
		t.Errorf("after it was renewed: %v", err)
	}
	if err := second.End(t.Context(), db, now.Add(40*time.Minute)); err != nil {
		t.Error(err)
	}
	if _, err := take("b", 40*time.Minute); err != nil {
		t.Errorf("after it was given back: %v", err)
	}
}

func TestSnapshotSeesOneMoment(t *testing.T) {
	t.Parallel()
	dsn, look := tally(t)
	db := open(t, dsn)
	read := func(q sqltx.Querier) (n int) {
		if err := q.QueryRowContext(t.Context(), `SELECT n FROM tally WHERE name = 'a'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	err := db.Snapshot(t.Context(), func(tx *sql.Tx) error {
		before := read(tx)
		must(t, look, `UPDATE tally SET n = n + 1 WHERE name = 'a'`)
		if after := read(tx); after != before || read(db) != before+1 {
			t.Errorf("%d became %d", before, after)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

package reconcile

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

// A run belongs to the one who took it up for as long as he shows that he lives.
func TestRunThatDiedIsTakenUpAndOneThatLivesIsNot(t *testing.T) {
	t.Parallel()
	pool, err := sqltx.Open(testenv.MySQLDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	db := sqltx.New(pool, nil)
	now := time.Date(2031, 5, 1, 10, 0, 0, 0, time.UTC)
	var run Run
	err = db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) (err error) {
		if _, err = insertRun(ctx, tx, RunRequest{ActivityID: "a", Mode: Repairing, Cause: ByEvidence}, now); err == nil {
			run, err = activeRun(ctx, tx, "a")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		what string
		at   time.Duration
		want bool
	}{
		{"it waits", 0, true},
		{"it was just taken up", time.Second, false},
		{"its runner lives", runStale - time.Second, false},
		{"its runner has given no sign for too long", runStale, true},
		{"it was taken up again", runStale + time.Second, false},
	} {
		at := now.Add(step.at)
		if got, err := claimRun(t.Context(), db, run.ID, at, at.Add(-runStale)); err != nil || got != step.want {
			t.Errorf("%s: taken up %v, %v; want %v", step.what, got, err, step.want)
		}
		waiting, err := waitingRuns(t.Context(), db, at.Add(time.Millisecond-runStale), 10)
		if err != nil || len(waiting) != 0 {
			t.Errorf("%s: %d runs wait after it was tried, %v", step.what, len(waiting), err)
		}
	}
}

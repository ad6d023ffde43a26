package money_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/shared/metric"
	"holdfast/shared/reconcile"
	"holdfast/shared/reconcile/money"
)

func TestARoundThatWasCutOffIsGoneOnWith(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sound()
	if sum, err := money.Resume(t.Context(), w.db, nil, money.Config{}); err != nil || sum.RoundID != "" {
		t.Fatalf("there is nothing to go on with: %+v, %v", sum, err)
	}
	first, err := money.Run(t.Context(), w.db, nil, money.Config{Budget: time.Nanosecond})
	if err == nil || first.Status == "SUCCEEDED" {
		t.Fatalf("within no time: %+v, %v", first, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.db.Offset = func() time.Duration { // ends the run between two pages
		var at string
		_ = w.db.QueryRowContext(t.Context(), `SELECT COALESCE(MAX(parameters), '') FROM job WHERE kind = 'MONEY_RECONCILIATION'`).Scan(&at)
		if strings.Contains(at, `"step":"WALLETS"`) {
			cancel()
		}
		return w.advance
	}
	cut, err := money.Run(ctx, w.db, nil, money.Config{Budget: time.Minute, PageSize: 3})
	if err == nil || cut.Status != "QUEUED" || cut.Orders != 8 {
		t.Fatalf("cut off: %+v, %v", cut, err)
	}
	w.db.Offset = nil
	last, err := money.Resume(t.Context(), w.db, nil, money.Config{Budget: time.Minute, PageSize: 3})
	if err != nil || last.Status != "SUCCEEDED" || last.RoundID != cut.RoundID || last.Orders != 8 || last.Wallets != 4 {
		t.Errorf("gone on with: %+v, %v", last, err)
	}
}

// cutAt ends a run at the first look at the clock while its job says that the round is at a step.
func (w *world) cutAt(step string) money.Summary {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	w.db.Offset = func() time.Duration {
		var at string
		_ = w.db.QueryRowContext(w.t.Context(), `SELECT parameters FROM job WHERE kind = 'MONEY_RECONCILIATION' AND active = 1`).Scan(&at)
		if strings.Contains(at, `"step":"`+step+`"`) {
			cancel()
		}
		return w.advance
	}
	defer func() { w.db.Offset = func() time.Duration { return w.advance } }()
	sum, err := money.Run(ctx, w.db, metric.New(&w.printed, time.Now), money.Config{Budget: time.Minute, PageSize: 3})
	if err == nil || sum.Status != "QUEUED" {
		w.t.Fatalf("it was not cut off: %+v, %v", sum, err)
	}
	return sum
}

func TestWhatIsGoneIsMarkedByALaterRunWhenTheLastOneWasCutOffBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sound()
	w.exec(`UPDATE wallet SET available = available + 0.01 WHERE user_id = 'bob'`)
	w.round()
	w.exec(`UPDATE wallet SET available = available - 0.01 WHERE user_id = 'bob'`)
	cut := w.cutAt("ACCOUNTS") // everything is compared, and what was not found again is not marked yet
	if open := w.differences(reconcile.DifferenceOpen); len(open) != 3 {
		t.Fatalf("cut off too late: open %q", open)
	}
	last, err := money.Resume(t.Context(), w.db, nil, money.Config{Budget: time.Minute, PageSize: 3})
	if err != nil || last.RoundID != cut.RoundID || last.Status != "SUCCEEDED" {
		t.Fatalf("gone on with: %+v, %v", last, err)
	}
	if open, gone := w.differences(reconcile.DifferenceOpen), w.differences(reconcile.DifferenceGone); len(open) != 0 || len(gone) != 3 {
		t.Errorf("open %q, gone %q", open, gone)
	}
}

func TestSumsThatARunHasNoTimeForAreAnErrorAndEndTheRound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sound()
	w.exec(`UPDATE deposit_record SET refunded = 29 WHERE status = 'PENALTY'`)
	conn, err := w.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), `LOCK TABLES account WRITE`); err != nil { // the sums wait for it
		t.Fatal(err)
	}
	m := metric.New(&w.printed, time.Now)
	var seen, runs int
	var sum money.Summary
	for sum.Status != "FAILED" && runs < 20 {
		runs++
		if sum, err = money.Run(t.Context(), w.db, m, money.Config{Budget: time.Second}); err != nil {
			seen++
		}
	}
	if sum.Status != "FAILED" || err == nil || seen == 0 || sum.Differences != 1 {
		t.Fatalf("after %d runs, of which %d failed: %+v, %v", runs, seen, sum, err)
	}
	job, err := reconcile.GetJob(t.Context(), w.db, sum.RoundID)
	if err != nil || job.Status != "FAILED" || job.Problem == "" {
		t.Errorf("%+v, %v", job, err)
	}
	if line := `"deposit_reconciliation_diff_total":1`; !strings.Contains(w.printed.String(), line) {
		t.Errorf("printed %q, want what the round had found", w.printed.String())
	}
	if _, err := conn.ExecContext(t.Context(), `UNLOCK TABLES`); err != nil {
		t.Fatal(err)
	}
	if next := w.round(); next.RoundID == sum.RoundID || next.Orders != 8 {
		t.Errorf("no new round was begun: %+v", next)
	}
}

func TestTwoRunsAtOnceDoOneRound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.sound()
	w.exec(`UPDATE wallet SET available = available + 0.01 WHERE user_id = 'bob'`)
	sums := make([]money.Summary, 4)
	var group sync.WaitGroup
	for i := range sums {
		group.Go(func() {
			var err error
			if sums[i], err = money.Run(context.Background(), w.db, nil, money.Config{Budget: time.Minute, PageSize: 3}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	rounds := map[string]bool{}
	for _, sum := range sums {
		rounds[sum.RoundID] = true
	}
	list, err := reconcile.ListDifferences(t.Context(), w.db, reconcile.DifferenceFilter{Status: reconcile.DifferenceOpen}, 1<<40, 10)
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, d := range list {
		if d.Occurrences > len(rounds) {
			t.Errorf("%s was counted %d times in %d rounds", d.Kind, d.Occurrences, len(rounds))
		}
	}
}

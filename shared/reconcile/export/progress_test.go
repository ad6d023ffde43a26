package export_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"holdfast/shared/reconcile"
	"holdfast/shared/reconcile/export"
	"holdfast/shared/sale"
)

// runPages makes a run whose time is over before its page number n+1, however long pages take.
func (w *world) runPages(n int) export.Summary {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	read := 0
	sum, err := export.Run(export.Watch(ctx, func() {
		if read++; read > n {
			cancel()
		}
	}), w.db, w.store, time.Minute)
	if err != nil {
		w.t.Fatal(err)
	}
	return sum
}

func (w *world) job(j *reconcile.Job) *reconcile.Job {
	w.t.Helper()
	j, err := reconcile.GetJob(w.t.Context(), w.db, j.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return j
}

// Of many rows hardly any are wanted: what a run has looked through stays looked through, with the few lines it found.
func TestAFileOfFewAmongManyRowsEndsThoughNoRunReadsThemAll(t *testing.T) {
	t.Parallel()
	for name, wanted := range map[string]string{"none": "", "some at the beginning": "entry_id <= 3", "some all over": "entry_id % 3000 = 1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.fill(15_000)
			from := time.Date(2031, 6, 1, 0, 0, 0, 0, time.UTC)
			if wanted != "" {
				w.exec(`UPDATE wallet_log SET at = '2031-06-02' WHERE ` + wanted)
			}
			want := 0
			if err := w.db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM wallet_log WHERE at >= ?`, from).Scan(&want); err != nil {
				t.Fatal(err)
			}
			j := w.ask(export.Wish{Kind: export.Watched, From: &from})
			runs := 0
			for w.job(j).Status == "QUEUED" && runs < 20 {
				w.runPages(2)
				runs++
			}
			if runs > 6 || w.job(j).Status != "SUCCEEDED" {
				t.Fatalf("after %d runs of 2 pages each it is %+v", runs, w.job(j))
			}
			if lines := w.file(j); len(lines) != want+1 || lines[0][0] != "entryId" {
				t.Errorf("%d lines, want %d", len(lines), want+1)
			}
		})
	}
}

func TestAFileThatTakesManyRunsLetsOthersHaveTheirTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(15_000)
	from := time.Date(2031, 6, 1, 0, 0, 0, 0, time.UTC)
	long := w.ask(export.Wish{Kind: export.Watched, From: &from})
	other := w.ask(export.Wish{Kind: export.Orders})
	w.runPages(1)
	if sum := w.runPages(1); sum.Written != 1 || w.job(other).Status != "SUCCEEDED" || w.job(long).Status != "QUEUED" {
		t.Errorf("%+v: the other is %s", sum, w.job(other).Status)
	}
}

func TestAFileOfWhichNoRunWritesAnythingFailsInTheEndAndSaysWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(6000)
	var passed time.Duration
	w.db.Offset = func() time.Duration { return passed }
	j := w.ask(export.Wish{Kind: export.Watched})
	for range 20 { // runs with hardly any time, which say nothing about the file
		w.runPages(1)
	}
	if w.job(j).Status != "QUEUED" {
		t.Fatalf("%+v", w.job(j))
	}
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		read := 0
		_, err := export.Run(export.Watch(ctx, func() {
			if read++; read > 1 {
				passed += 30 * time.Second
				cancel()
			}
		}), w.db, w.store, time.Minute)
		if cancel(); err != nil {
			t.Fatal(err)
		}
	}
	if j := w.job(j); j.Status != "FAILED" || !strings.Contains(j.Problem, "shorter time") {
		t.Errorf("%+v", j)
	}
}

func TestARunWithoutTimeLeavesEveryFileToTheNext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.ask(export.Wish{Kind: export.Orders})
	over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if sum, err := export.Run(over, w.db, w.store, time.Minute); err != nil || sum != (export.Summary{}) || w.job(j).Status != "QUEUED" {
		t.Errorf("%+v, %v, %s", sum, err, w.job(j).Status)
	}
}

func TestTheLedgerOfAnActivityIsWrittenWholeOverManyPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.activity(7)
	w.fill(9000)
	mine, other := []sale.OrderID{{5: 7, 6: 0x80, 8: 0x80}, {5: 7, 6: 0x80, 7: 2, 8: 0x80}}, sale.OrderID{5: 8, 6: 0x80, 8: 0x80}
	w.exec(`UPDATE wallet_log SET order_id = CASE entry_id % 3 WHEN 0 THEN ? WHEN 1 THEN ? ELSE ? END WHERE entry_id <= 8000`,
		mine[0][:], mine[1][:], other[:])
	seen := map[string]bool{}
	for _, line := range w.file(w.ask(export.Wish{Kind: export.Ledger, ActivityID: "a7"}))[1:] {
		if seen[line[0]] = true; line[4] != mine[0].String() && line[4] != mine[1].String() {
			t.Fatalf("%q is of another sale", line)
		}
	}
	if want := 8000/3 + (8000+2)/3; len(seen) != want {
		t.Errorf("%d entries, want %d", len(seen), want)
	}
}

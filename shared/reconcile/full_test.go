package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"holdfast/shared/order"
	"holdfast/shared/reconcile"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// reconcileNow runs the full reconcile of the world's activity, which must come to its end without an error.
func (w *world) reconcileNow(mode reconcile.Mode) reconcile.Run {
	w.t.Helper()
	run, err := w.reconciler.Reconcile(w.t.Context(), reconcile.RunRequest{ActivityID: w.activity.ID, Mode: mode, Cause: reconcile.ByOperator})
	if err != nil || run.Status != reconcile.StatusSucceeded {
		w.t.Fatalf("run %+v, %v", run, err)
	}
	return run
}

// differences reads the world's open differences, as "KIND subject".
func (w *world) differences() []string {
	w.t.Helper()
	var out []string
	for _, d := range w.openDifferences() {
		out = append(out, string(d.Kind)+" "+d.Subject)
	}
	slices.Sort(out)
	return out
}

func (w *world) openDifferences() []reconcile.Difference {
	w.t.Helper()
	list, err := reconcile.ListDifferences(w.t.Context(), w.db, reconcile.DifferenceFilter{Status: reconcile.DifferenceOpen,
		ActivityID: w.activity.ID}, 1<<62, 100_000)
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

func (w *world) key(name string) string { return "hf:{" + w.activity.ID + "}:" + name }

func (w *world) exec(query string, args ...any) {
	w.t.Helper()
	if _, err := w.db.ExecContext(w.t.Context(), query, args...); err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// lose takes an order's taking out of Redis as if it had never arrived there: entry, units, mark.
func (w *world) lose(o order.Order) {
	w.t.Helper()
	field := "t" + string(o.ID[:])
	w.must(w.rdb.HDel(w.t.Context(), w.key("log"), field).Err())
	w.shift(o.UserID, o.TicketType, o.Allocations, o.Quantity)
}

// revive takes an order's dying out of Redis as if it had never arrived there.
func (w *world) revive(o order.Order) {
	w.t.Helper()
	field := "xt" + string(o.ID[:])
	w.must(w.rdb.HDel(w.t.Context(), w.key("log"), field).Err())
	w.shift(o.UserID, o.TicketType, o.Allocations, -o.Quantity)
}

// shift moves counters and a mark by units that come free (positive) or are taken.
func (w *world) shift(user, ticketType string, allocations sale.Allocations, units int) {
	w.t.Helper()
	ctx := w.t.Context()
	sign := 1
	if units < 0 {
		sign = -1
	}
	w.must(w.rdb.HIncrBy(ctx, w.key("rules"), "left:"+ticketType, int64(units)).Err())
	for _, a := range allocations {
		w.must(w.rdb.HIncrBy(ctx, w.key("rules"), fmt.Sprintf("left:%s:%d", ticketType, a.Bucket), int64(sign*a.Count)).Err())
	}
	w.shiftMark(user, -units)
}

func (w *world) shiftMark(user string, units int) {
	w.t.Helper()
	mark, err := w.rdb.HGet(w.t.Context(), w.key("buyers"), "u"+user).Result()
	w.must(err)
	held := 0
	fmt.Sscanf(mark[:len(mark)-17], "%d", &held)
	w.must(w.rdb.HSet(w.t.Context(), w.key("buyers"), "u"+user, fmt.Sprint(held+units)+mark[len(mark)-17:]).Err())
}

func TestReconcileOfASoundSaleFindsNothingAndSetsStatusFour(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	w.buy("a", "k", 2)
	w.cancel(w.buy("b", "k", 1))
	w.mustReserve("c", "k", 1)
	run := w.reconcileNow(reconcile.Repairing)
	if run.Checked != 3 || run.Consistent != 2 || run.InFlight != 1 || len(run.Repaired) != 0 || run.Differences != 0 || run.Activities != 1 {
		t.Errorf("%+v", run)
	}
	if n := w.count("SELECT COUNT(*) FROM stock_log WHERE reconciliation_status = 4"); n != 3 {
		t.Errorf("%d rows of the stock log are consistent, want 3", n)
	}
}

func TestLostEntryIsAdoptedAndLostDeathReleased(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	lost, dead := w.buy("a", "k", 2), w.buy("b", "k", 3)
	w.cancel(dead)
	w.lose(lost)
	w.revive(dead)
	dry := w.reconcileNow(reconcile.DryRun)
	if w.snapshot().Types[ticket].Left == 98 {
		t.Error("a dry run mended something")
	}
	run := w.reconcileNow(reconcile.Repairing)
	if want := map[reconcile.MendKind]int{reconcile.MendAdopt: 1, reconcile.MendRelease: 1}; !maps.Equal(run.Repaired, want) || !maps.Equal(dry.Repaired, want) {
		t.Errorf("repaired %v, the dry run would have %v", run.Repaired, dry.Repaired)
	}
	would, err := reconcile.RunDetail(t.Context(), w.db, dry.ID)
	w.must(err)
	did, err := reconcile.RunDetail(t.Context(), w.db, run.ID)
	w.must(err)
	if len(would) != 2 || fmt.Sprint(show(would)) != fmt.Sprint(show(did)) {
		t.Errorf("would %v, did %v", show(would), show(did))
	}
	if len(w.differences()) != 0 {
		t.Errorf("%v", w.differences())
	}
	if n := w.count("SELECT COUNT(*) FROM repair WHERE layer = 3 AND kind IN ('ADOPT', 'RELEASE')"); n != 2 {
		t.Errorf("%d repairs written down", n)
	}
	w.agree()
}

func show(list []reconcile.Mended) []string {
	out := make([]string, len(list))
	for i, m := range list {
		out[i] = string(m.Kind) + " " + m.AdjustmentID
		if m.OrderID != nil {
			out[i] += m.OrderID.String()
		}
	}
	return out
}

func TestRunWhileOneWaitsIsThatOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	w.must(stock.ReportLoss(t.Context(), w.db, w.activity.ID, time.Now()))
	w.must(stock.ReportLoss(t.Context(), w.db, w.activity.ID, time.Now()))
	if n := w.count("SELECT COUNT(*) FROM reconcile_run"); n != 1 {
		t.Fatalf("%d runs", n)
	}
	run, err := w.reconciler.Reconcile(t.Context(), reconcile.RunRequest{ActivityID: w.activity.ID, Mode: reconcile.DryRun, Cause: reconcile.ByOperator})
	if err != nil || run.Cause != reconcile.ByEvidence || run.Mode != reconcile.Repairing || run.Status != reconcile.StatusSucceeded {
		t.Errorf("%+v, %v", run, err)
	}
	if n, err := w.reconciler.RunQueued(t.Context(), time.Minute); n != 0 || err != nil {
		t.Errorf("%d more, %v", n, err)
	}
	w.must(stock.ReportLoss(t.Context(), w.db, w.activity.ID, time.Now()))
	if n, err := w.reconciler.RunQueued(t.Context(), time.Minute); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func TestRunWhileSomebodyIsAtOneIsThatOneAsItStands(t *testing.T) {
	t.Parallel()
	for name, activity := range map[string]bool{"one sale": true, "all sales": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, plan{})
			wish := reconcile.RunRequest{Mode: reconcile.DryRun, Cause: reconcile.ByOperator, RequestedBy: "second"}
			if activity {
				wish.ActivityID = w.activity.ID
			}
			now, err := w.db.Now(t.Context(), w.db)
			w.must(err)
			w.exec(`INSERT INTO reconcile_run (run_id, mode, cause, activity_id, status, created_at, started_at, updated_at)
 VALUES ('theirs', 'REPAIR', 'SCHEDULE', ?, 'RUNNING', ?, ?, ?)`, wish.ActivityID, now.Add(-time.Hour), now.Add(-time.Hour), now)
			run, err := w.reconciler.Reconcile(t.Context(), wish)
			if err != nil || run.ID != "theirs" || run.Status != reconcile.StatusRunning || run.Mode != reconcile.Repairing || run.FinishedAt != nil {
				t.Errorf("%+v, %v", run, err)
			}
			stands := w.count(`SELECT COUNT(*) FROM reconcile_run WHERE run_id = 'theirs' AND status = 'RUNNING' AND started_at = ? AND updated_at = ?
 AND requested_by IS NULL`, now.Add(-time.Hour), now)
			if n := w.count("SELECT COUNT(*) FROM reconcile_run"); n != 1 || stands != 1 {
				t.Errorf("%d runs, and %d as theirs stood", n, stands)
			}
			w.exec("UPDATE reconcile_run SET status = 'SUCCEEDED', finished_at = updated_at")
			if run, err := w.reconciler.Reconcile(t.Context(), wish); err != nil || run.ID == "theirs" || run.Status != reconcile.StatusSucceeded {
				t.Errorf("once theirs is over: %+v, %v", run, err)
			}
		})
	}
}

func TestRunWhoseTimeIsOverWaitsAndIsGoneOnWith(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	w.buy("a", "k", 2)
	if _, err := w.reconciler.Reconcile(t.Context(), reconcile.RunRequest{ActivityID: "nobody", Mode: reconcile.Repairing, Cause: reconcile.ByOperator}); err == nil {
		t.Error("an unknown activity was reconciled")
	}
	w.must(stock.ReportLoss(t.Context(), w.db, w.activity.ID, time.Now()))
	w.exec("UPDATE reconcile_run SET status = 'RUNNING', started_at = ?, updated_at = ?", time.Now().UTC(), time.Now().UTC())
	if n, err := w.reconciler.RunQueued(t.Context(), time.Minute); n != 0 || err != nil {
		t.Errorf("a run that somebody does was done: %d, %v", n, err)
	}
	w.advance(3 * time.Minute)
	if n, err := w.reconciler.RunQueued(t.Context(), time.Minute); n != 1 || err != nil {
		t.Errorf("a run whose runner died was left: %d, %v", n, err)
	}
}

func TestScheduledRunPassesOverWhatHasNotMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	o := w.buy("a", "k", 2)
	scheduled := func() reconcile.ReconcileSummary {
		t.Helper()
		sum, err := reconcile.NewReconcileStock(w.reconciler, reconcile.ReconcileConfig{}).Run(t.Context())
		if err != nil || sum.Status != reconcile.StatusSucceeded || sum.Activities != 1 {
			t.Fatalf("%+v, %v", sum, err)
		}
		return sum
	}
	for range 2 { // the first writes statuses
		if sum := scheduled(); sum.Skipped != 0 {
			t.Errorf("%+v", sum)
		}
	}
	if sum := scheduled(); sum.Skipped != 1 {
		t.Errorf("%+v", sum)
	}
	for name, move := range map[string]func(){
		"Redis moved":            func() { w.mustReserve("b", "k", 1) },
		"an order was cancelled": func() { w.cancel(o) },
		"a counter was written":  func() { w.must(w.rdb.HIncrBy(t.Context(), w.key("rules"), "left:"+ticket, 1).Err()) },
		"the server restarted":   func() { w.must(w.rdb.HSet(t.Context(), w.key("rules"), "run", "another").Err()) },
	} {
		move()
		if sum := scheduled(); sum.Skipped != 0 {
			t.Errorf("%s: %+v", name, sum)
		}
	}
}

func TestReconcileWhileTheSetIsLoadedAnewProvesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	w.forget()
	run := w.reconcileNow(reconcile.Repairing)
	if run.Checked != 0 || run.Problem == "" {
		t.Errorf("%+v", run)
	}
	w.compensate()
	if run := w.reconcileNow(reconcile.Repairing); run.Problem != "" {
		t.Errorf("%+v", run)
	}
}

func TestRunGivesUpItsLeaseWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	w.buy("a", "k", 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.reconciler.Reconcile(ctx, reconcile.RunRequest{ActivityID: w.activity.ID, Mode: reconcile.Repairing, Cause: reconcile.ByOperator}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	w.reconcileNow(reconcile.Repairing)
}

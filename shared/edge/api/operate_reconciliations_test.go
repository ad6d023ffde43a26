package api

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/shared/stock"
)

// spoilCounter writes a counter of the activity as no script does.
func (w *opsWorld) spoilCounter(bucket, units int) {
	w.t.Helper()
	if err := w.rdb.HIncrBy(w.t.Context(), "hf:{"+w.id+"}:rules", fmt.Sprint("left:STANDARD:", bucket), int64(units)).Err(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *opsWorld) onlyDifference() map[string]any {
	w.t.Helper()
	items := w.must(200, "GET", "/ops/v1/differences?status=OPEN&activityId="+w.id, "").body["items"].([]any)
	if len(items) != 1 {
		w.t.Fatalf("%d open differences", len(items))
	}
	return items[0].(map[string]any)
}

func TestOperatorReconcilesAndResolvesADifferenceOnce(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(nil)
	w.order("u1", "k1", 2)
	w.spoilCounter(0, 3)
	body := fmt.Sprintf(`{"activityId":%q,"mode":"DRY_RUN"}`, w.id)
	dry := w.must(200, "POST", "/ops/v1/reconciliations", body)
	if dry.body["status"] != "SUCCEEDED" || dry.body["differences"] != 1.0 || dry.body["mode"] != "DRY_RUN" {
		t.Errorf("%s", dry.text)
	}
	run := w.must(200, "POST", "/ops/v1/reconciliations", strings.Replace(body, "DRY_RUN", "REPAIR", 1), "Idempotency-Key", "k")
	id := run.body["reconciliationId"].(string)
	if again := w.must(200, "POST", "/ops/v1/reconciliations", strings.Replace(body, "DRY_RUN", "REPAIR", 1), "Idempotency-Key", "k"); again.body["reconciliationId"] != id {
		t.Errorf("the same key made another run: %s", again.text)
	}
	if read := w.must(200, "GET", "/ops/v1/reconciliations/"+id, ""); read.text != run.text {
		t.Errorf("read %s, want %s", read.text, run.text)
	}
	w.must(404, "GET", "/ops/v1/reconciliations/none", "")
	d := w.onlyDifference()
	if d["kind"] != "COUNTER_DIFFERS" || d["subject"] != "STANDARD:0" || d["etag"] != `"1"` || d["proposedAction"] != "SET_COUNTER_TO_FOLD" {
		t.Fatalf("%v", d)
	}
	path := "/ops/v1/differences/" + d["differenceId"].(string) + "/resolution"
	act := `{"action":"SET_COUNTER_TO_FOLD","note":"by hand"}`
	for name, c := range map[string]struct {
		status  int
		body    string
		headers []string
	}{
		"no If-Match":          {428, act, nil},
		"an old one":           {412, act, []string{"If-Match", `"7"`}},
		"a weak one":           {412, act, []string{"If-Match", `W/"1"`}},
		"an unfit action":      {422, `{"action":"CORRECT_LIMIT","note":"n"}`, []string{"If-Match", `"1"`}},
		"an unknown action":    {422, `{"action":"DANCE","note":"n"}`, []string{"If-Match", `"1"`}},
		"no note":              {400, `{"action":"NONE"}`, []string{"If-Match", `"1"`}},
		"a field too many":     {400, `{"action":"NONE","note":"n","x":1}`, []string{"If-Match", `"1"`}},
		"a note that is blank": {422, `{"action":"NONE","note":""}`, []string{"If-Match", `"1"`}},
	} {
		if got := w.call("POST", path, c.body, c.headers...); got.status != c.status {
			t.Errorf("%s: %d %s", name, got.status, got.text)
		}
	}
	w.must(404, "POST", "/ops/v1/differences/999999/resolution", act, "If-Match", `"1"`)
	w.must(404, "POST", "/ops/v1/differences/x/resolution", act, "If-Match", `"1"`)
	done := w.must(200, "POST", path, act, "If-Match", `"1"`)
	if done.body["status"] != "RESOLVED" || done.header["ETag"] != `"2"` || done.body["inverse"] == nil || done.body["operator"] != "ops-1" {
		t.Errorf("%s", done.text)
	}
	w.must(412, "POST", path, act, "If-Match", `"1"`)
	w.must(409, "POST", path, act, "If-Match", `"2"`)
	for subject, action := range map[string]string{w.id: "reconciliation.start", "difference " + d["differenceId"].(string): "difference.resolve"} {
		log := w.must(200, "GET", "/ops/v1/audit-log?subject="+strings.ReplaceAll(subject, " ", "%20"), "")
		if !strings.Contains(log.text, action) {
			t.Errorf("the audit log has no %s of %s: %s", action, subject, log.text)
		}
	}
	if again := w.must(200, "POST", "/ops/v1/reconciliations", body); again.body["differences"] != 0.0 {
		t.Errorf("%s", again.text)
	}
}

func TestDifferenceThatPersonsLeaveAloneIsNotSpokenOfAgain(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(nil)
	w.spoilCounter(0, 3)
	repair := fmt.Sprintf(`{"activityId":%q,"mode":"REPAIR"}`, w.id)
	w.must(200, "POST", "/ops/v1/reconciliations", repair)
	d := w.onlyDifference()
	w.must(200, "POST", "/ops/v1/differences/"+d["differenceId"].(string)+"/resolution", `{"action":"NONE","note":"known"}`, "If-Match", `"1"`)
	if run := w.must(200, "POST", "/ops/v1/reconciliations", repair); run.body["differences"] != 0.0 {
		t.Errorf("%s", run.text)
	}
	w.spoilCounter(0, 1) // it says something else now
	w.must(200, "POST", "/ops/v1/reconciliations", repair)
	w.onlyDifference()
	w.spoilCounter(0, -4)
	w.must(200, "POST", "/ops/v1/reconciliations", repair)
	if gone := w.must(200, "GET", "/ops/v1/differences?status=GONE", ""); len(gone.body["items"].([]any)) != 1 {
		t.Errorf("%s", gone.text)
	}
}

func TestReconciliationsAreRefusedWithAllThatIsWrong(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	for body, status := range map[string]int{
		`{}`: 400, `{"mode":"LOOK"}`: 422, `{"mode":"REPAIR","activityId":"a b"}`: 422, `{"mode":1}`: 400, `{"mode":"REPAIR","x":1}`: 400,
		`{"mode":"REPAIR","activityId":"nobody"}`: 404,
	} {
		if got := w.call("POST", "/ops/v1/reconciliations", body); got.status != status {
			t.Errorf("%s: %d %s", body, got.status, got.text)
		}
	}
	for query, status := range map[string]int{"status=LOST": 422, "limit=0": 422, "cursor=!": 422, "status=OPEN&status=GONE": 400} {
		if got := w.call("GET", "/ops/v1/differences?"+query, ""); got.status != status {
			t.Errorf("%s: %d %s", query, got.status, got.text)
		}
	}
}

func TestReconciliationOfAllIsTheRunThatWaits(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(nil)
	if err := stock.ReportLoss(context.Background(), w.deps.DB, w.id, time.Now().UTC()); err != nil {
		t.Fatal(err)
	}
	run := w.must(200, "POST", "/ops/v1/reconciliations", fmt.Sprintf(`{"activityId":%q,"mode":"DRY_RUN"}`, w.id))
	if run.body["cause"] != "EVIDENCE" || run.body["mode"] != "REPAIR" {
		t.Errorf("%s", run.text)
	}
	if all := w.must(200, "POST", "/ops/v1/reconciliations", `{"mode":"REPAIR"}`); all.body["activities"] != 1.0 || all.body["activityId"] != nil {
		t.Errorf("%s", all.text)
	}
}

func TestReconciliationAskedForWhileOneRunsIsThatOne(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(nil)
	for _, c := range []struct{ theirs, of, wish string }{
		{"theirs-of-one", w.id, fmt.Sprintf(`{"activityId":%q,"mode":"DRY_RUN"}`, w.id)},
		{"theirs-of-all", "", `{"mode":"DRY_RUN"}`},
	} {
		now := time.Now().UTC()
		if _, err := w.deps.DB.ExecContext(t.Context(), `INSERT INTO reconcile_run (run_id, mode, cause, activity_id, status, created_at, started_at,
 updated_at) VALUES (?, 'REPAIR', 'SCHEDULE', ?, 'RUNNING', ?, ?, ?)`, c.theirs, c.of, now, now, now); err != nil {
			t.Fatal(err)
		}
		got := w.must(202, "POST", "/ops/v1/reconciliations", c.wish)
		if got.body["reconciliationId"] != c.theirs || got.body["status"] != "RUNNING" || got.body["mode"] != "REPAIR" ||
			got.header["Location"] != "/ops/v1/reconciliations/"+c.theirs {
			t.Errorf("%v %s", got.header, got.text)
		}
	}
}

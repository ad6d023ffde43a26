package api

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"
	"time"

	"holdfast/shared/reconcile"
	"holdfast/shared/reconcile/certificate"
)

func TestACertificateIsMadeKeptAndCanBeRecomputed(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.must(201, "POST", "/ops/v1/activities", w.draft(nil))
	if got := w.call("GET", w.at("/certificate"), ""); got.status != 409 || got.code() != "ILLEGAL_TRANSITION" {
		t.Errorf("of a draft: %d %s", got.status, got.text)
	}
	w.must(200, "POST", w.at("/publication"), "")
	if got := w.call("GET", w.at("/certificate?latest=true"), ""); got.status != 404 || got.code() != "CERTIFICATE_NOT_FOUND" {
		t.Errorf("before the first: %d %s", got.status, got.text)
	}
	w.order("u1", "k1", 2)
	w.reserve("u2", "k2", 1)
	made := w.must(200, "GET", w.at("/certificate"), "")
	if made.body["verdict"] != "PASS" || made.body["inFlight"] != 1.0 || made.body["exact"] != false || made.body["activityId"] != w.id {
		t.Errorf("made: %s", made.text)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(made.text), &members); err != nil {
		t.Fatal(err)
	}
	delete(members, "hash")
	var plain any
	rest, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(rest, &plain); err != nil {
		t.Fatal(err)
	}
	canonical, err := encode(plain)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(canonical); made.body["hash"] != hex.EncodeToString(sum[:]) {
		t.Errorf("hash %v, recomputed %x", made.body["hash"], sum)
	}
	if latest := w.must(200, "GET", w.at("/certificate?latest=true"), ""); latest.text != made.text {
		t.Errorf("made %s, kept %s", made.text, latest.text)
	}
	if _, err := w.deps.DB.ExecContext(t.Context(), "UPDATE stock_bucket SET frozen = frozen + 1 WHERE activity_id = ? AND bucket = 1", w.id); err != nil {
		t.Fatal(err)
	}
	broken := w.must(200, "GET", w.at("/certificate"), "")
	for _, e := range broken.body["equations"].([]any) {
		if e := e.(map[string]any); e["id"] == "D4" && (e["verdict"] != "FAIL" || e["firstOffender"] != "bucket STANDARD:1") {
			t.Errorf("%v", e)
		}
	}
	if broken.body["verdict"] != "FAIL" {
		t.Errorf("broken: %s", broken.text)
	}
	for query, status := range map[string]int{"latest=yes": 422, "latest=true&latest=true": 400} {
		if got := w.call("GET", w.at("/certificate?"+query), ""); got.status != status {
			t.Errorf("%s: %d %s", query, got.status, got.text)
		}
	}
	if err := w.rdb.Del(t.Context(), "hf:{"+w.id+"}:log").Err(); err != nil {
		t.Fatal(err)
	}
	if got := w.call("GET", w.at("/certificate"), ""); got.status != 503 || got.code() != "SALE_NOT_READY" {
		t.Errorf("without a log: %d %s", got.status, got.text)
	}
}

func TestACertificateThatTakesTooLongBecomesAJob(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(nil)
	o := newOperate(w.deps)
	o.certifyBudget = time.Nanosecond
	usual := w.handler
	w.handler = serve(w.deps, "operate-sales", operateBudget, o.answer)
	first := w.must(202, "GET", w.at("/certificate"), "")
	w.handler = usual
	id := first.body["jobId"].(string)
	if first.body["status"] != "QUEUED" || first.body["kind"] != "CERTIFICATE" || first.header["Location"] != "/ops/v1/jobs/"+id {
		t.Errorf("job: %s %v", first.text, first.header)
	}
	if again := w.must(202, "GET", w.at("/certificate"), ""); again.body["jobId"] != id {
		t.Errorf("asked again: %s, want the job that is waiting", again.text)
	}
	if _, err := certificate.Run(t.Context(), w.deps.DB, w.deps.Stock, time.Minute); err != nil {
		t.Fatal(err)
	}
	done := w.must(200, "GET", "/ops/v1/jobs/"+id, "")
	if result, _ := done.body["result"].(map[string]any); done.body["status"] != "SUCCEEDED" || result["verdict"] != "PASS" {
		t.Errorf("job: %s", done.text)
	}
	w.must(200, "GET", w.at("/certificate?latest=true"), "")
	for _, unknown := range []string{"none", "a%20b", "%00"} {
		if got := w.call("GET", "/ops/v1/jobs/"+unknown, ""); got.status != 404 || got.code() != "JOB_NOT_FOUND" {
			t.Errorf("job %s: %d %s", unknown, got.status, got.text)
		}
	}
}

func TestACertificateOfASaleThatIsOverHasItsSetLoadedFirst(t *testing.T) {
	t.Parallel()
	for name, budget := range map[string]time.Duration{"in the request": certifyBudget, "by a job": time.Nanosecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newOpsWorld(t, "")
			w.publish(nil)
			w.order("u1", "k1", 2)
			w.must(200, "POST", w.at("/closure"), "")
			w.loseRedis()
			o := newOperate(w.deps)
			o.certifyBudget = budget
			w.handler = serve(w.deps, "operate-sales", operateBudget, o.answer)
			if got := w.call("GET", w.at("/certificate"), ""); got.code() != "SALE_NOT_READY" && got.status != 202 {
				t.Errorf("while Redis has nothing: %d %s", got.status, got.text)
			}
			for range 2 { // asking again changes nothing
				w.call("GET", w.at("/certificate"), "")
			}
			if sum, err := reconcile.NewCompensate(w.deps.Reconcile, reconcile.CompensateConfig{}).Run(t.Context()); err != nil || sum.Loaded != 1 {
				t.Errorf("the minute pass: %+v, %v", sum, err)
			}
			if _, err := certificate.Run(t.Context(), w.deps.DB, w.deps.Stock, time.Minute); err != nil {
				t.Fatal(err)
			}
			w.handler = NewOperateSales(w.deps)
			if made := w.must(200, "GET", w.at("/certificate"), ""); made.body["verdict"] != "PASS" {
				t.Errorf("made: %s", made.text)
			}
			if jobs := w.rows("job WHERE kind = 'LOAD'"); jobs != 1 {
				t.Errorf("%d loads were asked for", jobs)
			}
		})
	}
}

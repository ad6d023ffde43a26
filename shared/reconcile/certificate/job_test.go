package certificate_test

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"holdfast/shared/reconcile"
	"holdfast/shared/reconcile/certificate"
)

func (w *world) request() *reconcile.Job {
	w.t.Helper()
	j, err := certificate.Request(w.t.Context(), w.db, w.id, "op")
	if err != nil {
		w.t.Fatal(err)
	}
	return j
}

func (w *world) run() certificate.RunSummary {
	w.t.Helper()
	sum, err := certificate.Run(w.t.Context(), w.db, w.stock, time.Minute)
	if err != nil {
		w.t.Fatal(err)
	}
	return sum
}

func (w *world) job(id string) *reconcile.Job {
	w.t.Helper()
	j, err := reconcile.GetJob(w.t.Context(), w.db, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return j
}

func TestACertificateThatWasAskedForIsMadeOnceByWhoeverRuns(t *testing.T) {
	t.Parallel()
	c := newCast(t)
	first := c.request()
	if again := c.request(); again.ID != first.ID || first.Status != "QUEUED" || first.Kind != "CERTIFICATE" {
		t.Fatalf("asked twice: %+v and %+v", first, again)
	}
	made := make([]int, 4)
	var all sync.WaitGroup
	for i := range made {
		all.Go(func() {
			sum, err := certificate.Run(t.Context(), c.db, c.stock, time.Minute)
			if err != nil {
				t.Error(err)
			}
			made[i] = sum.Made
		})
	}
	all.Wait()
	if made[0]+made[1]+made[2]+made[3] != 1 {
		t.Errorf("made %v", made)
	}
	done := c.job(first.ID)
	var got certificate.Certificate
	if err := json.Unmarshal(done.Result, &got); err != nil || done.Status != "SUCCEEDED" || got.Verdict != certificate.Pass || done.FinishedAt == nil {
		t.Errorf("job %+v, %v", done, err)
	}
	kept, err := certificate.Latest(t.Context(), c.db, c.id)
	if err != nil || kept.Hash != got.Hash {
		t.Errorf("kept %+v, %v", kept, err)
	}
	if _, err := certificate.Active(t.Context(), c.db, c.id); !errors.Is(err, reconcile.ErrNoJob) {
		t.Errorf("a finished job is active: %v", err)
	}
}

func TestACertificateWaitsForItsSetAndIsGivenUpInTheEnd(t *testing.T) {
	t.Parallel()
	c := newCast(t)
	c.redis("DEL", "buyers")
	id := c.request().ID
	for try := 1; try <= 5; try++ {
		sum := c.run()
		if over := try == 5; sum.Failed == 1 != over || sum.Waiting == 1 == over {
			t.Errorf("try %d: %+v", try, sum)
		}
	}
	if j := c.job(id); j.Status != "FAILED" || j.Problem == "" || j.FinishedAt == nil {
		t.Errorf("job %+v", j)
	}
}

func TestAJobWhoseRunnerDiedIsTakenOver(t *testing.T) {
	t.Parallel()
	c := newCast(t)
	id := c.request().ID
	now, err := c.db.Now(t.Context(), c.db)
	if err != nil {
		t.Fatal(err)
	}
	c.exec("UPDATE job SET status = 'RUNNING', started_at = ?, updated_at = ?, attempts = 1 WHERE job_id = ?", now, now, id)
	if sum := c.run(); sum.Made != 0 {
		t.Errorf("taken from a runner that lives: %+v", sum)
	}
	c.exec("UPDATE job SET updated_at = ? WHERE job_id = ?", now.Add(-time.Hour), id)
	if sum := c.run(); sum.Made != 1 || c.job(id).Status != "SUCCEEDED" {
		t.Errorf("left to a dead runner: %+v, %+v", sum, c.job(id))
	}
}

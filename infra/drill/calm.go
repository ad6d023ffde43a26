package drill

import (
	"context"
	"net/http"
	"time"
)

// Calm is what full reconciliations found beside a load in which nothing was broken.
type Calm struct {
	Runs        int `json:"runs"`
	Checked     int `json:"checked"`     // orders held against each other, over all runs
	Differences int `json:"differences"` // over all runs; each is a false one
	Repaired    int `json:"repaired"`
}

// nextRun is the pause between two reconciliations.
const nextRun = 200 * time.Millisecond

// reconcile runs one full reconciliation after the other until ctx ends, and tells about them now and then.
func (w *world) reconcile(ctx context.Context, report func(Calm)) (*Calm, error) {
	token, err := w.operator(ctx)
	if err != nil {
		return nil, err
	}
	found, told := &Calm{}, time.Now()
	for ctx.Err() == nil {
		var run struct {
			ID          string         `json:"reconciliationId"`
			Status      string         `json:"status"`
			Checked     int            `json:"checked"`
			Differences int            `json:"differences"`
			Repaired    map[string]int `json:"repaired"`
		}
		if err := w.ask(ctx, http.MethodPost, "/ops/v1/reconciliations", token, map[string]any{"mode": "REPAIR"}, &run); err != nil {
			return found, ignoreEnd(ctx, err)
		}
		for run.Status == "QUEUED" || run.Status == "RUNNING" {
			pause(ctx, nextRun)
			if err := w.ask(ctx, http.MethodGet, "/ops/v1/reconciliations/"+run.ID, token, nil, &run); err != nil {
				return found, ignoreEnd(ctx, err)
			}
		}
		found.Runs++
		found.Checked += run.Checked
		found.Differences += run.Differences
		for _, n := range run.Repaired {
			found.Repaired += n
		}
		if time.Since(told) > time.Minute {
			told = time.Now()
			report(*found)
		}
		pause(ctx, nextRun)
	}
	return found, nil
}

// ignoreEnd drops an error that only says that the time is over.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

package schedule

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"holdfast/shared/edge"
)

// passBudget bounds one pass; the functions' timeout is 55 s, and the next pass begins a minute after this one did.
const passBudget = 50 * time.Second

// job runs one pass and says what it did. What it says is worth having with an error, too.
type job[S any] struct {
	edge.Deps
	name string
	run  func(ctx context.Context) (S, error)
}

// Invoke runs one pass, whatever the event says. An error of the pass is the function's error, so that it is counted as one.
func (j *job[S]) Invoke(ctx context.Context, _ []byte) ([]byte, error) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, passBudget)
	defer cancel()
	summary, err := j.run(ctx)
	text, encodeErr := json.Marshal(summary)
	if encodeErr != nil {
		return nil, fmt.Errorf("%s: %w", j.name, encodeErr)
	}
	attributes := []any{"function", j.name, "summary", json.RawMessage(text), "durationMs", time.Since(start).Milliseconds()}
	if err != nil {
		j.Log.ErrorContext(ctx, "pass failed", append(attributes, "error", edge.Loggable(err))...)
		return nil, fmt.Errorf("%s: %s", j.name, edge.Loggable(err))
	}
	j.Log.InfoContext(ctx, "pass", attributes...)
	return text, nil
}

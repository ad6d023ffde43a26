package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"holdfast/shared/edge"
	"holdfast/shared/sale"
)

// stepBudget bounds one step; the functions' timeout is 29 s and the state machine's a minute.
const stepBudget = 20 * time.Second

// event is what the state machine sends to a step.
type event struct {
	OrderID string `json:"orderId"`

	StartedAt time.Time `json:"startedAt"` // of settle-deposit: when the execution started

	Execution string `json:"execution"` // of record-workflow-failure: its name, the error, and what that says
	Error     string `json:"error"`
	Cause     string `json:"cause"`
}

// outcome is what a step answers. The state machine reads both members of it.
type outcome struct {
	Status  string `json:"status"`
	Seconds int64  `json:"seconds"` // of NOT_DUE: how long to wait, at least 1; else 0
}

// step is one function that an execution calls.
type step struct {
	edge.Deps
	name string
	run  func(ctx context.Context, id sale.OrderID, e event) (outcome, error)
}

// Invoke runs the step once. It returns an error for an event that names no order, and what kept the step from being done: then the
// execution tries again, for a step may be repeated however far it came.
func (s *step) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, stepBudget)
	defer cancel()
	var e event
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, fmt.Errorf("%s: the event cannot be read: %w", s.name, err)
	}
	id, err := sale.ParseOrderID(e.OrderID)
	if err != nil {
		return nil, fmt.Errorf("%s: the event names no order: %w", s.name, err)
	}
	done, err := s.run(ctx, id, e)
	if err != nil {
		s.Log.ErrorContext(ctx, "step failed", "function", s.name, "order", e.OrderID, "durationMs", time.Since(start).Milliseconds(),
			"error", edge.Loggable(err))
		return nil, fmt.Errorf("%s: %s", s.name, edge.Loggable(err))
	}
	s.Log.InfoContext(ctx, "step", "function", s.name, "order", e.OrderID, "status", done.Status, "seconds", done.Seconds,
		"durationMs", time.Since(start).Milliseconds())
	return json.Marshal(done)
}

package local

import (
	"context"
	"net/http"

	"holdfast/infra/local/mapping"
	"holdfast/infra/local/states"
	"holdfast/infra/workflows"
)

// mostExecutions bounds what a list of executions shows.
const mostExecutions = 1000

// lateInvoker runs functions once there are any: the service that starts executions is there before them.
type lateInvoker struct {
	ready chan struct{} // closed when by is set
	by    mapping.Invoker
}

func newLateInvoker() *lateInvoker { return &lateInvoker{ready: make(chan struct{})} }

func (l *lateInvoker) set(by mapping.Invoker) {
	l.by = by
	close(l.ready)
}

// Invoke implements states.Functions.
func (l *lateInvoker) Invoke(ctx context.Context, function string, payload []byte) ([]byte, error) {
	select {
	case <-l.ready:
		return l.by.Invoke(ctx, function, payload)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// newDeposits makes the state machine of deposits, out of the file that is deployed.
func (s *Stack) newDeposits() error {
	definition := workflows.Deposit(func(function string) string { return "arn:aws:lambda:us-east-1:000000000000:function:" + function })
	s.steps = newLateInvoker()
	machine, err := states.New(states.Options{Name: "deposits", Definition: definition, Functions: s.steps, Now: s.clock.Now, Faults: s.faults})
	if err != nil {
		return err
	}
	s.clock.OnMove(machine.Wake)
	s.deposits, s.Addresses.StateMachine = machine, machine.ARN()
	return nil
}

// showExecutions lists executions, the last started first, and counts them by status. ?status= and ?name= keep only those.
func (s *Stack) showExecutions(r *http.Request) (any, error) {
	wish := r.URL.Query()
	counts := map[string]int{}
	items := []states.Execution{}
	for _, e := range s.deposits.Executions() {
		counts[e.Status]++
		if !differs(wish.Get("status"), e.Status) && !differs(wish.Get("name"), e.Name) && len(items) < mostExecutions {
			items = append(items, e)
		}
	}
	return map[string]any{"counts": counts, "items": items}, nil
}

// stopExecution ends an execution where it stands, as somebody may in the console: what it would have done is left to the minute pass.
func (s *Stack) stopExecution(r *http.Request) (any, error) {
	name := r.PathValue("name")
	if !s.deposits.Abort(name, "stopped by hand") {
		return nil, &usageError{http.StatusNotFound, "there is no execution " + name}
	}
	e, _ := s.deposits.Execution(name)
	return e, nil
}

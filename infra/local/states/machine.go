package states

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"holdfast/infra/local/sqs"
)

// Functions runs a function once, by the name of its folder; an error is the function's own, or that it could not run. It is called by
// several goroutines at once.
type Functions interface {
	Invoke(ctx context.Context, function string, payload []byte) ([]byte, error)
}

// tasksAtOnce is how many tasks run at one moment; more wait.
const tasksAtOnce = 32

// Options describe a Machine.
type Options struct {
	Name       string // of the state machine
	Definition []byte // its JSON, after substitution
	Functions  Functions
	Now        func() time.Time // may jump forward; nil = time.Now
	Faults     sqs.Faults       // nil = none
}

// Machine is a state machine and its executions. It is an http.Handler, safe for use by many goroutines.
type Machine struct {
	o          Options
	definition *definition
	tasks      chan struct{} // one per task that runs
	work       context.Context
	cancel     context.CancelFunc
	running    sync.WaitGroup

	mu         sync.Mutex
	executions map[string]*execution // by name
	stopped    bool
	moved      chan struct{} // closed, and made anew, when the clock was moved
}

// New reads the definition. It returns ErrDefinition, or an error for a missing option.
func New(o Options) (*Machine, error) {
	d, err := parse(o.Definition)
	if err != nil {
		return nil, err
	}
	if o.Name == "" || o.Functions == nil {
		return nil, fmt.Errorf("states: name and functions are needed")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	m := &Machine{o: o, definition: d, tasks: make(chan struct{}, tasksAtOnce), executions: map[string]*execution{}, moved: make(chan struct{})}
	m.work, m.cancel = context.WithCancel(context.Background())
	return m, nil
}

// ARN is the state machine's.
func (m *Machine) ARN() string { return m.arn("stateMachine:" + m.o.Name) }

func (m *Machine) arn(rest string) string { return "arn:aws:states:us-east-1:000000000000:" + rest }

// Wake makes every execution look at the clock; call it after the clock was moved.
func (m *Machine) Wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.moved)
	m.moved = make(chan struct{})
}

// Stop starts nothing more, ends what waits, and waits for the tasks that run. When ctx ends first, their contexts are cancelled and
// ctx's error is returned.
func (m *Machine) Stop(ctx context.Context) error {
	m.mu.Lock()
	m.stopped = true
	for _, e := range m.executions {
		e.abort("", "the stack ends", m.o.Now())
	}
	m.mu.Unlock()
	done := make(chan struct{})
	go func() {
		m.running.Wait()
		close(done)
	}()
	defer m.cancel()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Statuses of an execution.
const (
	Running   = "RUNNING"
	Succeeded = "SUCCEEDED"
	Failed    = "FAILED"
	Aborted   = "ABORTED"
)

// Execution is how an execution stands.
type Execution struct {
	Name      string     `json:"name"`
	Status    string     `json:"status"`
	State     string     `json:"state"`               // where it is, or where it ended
	WaitsTill *time.Time `json:"waitsTill,omitempty"` // of one that waits
	Entered   int        `json:"entered"`             // states, which is what the service charges for
	Retries   int        `json:"retries"`             // tasks that were tried again
	StartedAt time.Time  `json:"startedAt"`
	StoppedAt *time.Time `json:"stoppedAt,omitempty"`
	Error     string     `json:"error,omitempty"`
	Cause     string     `json:"cause,omitempty"`
	Input     string     `json:"input"`
	Output    string     `json:"output,omitempty"`
}

// Executions lists all of them, the last started first.
func (m *Machine) Executions() []Execution {
	m.mu.Lock()
	all := make([]*execution, 0, len(m.executions))
	for _, e := range m.executions {
		all = append(all, e)
	}
	m.mu.Unlock()
	list := make([]Execution, len(all))
	for i, e := range all {
		list[i] = e.look()
	}
	slices.SortFunc(list, func(a, b Execution) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// Execution says how the execution of a name stands; false when there is none.
func (m *Machine) Execution(name string) (Execution, bool) {
	e := m.named(name)
	if e == nil {
		return Execution{}, false
	}
	return e.look(), true
}

// Abort ends an execution where it stands, as StopExecution does; false when there is none of that name. A task that runs is not undone.
func (m *Machine) Abort(name, cause string) bool {
	e := m.named(name)
	if e == nil {
		return false
	}
	e.abort("", cause, m.o.Now())
	return true
}

func (m *Machine) named(name string) *execution {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.executions[name]
}

// until waits for an instant of the clock, however that is moved. false: ctx ended first.
func (m *Machine) until(ctx context.Context, at time.Time) bool {
	for {
		m.mu.Lock()
		moved := m.moved
		m.mu.Unlock()
		left := at.Sub(m.o.Now())
		if ctx.Err() != nil {
			return false
		}
		if left <= 0 {
			return true
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-moved:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

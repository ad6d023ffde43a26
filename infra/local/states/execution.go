package states

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// Names of errors that the service gives.
const (
	errorRuntime       = "States.Runtime"
	errorParameterPath = "States.ParameterPathFailure"
	errorTimeout       = "States.Timeout"
)

// mostStates bounds an execution: the service ends one after 25 000 events, of which a state makes two at least.
const mostStates = 12_500

// failure is an error as the states language knows it.
type failure struct{ name, cause string }

// execution is one run of the machine.
type execution struct {
	m      *Machine
	ctx    context.Context // ended by abort
	cancel context.CancelFunc

	mu  sync.Mutex
	now Execution
}

func newExecution(m *Machine, name, input string) *execution {
	e := &execution{m: m, now: Execution{Name: name, Status: Running, Input: input, StartedAt: m.o.Now().UTC()}}
	e.ctx, e.cancel = context.WithCancel(m.work)
	return e
}

func (e *execution) look() Execution {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now
}

// change alters how the execution stands, unless it has ended, and says whether it has not.
func (e *execution) change(f func(now *Execution)) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.now.Status != Running {
		return false
	}
	f(&e.now)
	return true
}

func (e *execution) abort(name, cause string, at time.Time) {
	e.change(func(now *Execution) {
		at := at.UTC()
		now.Status, now.Error, now.Cause, now.StoppedAt, now.WaitsTill = Aborted, name, cause, &at, nil
	})
	e.cancel()
}

// run goes from state to state until the end.
func (e *execution) run() {
	defer e.cancel()
	var data any
	if err := strictly([]byte(e.now.Input), &data); err != nil {
		e.end(nil, &failure{errorRuntime, err.Error()})
		return
	}
	for at := e.m.definition.StartAt; ; {
		if !e.enter(at) {
			return
		}
		next, out, failed := e.step(e.m.definition.States[at], data)
		if failed != nil || next == "" {
			e.end(out, failed)
			return
		}
		at, data = next, out
	}
}

// enter notes that a state is entered; false once the execution has ended.
func (e *execution) enter(name string) bool {
	isOn := e.change(func(now *Execution) {
		now.State, now.WaitsTill = name, nil
		now.Entered++
	})
	if isOn && e.look().Entered > mostStates {
		e.end(nil, &failure{errorRuntime, "The execution reached the maximum number of history events."})
		return false
	}
	return isOn
}

// end notes the outcome, unless the execution was aborted.
func (e *execution) end(out any, failed *failure) {
	at := e.m.o.Now().UTC()
	e.change(func(now *Execution) {
		now.Status, now.StoppedAt, now.WaitsTill = Succeeded, &at, nil
		if failed != nil {
			now.Status, now.Error, now.Cause = Failed, failed.name, failed.cause
			return
		}
		text, err := json.Marshal(out)
		if err != nil {
			panic(err) // it was JSON before
		}
		now.Output = string(text)
	})
}

// step runs one state and says where to go on, with what; "" ends the execution.
func (e *execution) step(s *state, data any) (next string, out any, failed *failure) {
	switch s.Type {
	case "Wait":
		return s.Next, data, e.wait(s, data)
	case "Choice":
		next, failed = e.choose(s, data)
		return next, data, failed
	case "Pass":
		out, failed = e.scope(data).fill(s.Parameters)
		return s.Next, out, failed
	case "Task":
		return e.task(s, data)
	case "Fail":
		return "", nil, &failure{s.Error, s.Cause}
	default: // Succeed: parse lets no other in
		return "", data, nil
	}
}

func (e *execution) scope(data any) scope {
	return scope{data: data, context: map[string]any{"Execution": map[string]any{"Name": e.now.Name,
		"StartTime": e.now.StartedAt.Format("2006-01-02T15:04:05.000Z")}}}
}

// instantForm is the only form of an instant that every reader of the language takes.
const instantForm = "2006-01-02T15:04:05Z"

func (e *execution) wait(s *state, data any) *failure {
	if s.TimestampPath != "" {
		found, failed := e.scope(data).find(s.TimestampPath)
		if failed != nil {
			return failed
		}
		text, _ := found.(string)
		at, err := time.Parse(instantForm, text)
		if err != nil || at.Format(instantForm) != text {
			return &failure{errorRuntime, fmt.Sprintf("The TimestampPath parameter does not reference a valid ISO-8601 timestamp in whole seconds: %v", found)}
		}
		return e.waitUntil(at)
	}
	found, failed := e.scope(data).find(s.SecondsPath)
	if failed != nil {
		return failed
	}
	number, _ := found.(json.Number)
	seconds, err := number.Int64()
	if err != nil || seconds < 1 || seconds > 99_999_999 {
		return &failure{errorRuntime, fmt.Sprintf("The SecondsPath parameter does not reference whole seconds from 1 to 99999999: %v", found)}
	}
	return e.waitUntil(e.m.o.Now().Add(time.Duration(seconds) * time.Second))
}

// waitUntil waits for an instant, or until the execution is aborted: then what it returns is not seen.
func (e *execution) waitUntil(at time.Time) *failure {
	at = at.UTC()
	e.change(func(now *Execution) { now.WaitsTill = &at })
	if !e.m.until(e.ctx, at) {
		return &failure{errorRuntime, "aborted"}
	}
	return nil
}

func (e *execution) choose(s *state, data any) (string, *failure) {
	for _, c := range s.Choices {
		holds, failed := e.holds(c, data)
		if failed != nil {
			return "", failed
		}
		if holds {
			return c.Next, nil
		}
	}
	return s.Default, nil
}

func (e *execution) holds(c *choice, data any) (bool, *failure) {
	if c.And != nil {
		for _, part := range c.And {
			if holds, failed := e.holds(part, data); !holds || failed != nil {
				return false, failed
			}
		}
		return true, nil
	}
	found, failed := e.scope(data).find(c.Variable)
	if failed != nil {
		return false, &failure{errorRuntime, failed.cause}
	}
	if c.StringEquals != nil {
		text, isText := found.(string)
		return isText && text == *c.StringEquals, nil
	}
	number, isNumber := found.(json.Number)
	have, err := number.Float64()
	limit, limitErr := c.NumericLessThan.Float64()
	return isNumber && err == nil && limitErr == nil && have < limit, nil
}

// matches says whether a retrier or catcher speaks of an error.
func matches(names []string, f *failure) bool {
	switch {
	case slices.Contains(names, f.name):
		return true
	case slices.Contains(names, "States.TaskFailed") && !strings.HasPrefix(f.name, "States."):
		return true
	}
	return slices.Contains(names, "States.ALL") && f.name != errorRuntime
}

// delay is how long to wait before try n (from 1) is made again.
func (r *retrier) delay(n int) time.Duration {
	seconds := r.IntervalSeconds
	for range n - 1 {
		seconds = min(seconds*r.BackoffRate, r.MaxDelaySeconds)
	}
	if r.JitterStrategy == "FULL" {
		seconds *= rand.Float64()
	}
	return time.Duration(seconds * float64(time.Second))
}

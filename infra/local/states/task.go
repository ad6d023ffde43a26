package states

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"holdfast/infra/local/sqs"
)

// task runs a task, again as its retriers say, and goes where its result or a catcher leads.
func (e *execution) task(s *state, data any) (next string, out any, failed *failure) {
	tries := make([]int, len(s.Retry))
	for {
		result, failed := e.attempt(s, data)
		if failed == nil {
			out, failed = place(data, s.ResultPath, result)
			return s.Next, out, failed
		}
		if e.ctx.Err() != nil {
			return "", nil, failed
		}
		again, isDone := e.tryAgain(s, failed, tries)
		if isDone != nil {
			return "", nil, isDone
		}
		if !again {
			return e.caught(s, data, failed)
		}
	}
}

// tryAgain finds the first retrier that speaks of the error, and waits for as long as it says; false when its tries are used up or there
// is none.
func (e *execution) tryAgain(s *state, f *failure, tries []int) (bool, *failure) {
	for i, r := range s.Retry {
		if !matches(r.ErrorEquals, f) {
			continue
		}
		if tries[i] >= r.MaxAttempts {
			return false, nil
		}
		tries[i]++
		e.change(func(now *Execution) { now.Retries++ })
		return true, e.waitUntil(e.m.o.Now().Add(r.delay(tries[i])))
	}
	return false, nil
}

func (e *execution) caught(s *state, data any, f *failure) (string, any, *failure) {
	for _, c := range s.Catch {
		if matches(c.ErrorEquals, f) {
			out, failed := place(data, c.ResultPath, map[string]any{"Error": f.name, "Cause": f.cause})
			return c.Next, out, failed
		}
	}
	return "", nil, f
}

// call is what a task's Parameters say after they were filled.
type call struct {
	FunctionName string
	Payload      any
}

// attempt invokes the function once and gives the task's result, as its selector shapes it.
func (e *execution) attempt(s *state, data any) (any, *failure) {
	filled, failed := e.scope(data).fill(s.Parameters)
	if failed != nil {
		return nil, failed
	}
	text, err := json.Marshal(filled)
	if err != nil {
		panic(err) // it was JSON before
	}
	var c call
	if err := strictly(text, &c); err != nil {
		return nil, &failure{errorRuntime, err.Error()}
	}
	payload, err := json.Marshal(c.Payload)
	if err != nil {
		panic(err)
	}
	answer, failed := e.invoke(c.FunctionName[strings.LastIndexByte(c.FunctionName, ':')+1:], payload, time.Duration(s.TimeoutSeconds)*time.Second)
	if failed != nil {
		return nil, failed
	}
	var said any
	if err := strictly(answer, &said); len(answer) > 0 && err != nil {
		return nil, &failure{"Lambda.InvalidPayload", err.Error()}
	}
	result := map[string]any{"ExecutedVersion": "$LATEST", "StatusCode": json.Number("200"), "Payload": said}
	if s.ResultSelector == nil {
		return result, nil
	}
	return (scope{data: result, context: e.scope(data).context}).fill(s.ResultSelector)
}

// invoke runs the function when its turn comes, for as long as a task may take. A function whose execution is aborted runs on, as in
// Lambda; nobody hears its answer.
func (e *execution) invoke(function string, payload []byte, limit time.Duration) ([]byte, *failure) {
	select {
	case e.m.tasks <- struct{}{}:
		defer func() { <-e.m.tasks }()
	case <-e.ctx.Done():
		return nil, &failure{errorRuntime, "aborted"}
	}
	mode := e.m.fault(PointTask)
	if mode == sqs.Refuse {
		return nil, &failure{"Lambda.TooManyRequestsException", "Rate Exceeded."}
	}
	ctx, cancel := context.WithTimeout(e.m.work, limit)
	defer cancel()
	answer, err := e.m.run(ctx, function, payload)
	switch {
	case mode == sqs.LoseAnswer:
		return nil, &failure{"Lambda.SdkClientException", "Unable to execute HTTP request: the connection was lost"}
	case err != nil && ctx.Err() != nil:
		return nil, &failure{errorTimeout, "The task has timed out."}
	case err != nil:
		return nil, functionError(err)
	}
	return answer, nil
}

// run invokes a function; a panic is its error, as in Lambda.
func (m *Machine) run(ctx context.Context, function string, payload []byte) (answer []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			answer, err = nil, fmt.Errorf("%s panicked: %v", function, r)
		}
	}()
	return m.o.Functions.Invoke(ctx, function, payload)
}

// functionError writes a function's error as the service hands it on: named by its type, and as its cause the JSON that Lambda answers.
func functionError(err error) *failure {
	kind := reflect.TypeOf(err)
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	text, _ := json.Marshal(map[string]string{"errorMessage": err.Error(), "errorType": kind.Name()}) // texts can always be written
	return &failure{kind.Name(), string(text)}
}

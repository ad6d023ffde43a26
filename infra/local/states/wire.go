package states

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"holdfast/infra/local/sqs"
)

// The points at which faults can be injected.
const (
	PointStart = "states.start"
	PointTask  = "states.task"
)

// TargetPrefix begins the X-Amz-Target of every request to Step Functions.
const TargetPrefix = "AWSStepFunctions."

var modesOf = map[string][]sqs.Mode{
	PointStart: {sqs.Refuse, sqs.LoseAnswer, sqs.Hang},
	PointTask:  {sqs.Refuse, sqs.LoseAnswer},
}

// Points returns the fault points of this package.
func Points() []string { return []string{PointStart, PointTask} }

// Modes returns the modes that act at point; nil for a point of someone else.
func Modes(point string) []sqs.Mode { return slices.Clone(modesOf[point]) }

// fault asks how the next call at a point goes wrong.
func (m *Machine) fault(point string) sqs.Mode {
	if m.o.Faults == nil {
		return sqs.None
	}
	return m.o.Faults.Next(point)
}

// refusal is an error of the service.
type refusal struct{ code, message string }

const (
	maxRequest = 2 << 20
	maxInput   = 256 << 10
	maxName    = 80
)

// ServeHTTP is the whole protocol: POST, the action in X-Amz-Target, JSON both ways.
func (m *Machine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil || r.Method != http.MethodPost {
		answer(w, nil, &refusal{"ValidationException", "The request cannot be read."})
		return
	}
	var said any
	var refused *refusal
	switch strings.TrimPrefix(r.Header.Get("X-Amz-Target"), TargetPrefix) {
	case "StartExecution":
		mode := m.fault(PointStart)
		if mode == sqs.Hang {
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}
		if mode == sqs.Refuse {
			refused = &refusal{"ThrottlingException", "Rate exceeded"}
			break
		}
		said, refused = m.startExecution(request)
		if mode == sqs.LoseAnswer {
			panic(http.ErrAbortHandler) // the connection is cut without a byte
		}
	case "DescribeExecution":
		said, refused = m.describeExecution(request)
	case "StopExecution":
		said, refused = m.stopExecution(request)
	default:
		refused = &refusal{"UnknownOperationException", "This action is not known here."}
	}
	answer(w, said, refused)
}

func answer(w http.ResponseWriter, said any, refused *refusal) {
	status := http.StatusOK
	if refused != nil {
		status = http.StatusBadRequest
		said = map[string]string{"__type": "com.amazonaws.swf.service.v2.model#" + refused.code, "message": refused.message}
	}
	text, err := json.Marshal(said)
	if err != nil {
		panic(err) // the answers are our own, all of which can be written
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(status)
	_, _ = w.Write(text) // a caller that has gone hears nothing
}

func (m *Machine) startExecution(request []byte) (any, *refusal) {
	var in struct{ StateMachineArn, Name, Input string }
	if json.Unmarshal(request, &in) != nil {
		return nil, &refusal{"SerializationException", "The request is not the JSON of this action."}
	}
	switch {
	case in.StateMachineArn != m.ARN():
		return nil, &refusal{"StateMachineDoesNotExist", "State Machine Does Not Exist: '" + in.StateMachineArn + "'"}
	case !validName(in.Name):
		return nil, &refusal{"InvalidName", "Invalid Name: '" + in.Name + "'"}
	case len(in.Input) > maxInput || !json.Valid([]byte(in.Input)):
		return nil, &refusal{"InvalidExecutionInput", "Invalid State Machine Execution Input"}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped {
		return nil, &refusal{"StateMachineDeleting", "the stack ends"}
	}
	e := m.executions[in.Name]
	if e != nil {
		if known := e.look(); known.Status != Running || known.Input != in.Input {
			return nil, &refusal{"ExecutionAlreadyExists", "Execution Already Exists: '" + m.executionARN(in.Name) + "'"}
		}
	} else {
		e = newExecution(m, in.Name, in.Input)
		m.executions[in.Name] = e
		m.running.Go(e.run)
	}
	return map[string]any{"executionArn": m.executionARN(in.Name), "startDate": epoch(e.look().StartedAt)}, nil
}

// validName says whether an execution can have a name: 1 to 80 characters, none of them a space, a bracket, a wildcard or one that has a
// meaning somewhere.
func validName(name string) bool {
	if n := utf8.RuneCountInString(name); n < 1 || n > maxName || !utf8.ValidString(name) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("<>{}[]?*\"#%\\^|~`$&,;:/", r)
	})
}

func (m *Machine) executionARN(name string) string {
	return m.arn("execution:" + m.o.Name + ":" + name)
}

// find reads the execution that a request names.
func (m *Machine) find(request []byte) (*execution, *refusal) {
	var in struct{ ExecutionArn string }
	if json.Unmarshal(request, &in) != nil {
		return nil, &refusal{"SerializationException", "The request is not the JSON of this action."}
	}
	name, isOurs := strings.CutPrefix(in.ExecutionArn, m.executionARN(""))
	e := m.named(name)
	if !isOurs || e == nil {
		return nil, &refusal{"ExecutionDoesNotExist", "Execution Does Not Exist: '" + in.ExecutionArn + "'"}
	}
	return e, nil
}

func (m *Machine) describeExecution(request []byte) (any, *refusal) {
	e, refused := m.find(request)
	if refused != nil {
		return nil, refused
	}
	x := e.look()
	said := map[string]any{"executionArn": m.executionARN(x.Name), "stateMachineArn": m.ARN(), "name": x.Name, "status": x.Status,
		"startDate": epoch(x.StartedAt), "input": x.Input}
	for name, text := range map[string]string{"output": x.Output, "error": x.Error, "cause": x.Cause} {
		if text != "" {
			said[name] = text
		}
	}
	if x.StoppedAt != nil {
		said["stopDate"] = epoch(*x.StoppedAt)
	}
	return said, nil
}

func (m *Machine) stopExecution(request []byte) (any, *refusal) {
	e, refused := m.find(request)
	if refused != nil {
		return nil, refused
	}
	var in struct{ Error, Cause string }
	if json.Unmarshal(request, &in) != nil {
		return nil, &refusal{"SerializationException", "The request is not the JSON of this action."}
	}
	e.abort(in.Error, in.Cause, m.o.Now())
	stopped := e.look().StoppedAt
	return map[string]any{"stopDate": epoch(*stopped)}, nil
}

func epoch(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

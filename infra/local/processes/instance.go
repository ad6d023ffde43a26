package processes

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"holdfast/infra/local/server"
)

// initLimit is how long an instance may take from its start, or from its answer, until it asks for an event; as in Lambda.
const initLimit = 10 * time.Second

// instance is one process and the Runtime API that it talks to.
type instance struct {
	child  *server.Child
	web    *http.Server
	asks   chan struct{}    // holds one signal: it asks for an event
	events chan *invocation // to the request that asks

	mu      sync.Mutex
	current *invocation // what it handles
	problem string      // what it reported of its start
}

// startInstance starts the binary with a Runtime API of its own. It does not wait until the instance asks for an event.
func startInstance(binary string, environment []string, log *os.File) (*instance, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	i := &instance{asks: make(chan struct{}, 1), events: make(chan *invocation)}
	i.web = &http.Server{Handler: i.runtimeAPI(), ReadHeaderTimeout: initLimit}
	go func() { _ = i.web.Serve(listener) }() // ends with close
	cmd := exec.Command(binary)
	cmd.Dir = filepath.Dir(binary)
	cmd.Env = append([]string{"AWS_LAMBDA_RUNTIME_API=" + listener.Addr().String()}, environment...)
	cmd.Stdout, cmd.Stderr = log, log
	if i.child, err = server.StartChild(cmd); err != nil {
		i.close()
		return nil, err
	}
	return i, nil
}

func (i *instance) alive() bool {
	select {
	case <-i.child.Done():
		return false
	default:
		return true
	}
}

// deliver hands the event to the process. false: the process ended, or did not ask in time, and has seen nothing of it.
func (i *instance) deliver(v *invocation) bool {
	timer := time.NewTimer(initLimit)
	defer timer.Stop()
	select {
	case i.events <- v:
		return true
	case <-i.child.Done():
	case <-timer.C:
		i.child.Kill()
	}
	return false
}

// startProblem says why an instance did not come to its first event.
func (i *instance) startProblem() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.problem != "":
		return fmt.Errorf("%w: %s", ErrInit, i.problem)
	case i.child.Err() != nil:
		return fmt.Errorf("%w: %w; the log says more", ErrInit, i.child.Err())
	}
	return ErrInit
}

// close ends the Runtime API. The process was killed before, or is dead.
func (i *instance) close() { _ = i.web.Close() }

// begin makes the invocation the current one.
func (i *instance) begin(v *invocation) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.current = v
}

// finish ends the current invocation if it has this id, and says whether it has.
func (i *instance) finish(id string, answer []byte, err error) bool {
	i.mu.Lock()
	v := i.current
	if v == nil || v.id != id {
		i.mu.Unlock()
		return false
	}
	i.current = nil
	i.mu.Unlock()
	v.end(answer, err)
	return true
}

// invocation is one event on its way through a function.
type invocation struct {
	id      string
	arn     string
	traceID string
	event   []byte
	timeout time.Duration // counted from the moment at which an instance has the event

	once   sync.Once
	ended  chan struct{} // closed once answer and err stand
	answer []byte
	err    error
}

func newInvocation(f Function, event []byte) *invocation {
	return &invocation{id: requestID(), arn: "arn:aws:lambda:us-east-1:000000000000:function:" + f.Name, event: event,
		traceID: fmt.Sprintf("Root=1-%08x-%s;Sampled=0", time.Now().Unix(), randomHex(12)),
		timeout: f.Timeout, ended: make(chan struct{})}
}

// end sets the outcome; the first one stays.
func (v *invocation) end(answer []byte, err error) {
	v.once.Do(func() {
		v.answer, v.err = answer, err
		close(v.ended)
	})
}

// requestID has the form of Lambda's: a UUID.
func requestID() string {
	text := randomHex(16)
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

func randomHex(bytes int) string {
	raw := make([]byte, bytes)
	_, _ = rand.Read(raw) // it never fails
	return hex.EncodeToString(raw)
}

// FunctionError is an error that the function itself reported, or its panic.
type FunctionError struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

// Error gives the function's own sentence.
func (e *FunctionError) Error() string { return e.Type + ": " + e.Message }

// errUnreadable stands for an error report that is no JSON.
var errUnreadable = errors.New("the function reported an error in a form that nobody knows")

package mapping

import (
	"bytes"
	"context"
	"sync"

	"github.com/aws/aws-lambda-go/lambda"
)

// Instances runs one function in this process as Lambda does: an instance handles one event at a time, and one more is made when all are
// busy. This is needed, not mere likeness: what lambda.NewHandler makes answers out of a buffer that its next invocation writes over, so two
// invocations of one handler at once can return each other's answers. Instances is itself a lambda.Handler, safe for many goroutines.
type Instances struct {
	newInstance func() lambda.Handler
	mu          sync.Mutex
	idle        []lambda.Handler // the last one used is used next
}

// NewInstances returns the function whose instances newInstance makes; they may share their clients.
func NewInstances(newInstance func() lambda.Handler) *Instances {
	return &Instances{newInstance: newInstance}
}

// Invoke runs one event through an instance. An instance that panics is not used again, like a Lambda instance that died.
func (i *Instances) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	instance := i.take()
	answer, err := instance.Invoke(ctx, payload)
	answer = bytes.Clone(answer) // before the instance may be used again
	i.mu.Lock()
	i.idle = append(i.idle, instance)
	i.mu.Unlock()
	return answer, err
}

func (i *Instances) take() lambda.Handler {
	i.mu.Lock()
	if n := len(i.idle); n > 0 {
		instance := i.idle[n-1]
		i.idle = i.idle[:n-1]
		i.mu.Unlock()
		return instance
	}
	i.mu.Unlock()
	return i.newInstance()
}

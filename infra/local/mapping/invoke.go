package mapping

import (
	"context"
	"fmt"
)

// Invoker runs a function once with an event as JSON and returns its answer as JSON. An error is the function's own, or that it could not run.
// It is called by several goroutines at once.
type Invoker interface {
	Invoke(ctx context.Context, function string, payload []byte) ([]byte, error)
}

// invoke runs a function; a panic counts as its error, for the Lambda runtime reports it as one and the next invocation works again.
func invoke(ctx context.Context, by Invoker, function string, payload []byte) (answer []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			answer, err = nil, fmt.Errorf("%s panicked: %v", function, r)
		}
	}()
	return by.Invoke(ctx, function, payload)
}

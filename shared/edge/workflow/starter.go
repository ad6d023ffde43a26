package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"holdfast/shared/deposit"
	"holdfast/shared/edge/trace"
)

const (
	// startPatience bounds the starts of one batch of deposits. What is not started by then is left to the minute pass.
	startPatience = 3 * time.Second
	// startsAtOnce is how many starts of a batch run side by side.
	startsAtOnce = 16
	// longestExecution is how long an execution may last. Step Functions ends it after a year; the day less is room for turns.
	longestExecution = 364 * 24 * time.Hour
)

// ErrTooFar is returned for a deadline that no execution lives to see: the minute pass settles such a deposit.
var ErrTooFar = errors.New("workflow: the deadline is further off than an execution lasts")

// Starter starts executions of one state machine. It makes one attempt per execution: the service throttles starts, and what has no
// execution is done by the minute pass.
type Starter struct {
	client  func() *sfn.Client
	machine string // ARN
	now     func() time.Time
}

// NewStarter makes the starter of a state machine, given by its ARN. client is asked at each call, so that it can be made at the first.
// now only tells which deadlines are too far off.
func NewStarter(client func() *sfn.Client, machine string, now func() time.Time) *Starter {
	return &Starter{client: client, machine: machine, now: now}
}

// input is what an execution is started with. Its bytes are the same for a deposit whenever they are made, for the service compares
// them: another input under the name of a running execution is refused.
type input struct {
	OrderID  string `json:"orderId"`
	RemindAt string `json:"remindAt"` // whole seconds in UTC, the only form that every reader of the language takes
	Deadline string `json:"deadline"`
	Turns    int    `json:"turns"` // settlements that came too early; 0 at the start
}

func inputOf(e deposit.Execution) (string, error) {
	text, err := json.Marshal(input{OrderID: e.OrderID.String(), RemindAt: wholeSecond(e.RemindAt), Deadline: wholeSecond(e.Deadline)})
	return string(text), err
}

// wholeSecond writes an instant as the state machine takes it. One between two seconds becomes the later one, so that nobody is woken
// before it.
func wholeSecond(t time.Time) string {
	if up := t.Truncate(time.Second); !up.Equal(t) {
		t = up.Add(time.Second)
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// StartDeposit starts the execution of a deposit, which reminds the buyer and settles at the deadline. One that was started before counts
// as started. It makes one attempt and ends with ctx; an error loses nothing, since the row is the record, and the minute pass does what is
// overdue. An instant that has passed is no mistake: its wait ends at once. It returns ErrTooFar, or the error of the service.
func (s *Starter) StartDeposit(ctx context.Context, e deposit.Execution) error {
	if e.Deadline.Sub(s.now()) > longestExecution {
		return fmt.Errorf("%w: %s", ErrTooFar, wholeSecond(e.Deadline))
	}
	text, err := inputOf(e)
	if err != nil {
		return fmt.Errorf("workflow: start: %w", err)
	}
	return trace.Call(ctx, "StepFunctions", func(ctx context.Context) error {
		_, err := s.client().StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: &s.machine,
			Name: aws.String(e.OrderID.String()), Input: &text})
		// The name was used for this order, by a start that was repeated, perhaps long ago: then the execution has run, or runs.
		if known := (*types.ExecutionAlreadyExists)(nil); err == nil || errors.As(err, &known) {
			return nil
		}
		return fmt.Errorf("workflow: start: %w", err)
	})
}

// Start starts the executions of many deposits, a few at once, within startPatience. It returns what kept some from starting, in one
// error that says how many; the others have started. Deadlines that are too far off are no error.
func (s *Starter) Start(ctx context.Context, list []deposit.Execution) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	var (
		all    sync.WaitGroup
		mu     sync.Mutex
		first  error
		failed int
	)
	places := make(chan struct{}, startsAtOnce)
	for _, e := range list {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			err := ctx.Err()
			if err == nil {
				err = s.StartDeposit(ctx, e)
			}
			if err == nil || errors.Is(err, ErrTooFar) {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			failed++
			if first == nil {
				first = err
			}
		})
	}
	all.Wait()
	if failed > 0 {
		return fmt.Errorf("%d of %d deposits have no execution: %w", failed, len(list), first)
	}
	return nil
}

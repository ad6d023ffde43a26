package mapping_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/infra/local/mapping"
	"holdfast/infra/local/sqs"
)

// clock is real time plus an offset that tests move forward.
type clock struct{ offset atomic.Int64 }

func (c *clock) Now() time.Time          { return time.Now().Add(time.Duration(c.offset.Load())) }
func (c *clock) Advance(d time.Duration) { c.offset.Add(int64(d)) }

// world is a queue with its dead-letter queue, on a clock of the test's own.
type world struct {
	clock  *clock
	server *sqs.Server
	queue  *sqs.Queue
	dead   *sqs.Queue
}

// newWorld makes both queues with a visibility timeout of 30 s; faults may be nil.
func newWorld(t *testing.T, maxReceives string, faults sqs.Faults) *world {
	t.Helper()
	w := &world{clock: &clock{}}
	server, err := sqs.Start(sqs.Options{Now: w.clock.Now, Faults: faults})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	w.server = server
	if w.dead, err = server.CreateQueue("dead", nil); err != nil {
		t.Fatal(err)
	}
	w.queue, err = server.CreateQueue("orders", map[string]string{
		"RedrivePolicy": `{"deadLetterTargetArn":"` + w.dead.ARN() + `","maxReceiveCount":` + maxReceives + `}`,
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// send puts n messages into the queue, through its Go method, and returns their ids.
func (w *world) send(t *testing.T, n int) []string {
	t.Helper()
	ids := make([]string, n)
	for i := range ids {
		sent, err := w.queue.Send(context.Background(), sqs.Outgoing{Body: `{"n":` + string(rune('0'+i%10)) + `}`})
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = sent.ID
	}
	return ids
}

// timeout lets every visibility timeout pass.
func (w *world) timeout() {
	w.clock.Advance(31 * time.Second)
	w.server.Wake()
}

// functions invokes handlers as the Lambda runtime would: with JSON both ways.
type functions map[string]lambda.Handler

func (f functions) Invoke(ctx context.Context, function string, payload []byte) ([]byte, error) {
	return f[function].Invoke(ctx, payload)
}

// function makes a handler of any function that Lambda's runtime takes.
func function(f any) lambda.Handler {
	return mapping.NewInstances(func() lambda.Handler { return lambda.NewHandler(f) })
}

// raw is a handler that gives its answer as it stands, well formed or not.
type raw func(ctx context.Context, payload []byte) ([]byte, error)

func (r raw) Invoke(ctx context.Context, payload []byte) ([]byte, error) { return r(ctx, payload) }

// seen collects what a function was given: the batches in order, and how often each message came.
type seen struct {
	mu      sync.Mutex
	batches []events.SQSEvent
	count   map[string]int
}

func (s *seen) add(e events.SQSEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches = append(s.batches, e)
	if s.count == nil {
		s.count = map[string]int{}
	}
	for _, r := range e.Records {
		s.count[r.MessageId]++
	}
}

func (s *seen) addJSON(t *testing.T, payload []byte) events.SQSEvent {
	var e events.SQSEvent
	if err := json.Unmarshal(payload, &e); err != nil {
		t.Error(err)
	}
	s.add(e)
	return e
}

func (s *seen) sizes() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []int
	for _, b := range s.batches {
		out = append(out, len(b.Records))
	}
	return out
}

func (s *seen) of(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count[id]
}

// run starts a mapping that ends with the test.
func run(t *testing.T, o mapping.Options) *mapping.Mapping {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m, err := mapping.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := m.Stop(ctx); err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	return m
}

// eventually waits until what holds, for 20 s at most.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("not within 20 s: %s", what)
}

// depth returns the three counts of a queue as one value.
func depth(q *sqs.Queue) [3]int {
	visible, inflight, delayed := q.Depth()
	return [3]int{visible, inflight, delayed}
}

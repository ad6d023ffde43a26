package sqs

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options configure a Server.
type Options struct {
	Port    int              // on 127.0.0.1; 0 = a free one
	Now     func() time.Time // nil = time.Now
	Faults  Faults           // nil = none
	Region  string           // "" = us-east-1
	Account string           // twelve digits; "" = 000000000000
	Others  http.Handler     // answers what is not for SQS, as one endpoint serves all services; nil = it is refused
}

// Server holds the queues and answers HTTP.
type Server struct {
	now      func() time.Time
	faults   Faults
	region   string
	account  string
	others   http.Handler
	listener net.Listener
	http     *http.Server
	done     chan struct{}
	closing  sync.Once

	mu     sync.RWMutex
	queues map[string]*Queue
}

// Start listens on 127.0.0.1 and serves until Close. Errors: the port cannot be bound.
func Start(o Options) (*Server, error) {
	s := &Server{
		now: o.Now, faults: o.Faults, region: o.Region, account: o.Account, others: o.Others, done: make(chan struct{}), queues: map[string]*Queue{},
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.region == "" {
		s.region = "us-east-1"
	}
	if s.account == "" {
		s.account = "000000000000"
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", o.Port))
	if err != nil {
		return nil, fmt.Errorf("sqs: listen: %w", err)
	}
	s.listener = listener
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 10 * time.Second}
	// Serve ends only with the listener, which nobody but Close closes.
	go func() { _ = s.http.Serve(listener) }()
	return s, nil
}

// Close stops the server at once: waiting calls end with ErrClosed, HTTP callers lose their connection. The queues are gone with it.
func (s *Server) Close() {
	s.closing.Do(func() {
		close(s.done)
		_ = s.http.Close() // only what the listener says to being closed; nobody can act on it
	})
}

// Endpoint returns the address for the SDK's BaseEndpoint: "http://127.0.0.1:PORT".
func (s *Server) Endpoint() string { return "http://" + s.listener.Addr().String() }

// Region returns the region that stands in ARNs and events.
func (s *Server) Region() string { return s.region }

// Account returns the account that stands in ARNs and events.
func (s *Server) Account() string { return s.account }

// Now returns the time by the injected clock.
func (s *Server) Now() time.Time { return s.now() }

// Wake shows every message that has become due. Call it after the clock was moved: the waiting receives know only the time they computed.
func (s *Server) Wake() {
	for _, q := range s.all() {
		q.ring()
	}
}

// CreateQueue makes a standard queue with attributes named and written as SQS does ("VisibilityTimeout": "30"). A queue that exists with the
// same values is returned. Errors, each an *Error: QueueNameExists when it has others, InvalidParameterValue for a bad name or value,
// InvalidAttributeName, UnsupportedOperation for FIFO.
func (s *Server) CreateQueue(name string, attributes map[string]string) (*Queue, error) {
	if strings.HasSuffix(name, ".fifo") {
		return nil, errUnsupported("FIFO queues")
	}
	if !queueName.MatchString(name) {
		return nil, errInvalid("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.queues[name]; q != nil {
		q.mu.Lock()
		defer q.mu.Unlock()
		wanted, err := q.settings.apply(attributes, s.byARN)
		if err != nil {
			return nil, err
		}
		if wanted != q.settings {
			return nil, errQueueExists()
		}
		return q, nil
	}
	c, err := defaults().apply(attributes, s.byARN)
	if err != nil {
		return nil, err
	}
	q := newQueue(s, name, c)
	s.queues[name] = q
	return q, nil
}

// Queue returns the queue of that name; nil when there is none.
func (s *Server) Queue(name string) *Queue {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.queues[name]
}

// setAttributes changes a queue. A redrive policy that would lead back to the queue itself is refused, though SQS takes it: take holds the locks
// of a whole chain.
func (s *Server) setAttributes(q *Queue, attributes map[string]string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	q.mu.Lock()
	c, err := q.settings.apply(attributes, s.byARN)
	q.mu.Unlock()
	if err != nil {
		return err
	}
	for next := c.dead; next != nil; next = next.redriveTarget() {
		if next == q {
			return errInvalid("The RedrivePolicy is invalid. Reason: Dead letter queues must not form a circle.")
		}
	}
	q.mu.Lock()
	q.settings = c
	q.mu.Unlock()
	return nil
}

func (q *Queue) redriveTarget() *Queue {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.settings.dead
}

// byARN expects s.mu to be held.
func (s *Server) byARN(arn string) *Queue {
	name, ok := strings.CutPrefix(arn, s.arn(""))
	if !ok {
		return nil
	}
	return s.queues[name]
}

func (s *Server) arn(name string) string {
	return "arn:aws:sqs:" + s.region + ":" + s.account + ":" + name
}

// all returns the queues by name.
func (s *Server) all() []*Queue {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]*Queue, 0, len(s.queues))
	for _, q := range s.queues {
		out = append(out, q)
	}
	slices.SortFunc(out, func(a, b *Queue) int { return strings.Compare(a.name, b.name) })
	return out
}

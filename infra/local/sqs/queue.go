package sqs

import (
	"container/heap"
	"container/list"
	"context"
	"sync"
	"time"
)

// Queue is one standard queue. Its methods may be called from many goroutines; none holds the lock while it waits.
type Queue struct {
	server *Server
	name   string
	arn    string
	url    string
	mark   string // begins every receipt handle of this queue

	mu       sync.Mutex
	settings settings
	stored   map[uint64]*stored
	visible  *list.List // of *stored, the next to be taken in front
	timers   timers     // in flight and delayed, by due
	inflight int
	lastKey  uint64
	waiting  *list.List // of *waiter
	alarm    *time.Timer
}

func newQueue(s *Server, name string, c settings) *Queue {
	q := &Queue{
		server: s, name: name, arn: s.arn(name), url: s.Endpoint() + "/" + s.account + "/" + name, mark: newID(),
		settings: c, stored: map[uint64]*stored{}, visible: list.New(), waiting: list.New(),
	}
	q.alarm = time.AfterFunc(time.Hour, q.ring)
	q.alarm.Stop()
	return q
}

// Name returns the queue's name.
func (q *Queue) Name() string { return q.name }

// ARN returns the queue's Amazon resource name.
func (q *Queue) ARN() string { return q.arn }

// Region returns the region that the queue's ARN names.
func (q *Queue) Region() string { return q.server.region }

// URL returns the address by which clients name the queue.
func (q *Queue) URL() string { return q.url }

// Send stores one message. Errors: *Error for a message that SQS refuses, ErrAnswerLost, ErrClosed, ctx's error.
func (q *Queue) Send(ctx context.Context, out Outgoing) (Sent, error) {
	mode, err := q.server.begin(ctx, PointSend)
	if err != nil {
		return Sent{}, err
	}
	if mode == FailEntry {
		return Sent{}, errUnavailable()
	}
	sent, refused := q.put(out, mode)
	if refused != nil {
		return Sent{}, refused
	}
	return sent, mode.end()
}

// SendBatch stores messages each for itself: the result at i belongs to outs[i], with either Sent or a *Error in Err. How many a batch may
// hold is for the protocol to say.
func (q *Queue) SendBatch(ctx context.Context, outs []Outgoing) ([]SendResult, error) {
	mode, err := q.server.begin(ctx, PointSend)
	if err != nil {
		return nil, err
	}
	results := make([]SendResult, len(outs))
	for i, out := range outs {
		if mode.failing(i, len(outs)) {
			results[i].Err = errEntry()
			continue
		}
		results[i].Sent, results[i].Err = q.put(out, mode)
	}
	return results, mode.end()
}

// SendResult is the outcome of one entry of a batch.
type SendResult struct {
	Sent Sent
	Err  *Error // nil = sent
}

// put checks and stores one message, as the fault mode says: not at all, once or twice.
func (q *Queue) put(out Outgoing, mode Mode) (Sent, *Error) {
	q.mu.Lock()
	c := q.settings
	q.mu.Unlock()
	if refused := out.check(c.maxBytes); refused != nil {
		return Sent{}, refused
	}
	m := Message{
		ID: newID(), Body: out.Body, BodyMD5: bodyMD5(out.Body), Attributes: out.Attributes, TraceHeader: out.TraceHeader,
		SentAt: q.server.now(),
	}
	delay := c.delay
	if out.Delay != nil {
		delay = *out.Delay
	}
	copies := 1
	switch mode {
	case Drop:
		copies = 0
	case Duplicate:
		copies = 2
	}
	q.mu.Lock()
	for range copies {
		q.insert(m, m.SentAt.Add(delay), delay > 0)
	}
	q.mu.Unlock()
	return Sent{ID: m.ID, BodyMD5: m.BodyMD5, AttributesMD5: attributesMD5(m.Attributes)}, nil
}

// Receive takes up to max messages for the queue's own visibility timeout, and waits up to wait of real time for the first. No message is
// no error. Errors: *Error, ErrAnswerLost, ErrClosed, ctx's error; in the last two cases nothing was taken.
func (q *Queue) Receive(ctx context.Context, max int, wait time.Duration) ([]Message, error) {
	return q.receive(ctx, max, wait, nil)
}

func (q *Queue) receive(ctx context.Context, max int, wait time.Duration, visibility *time.Duration) ([]Message, error) {
	mode, err := q.server.begin(ctx, PointReceive)
	if err != nil {
		return nil, err
	}
	switch mode {
	case Drop:
		return nil, q.sleep(ctx, wait)
	case Duplicate:
		visibility = new(time.Duration)
	}
	messages, err := q.poll(ctx, max, wait, visibility)
	if err == nil {
		err = mode.end()
	}
	if err != nil {
		return nil, err
	}
	return messages, nil
}

// Delete removes the message that receipt stands for. Errors: ReceiptHandleIsInvalid, ErrAnswerLost, ErrClosed, ctx's error.
func (q *Queue) Delete(ctx context.Context, receipt string) error {
	mode, err := q.server.begin(ctx, PointDelete)
	if err != nil {
		return err
	}
	if mode == FailEntry {
		return errUnavailable()
	}
	if refused := q.remove(receipt, mode); refused != nil {
		return refused
	}
	return mode.end()
}

// DeleteBatch removes messages each for itself: the *Error at i belongs to receipts[i], nil = deleted.
func (q *Queue) DeleteBatch(ctx context.Context, receipts []string) ([]*Error, error) {
	mode, err := q.server.begin(ctx, PointDelete)
	if err != nil {
		return nil, err
	}
	refused := make([]*Error, len(receipts))
	for i, receipt := range receipts {
		if mode.failing(i, len(receipts)) {
			refused[i] = errEntry()
			continue
		}
		refused[i] = q.remove(receipt, mode)
	}
	return refused, mode.end()
}

func (q *Queue) remove(receipt string, mode Mode) *Error {
	key, receives, err := readHandle(q.mark, receipt)
	if err != nil {
		return errHandle()
	}
	if mode == Drop {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if m := q.stored[key]; m != nil && m.Receives == receives {
		q.forget(m)
	}
	return nil
}

// ChangeVisibility makes a message in flight visible d from now; 0 = at once. Errors, each an *Error: ReceiptHandleIsInvalid;
// InvalidParameterValue for a d outside 0..12 h or a message that is gone; MessageNotInflight when it is visible already or someone else has
// received it.
func (q *Queue) ChangeVisibility(receipt string, d time.Duration) error {
	if refused := q.changeVisibility(receipt, d); refused != nil {
		return refused
	}
	return nil
}

func (q *Queue) changeVisibility(receipt string, d time.Duration) *Error {
	if d < 0 || d > maxVisibility {
		return errInvalid("Value %s for parameter VisibilityTimeout is invalid. Reason: Must be between 0 and 43200.", seconds(d))
	}
	key, receives, err := readHandle(q.mark, receipt)
	if err != nil {
		return errHandle()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.server.now()
	q.promote(now)
	m := q.stored[key]
	if m == nil {
		return errInvalid("Value for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.")
	}
	if !m.inflight || m.Receives != receives {
		return simple("MessageNotInflight", "The specified message isn't in flight.")
	}
	m.due = now.Add(d)
	heap.Fix(&q.timers, m.timed)
	q.promote(now)
	q.setAlarm(now)
	return nil
}

// Purge deletes every message, those in flight too.
func (q *Queue) Purge() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stored, q.timers, q.inflight = map[uint64]*stored{}, nil, 0
	q.visible.Init()
}

// Depth counts the messages at this moment. A message given up to a dead-letter queue counts there only.
func (q *Queue) Depth() (visible, inflight, delayed int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.server.now()
	q.promote(now)
	for front := q.visible.Front(); front != nil && q.outlived(front.Value.(*stored), now); front = q.visible.Front() {
		q.forget(front.Value.(*stored))
	}
	return q.visible.Len(), q.inflight, len(q.timers) - q.inflight
}

package mapping

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"holdfast/infra/local/sqs"
)

// Options describe a mapping; the limits are Lambda's.
type Options struct {
	Queue                   *sqs.Queue
	Function                string
	Invoker                 Invoker
	BatchSize               int           // 1..10 000, 0 = 10; over 10 needs a Window of at least 1 s
	Window                  time.Duration // 0..5 min; 0 = invoke with what is there
	Concurrency             int           // 2..1 000 (MaximumConcurrency), 0 = 5, with which Lambda starts
	ReportBatchItemFailures bool
	Log                     *slog.Logger // nil = slog.Default()
}

// check fills in defaults, or says which limit is broken.
func (o *Options) check() error {
	if o.Queue == nil || o.Function == "" || o.Invoker == nil {
		return errors.New("mapping: queue, function and invoker are needed")
	}
	if o.BatchSize == 0 {
		o.BatchSize = 10
	}
	if o.Concurrency == 0 {
		o.Concurrency = 5
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	switch {
	case o.BatchSize < 1 || o.BatchSize > 10_000:
		return fmt.Errorf("mapping: batch size %d is not in 1..10000", o.BatchSize)
	case o.Window < 0 || o.Window > 5*time.Minute:
		return fmt.Errorf("mapping: window %v is not in 0..5m", o.Window)
	case o.BatchSize > 10 && o.Window < time.Second:
		return fmt.Errorf("mapping: batch size %d needs a window of at least 1s, not %v", o.BatchSize, o.Window)
	case o.Concurrency < 2 || o.Concurrency > 1000:
		return fmt.Errorf("mapping: concurrency %d is not in 2..1000", o.Concurrency)
	}
	return nil
}

// Mapping is a running event source mapping.
type Mapping struct {
	o     Options
	slots chan struct{} // one per invocation that runs or is being prepared
	runs  sync.WaitGroup
	ended chan struct{} // closed when the loop has ended

	work       context.Context // of invocations
	cancelWork context.CancelFunc
	stopping   context.Context
	stop       context.CancelFunc

	turn sync.Mutex // held while messages are being taken

	mu      sync.Mutex
	paused  bool
	poll    context.Context // of taking messages; ends with each pause
	endPoll context.CancelFunc
	resumed chan struct{} // closed by Resume; made by Pause
}

// Start begins to take messages. Errors: an option outside its limits.
func Start(o Options) (*Mapping, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	m := &Mapping{o: o, slots: make(chan struct{}, o.Concurrency), ended: make(chan struct{})}
	m.work, m.cancelWork = context.WithCancel(context.Background())
	m.stopping, m.stop = context.WithCancel(context.Background())
	m.poll, m.endPoll = context.WithCancel(m.stopping)
	go m.loop()
	return m, nil
}

// Pause stops taking messages. When it returns, nothing that is sent from now on is delivered before Resume; batches that were taken are
// still processed.
func (m *Mapping) Pause() {
	m.mu.Lock()
	if !m.paused {
		m.paused = true
		m.resumed = make(chan struct{})
		m.endPoll()
	}
	m.mu.Unlock()
	m.turn.Lock() // whoever was taking messages has ended
	defer m.turn.Unlock()
}

// Resume takes messages again.
func (m *Mapping) Resume() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.paused {
		return
	}
	m.paused = false
	m.poll, m.endPoll = context.WithCancel(m.stopping)
	close(m.resumed)
}

// Paused reports whether the mapping is paused.
func (m *Mapping) Paused() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.paused
}

// Stop takes no more messages and waits for the running invocations. When ctx ends first, their contexts are cancelled and ctx's error is
// returned; what they did not finish comes back after its visibility timeout. Stopping twice is harmless.
func (m *Mapping) Stop(ctx context.Context) error {
	m.stop()
	done := make(chan struct{})
	go func() {
		<-m.ended
		m.runs.Wait()
		close(done)
	}()
	defer m.cancelWork()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// loop gathers one batch after the other and hands each to a goroutine of its own. A slot is taken before the first message is.
func (m *Mapping) loop() {
	defer close(m.ended)
	var left []sqs.Message // taken, but too long for the batch before
	for {
		poll, resumed := m.current()
		if poll.Err() != nil {
			m.giveBack(left)
			left = nil
			select {
			case <-resumed:
				continue
			case <-m.stopping.Done():
				return
			}
		}
		select {
		case m.slots <- struct{}{}:
		case <-poll.Done():
			continue
		}
		var b *batch
		b, left = m.gather(poll, left)
		if len(b.messages) == 0 {
			<-m.slots
			continue
		}
		m.runs.Go(func() {
			defer func() { <-m.slots }()
			m.process(b)
		})
	}
}

// current returns the context of taking messages and, while paused, what ends the pause.
func (m *Mapping) current() (poll context.Context, resumed <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.poll, m.resumed
}

// giveBack makes messages visible that no invocation will see.
func (m *Mapping) giveBack(messages []sqs.Message) {
	for i := range messages {
		// A message whose timeout has passed meanwhile is visible already.
		_ = m.o.Queue.ChangeVisibility(messages[i].Receipt, 0)
	}
}

package mapping

import (
	"context"
	"errors"
	"time"

	"holdfast/infra/local/sqs"
)

const (
	maxReceive   = 10               // messages of one call, as Lambda's pollers have to obey too
	longPoll     = 20 * time.Second // of one call
	giveUp       = 5 * time.Second  // how much longer than its wait a call may last
	pollAgain    = 100 * time.Millisecond
	deleteTries  = 3
	deleteAgain  = 50 * time.Millisecond
	deletePerTry = 5 * time.Second
)

// gather takes messages until the batch is full, its window has passed or poll has ended. left are messages taken before; what does not fit
// into the event is returned for the next batch. The window begins with the first message.
func (m *Mapping) gather(poll context.Context, left []sqs.Message) (*batch, []sqs.Message) {
	m.turn.Lock()
	defer m.turn.Unlock()
	b := &batch{}
	if rest := m.fill(b, left); len(rest) > 0 {
		return b, rest
	}
	began := time.Now()
	for poll.Err() == nil && len(b.messages) < m.o.BatchSize {
		wait := longPoll
		if len(b.messages) > 0 {
			wait = min(longPoll, m.o.Window-time.Since(began))
			if wait <= 0 {
				break
			}
		}
		got, err := m.receive(poll, min(maxReceive, m.o.BatchSize-len(b.messages)), wait)
		switch {
		case errors.Is(err, sqs.ErrClosed):
			m.stop() // the queue is gone for good; poll ends with it
			continue
		case err != nil && poll.Err() == nil:
			m.o.Log.Warn("receiving failed", "function", m.o.Function, "queue", m.o.Queue.Name(), "error", err)
			pause(poll, pollAgain)
			continue
		}
		if len(b.messages) == 0 {
			began = time.Now()
		}
		if rest := m.fill(b, got); len(rest) > 0 {
			return b, rest
		}
	}
	return b, nil
}

// fill adds messages up to the batch's limits and returns the rest.
func (m *Mapping) fill(b *batch, messages []sqs.Message) []sqs.Message {
	for i := range messages {
		if len(b.messages) == m.o.BatchSize || !b.add(m.o.Queue, &messages[i]) {
			return messages[i:]
		}
	}
	return nil
}

// receive is one call to the queue, given up when it lasts longer than a call may.
func (m *Mapping) receive(poll context.Context, most int, wait time.Duration) ([]sqs.Message, error) {
	ctx, cancel := context.WithTimeout(poll, wait+giveUp)
	defer cancel()
	return m.o.Queue.Receive(ctx, most, wait)
}

// process invokes the function with the batch and deletes what succeeded.
func (m *Mapping) process(b *batch) {
	answer, err := invoke(m.work, m.o.Invoker, m.o.Function, b.event())
	var failed map[string]bool
	if err == nil && m.o.ReportBatchItemFailures {
		failed, err = readFailures(answer, b.messages)
	}
	if err != nil {
		m.o.Log.Warn("the whole batch failed", "function", m.o.Function, "messages", len(b.messages), "error", err)
		return
	}
	if len(failed) > 0 {
		m.o.Log.Info("messages failed", "function", m.o.Function, "messages", len(b.messages), "failed", len(failed))
	}
	var done []string
	for i := range b.messages {
		if !failed[b.messages[i].ID] {
			done = append(done, b.messages[i].Receipt)
		}
	}
	for len(done) > 0 {
		n := min(maxReceive, len(done))
		m.delete(done[:n])
		done = done[n:]
	}
}

// delete removes up to ten messages, with a few tries: what cannot be deleted will be delivered again.
func (m *Mapping) delete(receipts []string) {
	var last error
	for try := range deleteTries {
		if try > 0 {
			pause(m.work, time.Duration(try)*deleteAgain)
		}
		if receipts, last = m.deleteOnce(receipts); len(receipts) == 0 {
			return
		}
	}
	m.o.Log.Warn("deleting failed", "function", m.o.Function, "queue", m.o.Queue.Name(), "messages", len(receipts), "error", last)
}

// deleteOnce returns the receipts that were not, or not certainly, deleted and why.
func (m *Mapping) deleteOnce(receipts []string) ([]string, error) {
	ctx, cancel := context.WithTimeout(m.work, deletePerTry)
	defer cancel()
	refused, err := m.o.Queue.DeleteBatch(ctx, receipts)
	if err != nil {
		return receipts, err
	}
	var rest []string
	for i, r := range refused {
		if r != nil {
			rest, err = append(rest, receipts[i]), r
		}
	}
	return rest, err
}

// pause waits d, or less when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

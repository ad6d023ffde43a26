package sqs

import (
	"container/list"
	"context"
	"time"
)

// shortestAlarm bounds how often the alarm rings when the injected clock stands still.
const shortestAlarm = time.Millisecond

// waiter is one long poll. It is in Queue.waiting until someone wakes it or it leaves.
type waiter struct {
	ready chan struct{} // holds one signal
	place *list.Element // nil once woken
}

// poll takes messages, or waits for them without the lock. Whoever is woken and leaves without taking passes the signal on, and whoever takes
// and leaves some behind wakes the next; so no message lies visible while someone waits.
func (q *Queue) poll(ctx context.Context, max int, wait time.Duration, visibility *time.Duration) ([]Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	q.mu.Lock()
	out := q.take(q.server.now(), max, visibility)
	if len(out) > 0 || wait <= 0 {
		q.mu.Unlock()
		return out, nil
	}
	w := &waiter{ready: make(chan struct{}, 1)}
	q.enlist(w)
	q.mu.Unlock()

	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-w.ready:
			if out := q.retake(w, max, visibility); len(out) > 0 {
				return out, nil
			}
		case <-timer.C:
			q.mu.Lock()
			defer q.mu.Unlock()
			q.withdraw(w)
			return q.take(q.server.now(), max, visibility), nil
		case <-ctx.Done():
			q.leave(w)
			return nil, ctx.Err()
		case <-q.server.done:
			q.leave(w)
			return nil, ErrClosed
		}
	}
}

// retake tries again for a woken waiter; if another was faster, it waits on.
func (q *Queue) retake(w *waiter, max int, visibility *time.Duration) []Message {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := q.take(q.server.now(), max, visibility)
	if len(out) == 0 {
		q.enlist(w)
	}
	return out
}

// leave takes a waiter out that will take nothing, and hands on a signal it may have had.
func (q *Queue) leave(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.withdraw(w)
	if q.visible.Len() > 0 {
		q.wakeOne()
	}
}

// enlist and withdraw expect q.mu to be held, like wakeOne and setAlarm.
func (q *Queue) enlist(w *waiter) {
	w.place = q.waiting.PushBack(w)
	q.setAlarm(q.server.now())
}

func (q *Queue) withdraw(w *waiter) {
	if w.place != nil {
		q.waiting.Remove(w.place)
		w.place = nil
	}
}

func (q *Queue) wakeOne() {
	front := q.waiting.Front()
	if front == nil {
		return
	}
	w := front.Value.(*waiter)
	q.withdraw(w)
	w.ready <- struct{}{} // never blocks: the signal before was taken before w was enlisted again
}

// setAlarm arranges that the next message to become due is shown in time, if anyone waits for it.
func (q *Queue) setAlarm(now time.Time) {
	if q.waiting.Len() == 0 || len(q.timers) == 0 {
		return
	}
	q.alarm.Reset(max(q.timers[0].due.Sub(now), shortestAlarm))
}

// ring is the alarm: it shows what is due and sets itself again.
func (q *Queue) ring() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.server.now()
	q.promote(now)
	q.setAlarm(now)
}

// sleep waits d of real time; it ends early, with an error, when ctx or the server ends.
func (q *Queue) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-q.server.done:
		return ErrClosed
	}
}

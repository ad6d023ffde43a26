package sqs

import (
	"container/heap"
	"time"
)

// Everything in this file expects q.mu to be held.

// timers orders the messages that wait for a time, the soonest first.
type timers []*stored

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].due.Before(t[j].due) }
func (t timers) Swap(i, j int)      { t[i], t[j] = t[j], t[i]; t[i].timed, t[j].timed = i, j }

// Push and Pop serve container/heap.
func (t *timers) Push(x any) { m := x.(*stored); m.timed = len(*t); *t = append(*t, m) }
func (t *timers) Pop() any {
	old := *t
	m := old[len(old)-1]
	old[len(old)-1] = nil
	*t = old[:len(old)-1]
	m.timed = -1
	return m
}

// insert adds a message under a key of its own, delayed or visible.
func (q *Queue) insert(m Message, due time.Time, delayed bool) {
	q.lastKey++
	s := &stored{Message: m, key: q.lastKey, timed: -1, due: due}
	q.stored[s.key] = s
	if delayed {
		q.await(s)
		return
	}
	q.show(s)
}

// show puts a message at the end of the visible ones and wakes one who waits for it.
func (q *Queue) show(m *stored) {
	m.inflight = false
	m.place = q.visible.PushBack(m)
	q.wakeOne()
}

// await lets a message wait until its due time.
func (q *Queue) await(m *stored) {
	heap.Push(&q.timers, m)
	if m.inflight {
		q.inflight++
	}
	if m.timed == 0 {
		q.setAlarm(q.server.now())
	}
}

// hide takes a message out of where it stands, and leaves it stored.
func (q *Queue) hide(m *stored) {
	if m.place != nil {
		q.visible.Remove(m.place)
		m.place = nil
		return
	}
	heap.Remove(&q.timers, m.timed)
	if m.inflight {
		q.inflight--
	}
}

// forget deletes a message.
func (q *Queue) forget(m *stored) {
	q.hide(m)
	delete(q.stored, m.key)
}

// promote shows what has become due: messages whose delay or visibility timeout has passed at now.
func (q *Queue) promote(now time.Time) {
	for len(q.timers) > 0 && !q.timers[0].due.After(now) {
		m := q.timers[0]
		q.hide(m)
		q.show(m)
	}
}

// outlived reports whether a message has passed the queue's retention.
func (q *Queue) outlived(m *stored, now time.Time) bool {
	return now.Sub(m.SentAt) > q.settings.retention
}

// take gives out up to max visible messages and holds them in flight for visibility, nil = the queue's own. A message that was received
// often enough goes to the dead-letter queue instead. Moving it needs both locks at once, so that it is never in neither queue; redrive
// policies form no circle (see setAttributes), hence the locks cannot block each other.
func (q *Queue) take(now time.Time, max int, visibility *time.Duration) []Message {
	q.promote(now)
	timeout := q.settings.visibility
	if visibility != nil {
		timeout = *visibility
	}
	var out []Message
	for len(out) < max && q.visible.Len() > 0 {
		m := q.visible.Front().Value.(*stored)
		switch {
		case q.outlived(m, now):
			q.forget(m)
		case q.settings.dead != nil && m.Receives >= q.settings.maxReceive:
			q.forget(m)
			q.settings.dead.adopt(m.Message, q.arn)
		default:
			q.hide(m)
			m.Receives++
			if m.FirstReceived.IsZero() {
				m.FirstReceived = now
			}
			m.Receipt = writeHandle(q.mark, m)
			m.inflight, m.due = true, now.Add(timeout)
			q.await(m)
			out = append(out, m.Message)
		}
	}
	if q.visible.Len() > 0 {
		q.wakeOne()
	}
	return out
}

// adopt stores a message that another queue gave up. It takes its own lock: the caller holds the other queue's.
func (q *Queue) adopt(m Message, source string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m.DeadSource, m.Receipt = source, ""
	q.insert(m, time.Time{}, false)
}

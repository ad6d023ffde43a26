package mapping_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"holdfast/infra/local/mapping"
	"holdfast/infra/local/sqs"
)

// script gives each point its modes in order, then none.
type script struct {
	mu    sync.Mutex
	modes map[string][]sqs.Mode
}

func (s *script) Next(point string) sqs.Mode {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.modes[point]) == 0 {
		return sqs.None
	}
	mode := s.modes[point][0]
	s.modes[point] = s.modes[point][1:]
	return mode
}

func (s *script) left(point string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.modes[point])
}

// TestFaultsOfTheQueueEndWithEveryMessageDelivered lets a mapping meet each fault on its way to the queue.
func TestFaultsOfTheQueueEndWithEveryMessageDelivered(t *testing.T) {
	t.Parallel()
	cases := []struct {
		outcome string
		point   string
		modes   []sqs.Mode
		least   int // deliveries of the message that are to be seen at least
	}{
		{"refused receives are tried again", sqs.PointReceive, []sqs.Mode{sqs.Refuse, sqs.Refuse}, 1},
		{"a receive without an answer takes the message for one timeout", sqs.PointReceive, []sqs.Mode{sqs.LoseAnswer}, 1},
		{"a receive that gives out twice makes a duplicate", sqs.PointReceive, []sqs.Mode{sqs.Duplicate}, 2},
		{"refused deletes are tried again", sqs.PointDelete, []sqs.Mode{sqs.Refuse, sqs.Refuse}, 1},
		{"deletes refused for good make a redelivery", sqs.PointDelete, []sqs.Mode{sqs.Refuse, sqs.Refuse, sqs.Refuse}, 2},
		{"a delete without an answer is tried again", sqs.PointDelete, []sqs.Mode{sqs.LoseAnswer}, 1},
		{"a delete that was dropped makes a redelivery", sqs.PointDelete, []sqs.Mode{sqs.Drop}, 2},
		{"a delete that failed by entry is tried again", sqs.PointDelete, []sqs.Mode{sqs.FailEntry}, 1},
		{"a message stored twice comes twice under one id", sqs.PointSend, []sqs.Mode{sqs.Duplicate}, 2},
	}
	for _, c := range cases {
		t.Run(c.outcome, func(t *testing.T) {
			t.Parallel()
			faults := &script{modes: map[string][]sqs.Mode{c.point: c.modes}}
			w := newWorld(t, "9", faults)
			id := w.send(t, 1)[0]
			var got seen
			run(t, mapping.Options{
				Queue: w.queue, Function: "f", ReportBatchItemFailures: true,
				Invoker: functions{"f": function(func(_ context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
					got.add(e)
					return events.SQSEventResponse{}, nil
				})},
			})
			eventually(t, "all faults have struck", func() bool { return faults.left(c.point) == 0 })
			eventually(t, "the message is delivered and gone", func() bool {
				if got.of(id) >= c.least && depth(w.queue) == [3]int{} {
					return true
				}
				if depth(w.queue)[1] > 0 {
					time.Sleep(250 * time.Millisecond) // longer than the tries of a delete take
					w.timeout()
				}
				return false
			})
		})
	}
}

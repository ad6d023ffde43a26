package local

import (
	"context"
	"log/slog"
	"time"

	"holdfast/infra/local/mapping"
)

// scheduled lists what EventBridge Scheduler wakes, and how often. A test compares it with the template.
var scheduled = map[string]time.Duration{
	"expire-orders":      time.Minute,
	"compensate-orders":  time.Minute,
	"reconcile-stock":    5 * time.Minute,
	"reconcile-deposits": 24 * time.Hour,
}

// stopTimeout bounds how long a mapping or schedule may finish its runs when the stack ends.
const stopTimeout = 10 * time.Second

// startTriggers starts what wakes functions besides HTTP: the queues and the schedules.
func (s *Stack) startTriggers(log *slog.Logger) error {
	var err error
	s.orders, err = mapping.Start(mapping.Options{Queue: s.ordersQueue, Function: "create-orders", Invoker: s.functions,
		BatchSize: ordersBatchSize, Window: ordersWindow, Concurrency: ordersConcurrency, ReportBatchItemFailures: true, Log: log})
	if err != nil {
		return err
	}
	s.onClose(s.orders.Stop)
	letters, err := mapping.Start(mapping.Options{Queue: s.deadLetters, Function: "record-dead-letters", Invoker: s.functions,
		BatchSize: deadLettersBatchSize, Concurrency: 2, ReportBatchItemFailures: true, Log: log})
	if err != nil {
		return err
	}
	s.onClose(letters.Stop)
	if err := s.startSender(log); err != nil {
		return err
	}
	s.schedules = make(map[string]*mapping.Schedule, len(scheduled))
	for name, every := range scheduled {
		schedule, err := mapping.StartSchedule(mapping.ScheduleOptions{Function: name, Every: every, Invoker: s.functions,
			Now: s.clock.Now, Log: log})
		if err != nil {
			return err
		}
		s.clock.OnMove(schedule.Wake)
		s.onClose(schedule.Stop)
		s.schedules[name] = schedule
	}
	return nil
}

// onClose has the stack stop something when it ends, within stopTimeout.
func (s *Stack) onClose(stop func(context.Context) error) {
	s.closers = append(s.closers, func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		_ = stop(ctx) // what did not end in time ends with the process
	})
}

package mapping

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// ScheduleOptions describe a schedule.
type ScheduleOptions struct {
	Function string
	Every    time.Duration // at least 1 min, the shortest rate that EventBridge Scheduler takes
	Invoker  Invoker
	Now      func() time.Time // may jump forward; nil = time.Now
	Region   string           // in the event; "" = us-east-1
	Account  string           // in the event; "" = 000000000000
	Log      *slog.Logger     // nil = slog.Default()
}

// Schedule is a running schedule.
type Schedule struct {
	o        ScheduleOptions
	moved    chan struct{} // holds one signal: look at the clock
	runs     sync.WaitGroup
	ended    chan struct{}
	stopping context.Context
	stop     context.CancelFunc
	work     context.Context
	cancel   context.CancelFunc
}

// shortestNap bounds how often the loop looks at a clock that stands still.
const shortestNap = time.Millisecond

// StartSchedule begins to count; the first run is due when Every has passed. Errors: an option is missing or outside its limits.
func StartSchedule(o ScheduleOptions) (*Schedule, error) {
	if o.Function == "" || o.Invoker == nil {
		return nil, errors.New("schedule: function and invoker are needed")
	}
	if o.Every < time.Minute {
		return nil, fmt.Errorf("schedule: a rate of %v is below one minute", o.Every)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Region == "" {
		o.Region = "us-east-1"
	}
	if o.Account == "" {
		o.Account = "000000000000"
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	s := &Schedule{o: o, moved: make(chan struct{}, 1), ended: make(chan struct{})}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.work, s.cancel = context.WithCancel(context.Background())
	go s.loop(o.Now())
	return s, nil
}

// Wake makes the schedule look at its clock; call it after the clock was moved.
func (s *Schedule) Wake() {
	select {
	case s.moved <- struct{}{}:
	default: // it is going to look anyway
	}
}

// RunNow invokes the function at once, beside the schedule, and returns its answer. Errors: the function's own, or that it could not run.
func (s *Schedule) RunNow(ctx context.Context) ([]byte, error) {
	return invoke(ctx, s.o.Invoker, s.o.Function, s.event(s.o.Now()))
}

// Stop begins no more runs and waits for those that run. When ctx ends first, their contexts are cancelled and ctx's error is returned.
func (s *Schedule) Stop(ctx context.Context) error {
	s.stop()
	done := make(chan struct{})
	go func() {
		<-s.ended
		s.runs.Wait()
		close(done)
	}()
	defer s.cancel()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// loop begins a run whenever the clock has passed the next due time. After a jump over many due times it runs once, for the latest.
func (s *Schedule) loop(start time.Time) {
	defer close(s.ended)
	next := start.Add(s.o.Every)
	for {
		now := s.o.Now()
		if !now.Before(next) {
			due := next.Add(now.Sub(next) / s.o.Every * s.o.Every)
			next = due.Add(s.o.Every)
			s.runs.Go(func() {
				if _, err := invoke(s.work, s.o.Invoker, s.o.Function, s.event(due)); err != nil {
					s.o.Log.Warn("a scheduled run failed", "function", s.o.Function, "error", err)
				}
			})
		}
		timer := time.NewTimer(max(next.Sub(now), shortestNap))
		select {
		case <-timer.C:
		case <-s.moved:
		case <-s.stopping.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// event is what EventBridge Scheduler sends to a function when the schedule has no input of its own.
func (s *Schedule) event(due time.Time) []byte {
	text, err := json.Marshal(map[string]any{
		"version":     "0",
		"id":          fmt.Sprintf("%016x", rand.Uint64()),
		"detail-type": "Scheduled Event",
		"source":      "aws.scheduler",
		"account":     s.o.Account,
		"time":        due.UTC().Format("2006-01-02T15:04:05Z"),
		"region":      s.o.Region,
		"resources":   []string{"arn:aws:scheduler:" + s.o.Region + ":" + s.o.Account + ":schedule/default/" + s.o.Function},
		"detail":      "{}",
	})
	if err != nil {
		panic(err) // texts can always be written
	}
	return text
}

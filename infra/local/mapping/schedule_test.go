package mapping_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"holdfast/infra/local/mapping"
)

// ticks collects the events of a scheduled function.
type ticks struct {
	mu     sync.Mutex
	events []events.CloudWatchEvent
}

func (k *ticks) add(e events.CloudWatchEvent) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.events = append(k.events, e)
}

func (k *ticks) len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.events)
}

// frozen is a clock that moves only when told.
type frozen struct {
	mu  sync.Mutex
	now time.Time
}

func (f *frozen) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *frozen) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

func newFrozen() *frozen { return &frozen{now: time.Date(2027, 1, 1, 8, 0, 30, 0, time.UTC)} }

func schedule(t *testing.T, o mapping.ScheduleOptions) *mapping.Schedule {
	t.Helper()
	o.Function, o.Every, o.Log = "tick", time.Minute, slog.New(slog.DiscardHandler)
	s, err := mapping.StartSchedule(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

func TestAScheduleRunsOncePerPeriodOfItsClock(t *testing.T) {
	t.Parallel()
	clock, got := newFrozen(), &ticks{}
	s := schedule(t, mapping.ScheduleOptions{Now: clock.Now, Invoker: functions{"tick": function(func(_ context.Context, e events.CloudWatchEvent) error {
		got.add(e)
		return nil
	})}})
	clock.Advance(59 * time.Second)
	s.Wake()
	time.Sleep(30 * time.Millisecond)
	if got.len() != 0 {
		t.Fatal("ran before its time")
	}
	for n := 1; n <= 3; n++ {
		clock.Advance(time.Minute)
		s.Wake()
		eventually(t, "a run", func() bool { return got.len() == n })
	}
	e := got.events[0]
	if e.Source != "aws.scheduler" || e.DetailType != "Scheduled Event" || !e.Time.Equal(time.Date(2027, 1, 1, 8, 1, 30, 0, time.UTC)) || len(e.Resources) != 1 || !strings.HasSuffix(e.Resources[0], "/tick") {
		t.Errorf("%+v", e)
	}
}

func TestOneJumpOverManyPeriodsIsOneRun(t *testing.T) {
	t.Parallel()
	clock, got := newFrozen(), &ticks{}
	s := schedule(t, mapping.ScheduleOptions{Now: clock.Now, Invoker: functions{"tick": function(func(_ context.Context, e events.CloudWatchEvent) error {
		got.add(e)
		return nil
	})}})
	clock.Advance(48*time.Hour + 10*time.Second)
	s.Wake()
	eventually(t, "a run", func() bool { return got.len() == 1 })
	s.Wake()
	time.Sleep(50 * time.Millisecond)
	if got.len() != 1 {
		t.Errorf("%d runs for one jump", got.len())
	}
	if want := time.Date(2027, 1, 3, 8, 0, 30, 0, time.UTC); !got.events[0].Time.Equal(want) {
		t.Errorf("the run is for %v, want the latest due time %v", got.events[0].Time, want)
	}
	clock.Advance(50 * time.Second)
	s.Wake()
	eventually(t, "the next run keeps the period", func() bool { return got.len() == 2 })
}

func TestRunsOverlapAndAFailureDoesNotEndTheSchedule(t *testing.T) {
	t.Parallel()
	clock := newFrozen()
	running := make(chan struct{}, 9)
	release := make(chan struct{})
	s := schedule(t, mapping.ScheduleOptions{Now: clock.Now, Invoker: functions{"tick": function(func(context.Context) error {
		running <- struct{}{}
		<-release
		panic("no")
	})}})
	for range 2 {
		clock.Advance(time.Minute)
		s.Wake()
		<-running
	}
	close(release)
	clock.Advance(time.Minute)
	s.Wake()
	<-running
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestRunNowAnswersWhatTheFunctionAnswers(t *testing.T) {
	t.Parallel()
	fail := false
	s := schedule(t, mapping.ScheduleOptions{Invoker: functions{"tick": function(func(_ context.Context, e events.CloudWatchEvent) (map[string]int, error) {
		if fail {
			return nil, errors.New("the store is away")
		}
		return map[string]int{"released": 3}, nil
	})}})
	answer, err := s.RunNow(t.Context())
	var summary map[string]int
	if err != nil || json.Unmarshal(answer, &summary) != nil || summary["released"] != 3 {
		t.Errorf("%s %v", answer, err)
	}
	fail = true
	if _, err := s.RunNow(t.Context()); err == nil || !strings.Contains(err.Error(), "the store is away") {
		t.Errorf("got %v", err)
	}
}

func TestARateBelowOneMinuteIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := mapping.StartSchedule(mapping.ScheduleOptions{Function: "tick", Invoker: functions{}, Every: 59 * time.Second}); err == nil {
		t.Error("59 s was taken")
	}
}

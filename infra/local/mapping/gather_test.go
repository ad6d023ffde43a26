package mapping_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"holdfast/infra/local/mapping"
	"holdfast/infra/local/sqs"
)

// collector is a function that succeeds and remembers.
func collector(got *seen) functions {
	return functions{"f": function(func(_ context.Context, e events.SQSEvent) error {
		got.add(e)
		return nil
	})}
}

func TestAFullBatchDoesNotWaitForItsWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "5", nil)
	w.send(t, 250)
	var got seen
	run(t, mapping.Options{Queue: w.queue, Function: "f", Invoker: collector(&got), BatchSize: 100, Window: 3 * time.Second})
	eventually(t, "two full batches and the rest", func() bool { return len(got.sizes()) == 3 })
	if sizes := got.sizes(); !slices.Equal(sizes, []int{100, 100, 50}) {
		slices.Sort(sizes) // batches may finish in any order
		if !slices.Equal(sizes, []int{50, 100, 100}) {
			t.Errorf("batches of %v", sizes)
		}
	}
}

func TestAWindowGathersWhatComesMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "5", nil)
	var got seen
	began := time.Now()
	run(t, mapping.Options{Queue: w.queue, Function: "f", Invoker: collector(&got), BatchSize: 100, Window: time.Second})
	for range 5 {
		w.send(t, 1)
		time.Sleep(20 * time.Millisecond)
	}
	eventually(t, "a batch", func() bool { return len(got.sizes()) > 0 })
	if sizes := got.sizes(); sizes[0] != 5 {
		t.Errorf("the first batch has %d messages, want all 5", sizes[0])
	}
	if waited := time.Since(began); waited < time.Second {
		t.Errorf("invoked after %v, before the window had passed", waited)
	}
}

func TestWithoutAWindowTheFirstMessageIsDeliveredAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "5", nil)
	var got seen
	run(t, mapping.Options{Queue: w.queue, Function: "f", Invoker: collector(&got)})
	ids := w.send(t, 1)
	eventually(t, "delivery", func() bool { return got.of(ids[0]) == 1 })
}

func TestABatchStaysBelowSixMegabytes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "5", nil)
	body := strings.Repeat("<", 1<<20-10)
	for range 12 {
		if _, err := w.queue.Send(t.Context(), sqs.Outgoing{Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	var got seen
	var longest atomic.Int64
	run(t, mapping.Options{Queue: w.queue, Function: "f", BatchSize: 100, Window: time.Second,
		Invoker: functions{"f": raw(func(_ context.Context, payload []byte) ([]byte, error) {
			longest.Store(max(longest.Load(), int64(len(payload))))
			got.addJSON(t, payload)
			return []byte("null"), nil
		})},
	})
	eventually(t, "all are delivered", func() bool { return depth(w.queue) == [3]int{} })
	if n := longest.Load(); n > 6<<20 || n < 5<<20 {
		t.Errorf("the longest event has %d bytes", n)
	}
	total := 0
	for _, n := range got.sizes() {
		total += n
	}
	if total != 12 {
		t.Errorf("12 messages were delivered as %v", got.sizes())
	}
}

// TestABusyFunctionDoesNotUseUpTheReceiveCount holds the function while messages wait that may be received once only.
func TestABusyFunctionDoesNotUseUpTheReceiveCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "1", nil)
	w.send(t, 20)
	var running, most atomic.Int32
	release := make(chan struct{})
	run(t, mapping.Options{Queue: w.queue, Function: "f", BatchSize: 1, Concurrency: 3,
		Invoker: functions{"f": function(func(context.Context, events.SQSEvent) error {
			n := running.Add(1)
			defer running.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			<-release
			return nil
		})},
	})
	eventually(t, "three run", func() bool { return running.Load() == 3 })
	time.Sleep(50 * time.Millisecond)
	if d := depth(w.queue); d != [3]int{17, 3, 0} {
		t.Errorf("%v while three run, want 17 untouched", d)
	}
	close(release)
	eventually(t, "all are done", func() bool { return depth(w.queue) == [3]int{} })
	if most.Load() != 3 || depth(w.dead) != [3]int{} {
		t.Errorf("%d ran at once, dead letters %v", most.Load(), depth(w.dead))
	}
}

// TestOneMessageAtTwoConsumersIsDeletedOnce lets the visibility timeout pass while the function runs: a parallel duplicate, and both succeed.
func TestOneMessageAtTwoConsumersIsDeletedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "5", nil)
	id := w.send(t, 1)[0]
	var got seen
	release := make(chan struct{})
	run(t, mapping.Options{Queue: w.queue, Function: "f", ReportBatchItemFailures: true,
		Invoker: functions{"f": function(func(_ context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
			got.add(e)
			<-release
			return events.SQSEventResponse{}, nil
		})},
	})
	eventually(t, "the first delivery", func() bool { return got.of(id) == 1 })
	w.timeout()
	eventually(t, "the second, beside it", func() bool { return got.of(id) == 2 })
	close(release)
	eventually(t, "the message is gone", func() bool { return depth(w.queue) == [3]int{} })
	w.timeout()
	time.Sleep(50 * time.Millisecond)
	if n := got.of(id); n != 2 {
		t.Errorf("delivered %d times", n)
	}
}

func TestAfterPauseNothingIsDeliveredUntilResume(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "5", nil)
	var got seen
	m := run(t, mapping.Options{Queue: w.queue, Function: "f", Invoker: collector(&got)})
	for round := range 20 {
		m.Pause()
		if !m.Paused() {
			t.Fatal("not paused")
		}
		ids := w.send(t, 3)
		if round == 0 {
			time.Sleep(50 * time.Millisecond)
		}
		for _, id := range ids {
			if got.of(id) != 0 {
				t.Fatal("delivered while paused")
			}
		}
		if d := depth(w.queue); d != [3]int{3, 0, 0} {
			t.Fatalf("%v while paused", d)
		}
		m.Resume()
		eventually(t, "delivery after resume", func() bool { return got.of(ids[0])+got.of(ids[1])+got.of(ids[2]) == 3 })
		eventually(t, "the queue is empty", func() bool { return depth(w.queue) == [3]int{} })
	}
}

func TestPausedForHalfAnHourNothingIsLostOrCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "1", nil)
	var got seen
	m := run(t, mapping.Options{Queue: w.queue, Function: "f", Invoker: collector(&got), BatchSize: 1000, Window: time.Second})
	m.Pause()
	w.send(t, 10_000)
	w.clock.Advance(30 * time.Minute)
	w.server.Wake()
	m.Resume()
	eventually(t, "the queue is empty", func() bool { return depth(w.queue) == [3]int{} })
	if len(got.count) != 10_000 || depth(w.dead) != [3]int{} {
		t.Errorf("%d of 10000 delivered, dead letters %v", len(got.count), depth(w.dead))
	}
}

func TestStopWaitsForWhatRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "5", nil)
	w.send(t, 1)
	begun := make(chan struct{})
	var once sync.Once
	var finished atomic.Bool
	m := run(t, mapping.Options{Queue: w.queue, Function: "f", Invoker: functions{"f": function(func(context.Context, events.SQSEvent) error {
		once.Do(func() { close(begun) })
		time.Sleep(100 * time.Millisecond)
		finished.Store(true)
		return nil
	})}})
	<-begun
	if err := m.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !finished.Load() || depth(w.queue) != [3]int{} {
		t.Errorf("finished: %v, left: %v", finished.Load(), depth(w.queue))
	}
	w.send(t, 1)
	time.Sleep(30 * time.Millisecond)
	if d := depth(w.queue); d != [3]int{1, 0, 0} {
		t.Errorf("%v after stop: something was taken", d)
	}
}

func TestStopGivesUpOnAFunctionThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "5", nil)
	w.send(t, 1)
	begun := make(chan struct{})
	m := run(t, mapping.Options{Queue: w.queue, Function: "f", Invoker: functions{"f": function(func(ctx context.Context, _ events.SQSEvent) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	})}})
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := m.Stop(ctx); err == nil {
		t.Error("Stop did not say that it gave up")
	}
	eventually(t, "the message stays in flight", func() bool { return depth(w.queue) == [3]int{0, 1, 0} })
}

func TestOptionsThatLambdaRefusesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "5", nil)
	sound := mapping.Options{Queue: w.queue, Function: "f", Invoker: functions{}}
	for name, change := range map[string]func(o *mapping.Options){
		"no queue":              func(o *mapping.Options) { o.Queue = nil },
		"no function":           func(o *mapping.Options) { o.Function = "" },
		"no invoker":            func(o *mapping.Options) { o.Invoker = nil },
		"a batch of -1":         func(o *mapping.Options) { o.BatchSize = -1 },
		"a batch of 10001":      func(o *mapping.Options) { o.BatchSize, o.Window = 10_001, time.Second },
		"11 without a window":   func(o *mapping.Options) { o.BatchSize = 11 },
		"a window of 6 min":     func(o *mapping.Options) { o.Window = 6 * time.Minute },
		"a concurrency of 1":    func(o *mapping.Options) { o.Concurrency = 1 },
		"a concurrency of 2000": func(o *mapping.Options) { o.Concurrency = 2000 },
	} {
		o := sound
		change(&o)
		if m, err := mapping.Start(o); err == nil {
			_ = m.Stop(t.Context())
			t.Errorf("%s was taken", name)
		}
	}
}

package sim

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// actor is one invocation of a function. It stops at each boundary until the scheduler lets it go on.
type actor struct {
	run    *run
	name   string
	number int
	ctx    context.Context
	cancel context.CancelFunc
	on     *instance
	work   func(ctx context.Context) // what it does; it must not use its results when the actor is dead
	after  func()                    // runs when it has ended, dead or alive; nil: nothing

	resume chan struct{}
	mu     sync.Mutex // one boundary at a time, whatever goroutines the code starts
	dead   atomic.Bool
	ended  bool
	direct bool // never stops, and nothing befalls it: the schedules of the settling
	inTx   atomic.Int32
	held   int // is not chosen before this turn
}

type actorKey struct{}

func actorOf(ctx context.Context) *actor {
	a, _ := ctx.Value(actorKey{}).(*actor)
	return a
}

// spawn makes an actor that stands before its first step.
func (r *run) spawn(name string, on *instance, work func(ctx context.Context)) *actor {
	r.spawned++
	a := &actor{run: r, name: name, number: r.spawned, on: on, work: work, resume: make(chan struct{})}
	a.ctx, a.cancel = context.WithCancel(context.WithValue(r.ctx, actorKey{}, a))
	a.ctx = timeless{a.ctx}
	go func() {
		<-a.resume
		a.work(a.ctx)
		a.cancel()
		a.ended = true
		r.parked <- a
	}()
	return a
}

// step lets an actor go on to its next boundary or its end.
func (r *run) step(a *actor) {
	a.resume <- struct{}{}
	<-r.parked
}

// kill ends an actor where it stands.
func (r *run) kill(a *actor) {
	a.die()
	r.step(a)
}

func (a *actor) die() {
	a.dead.Store(true)
	a.cancel()
}

func (a *actor) String() string { return fmt.Sprintf("%s#%d", a.name, a.number) }

// call is what an actor wants to do at a boundary.
type call struct {
	side side
	what string       // for the trace
	do   func() error // makes the call
	// apart makes the same call again, or later, without anybody who hears its answer; nil: that cannot happen to it.
	apart func()
}

// cross makes the call, or does to it what the scheduler decides. Without an actor in ctx it is simply made.
func cross(ctx context.Context, c call) error {
	a := actorOf(ctx)
	if a == nil {
		return c.do()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dead.Load() {
		return errDead
	}
	if a.direct {
		a.run.tellOf(a, &c)
		return c.do()
	}
	if a.inTx.Load() == 0 {
		a.run.parked <- a
		<-a.resume
	}
	if a.dead.Load() {
		return errDead
	}
	f := a.run.decide(a, &c)
	a.run.note(a, &c, f)
	return a.suffer(&c, f)
}

func (a *actor) suffer(c *call, f fault) error {
	switch f {
	case diesBefore:
		a.die()
		return errDead
	case diesAfter:
		_ = c.do()
		a.die()
		return errDead
	case unsent:
		return refusal(c.side)
	case unanswered:
		_ = c.do()
		return silence(c.side)
	case late:
		a.run.late = append(a.run.late, delayed{c.what, c.apart})
		return silence(c.side)
	case twice:
		c.apart()
	}
	return c.do()
}

// endPause is how often, of so many pauses, the time of whoever pauses is over.
const endPause = 10

// pause is the Pause of a database whose time is simulated: it takes no time, and says now and then that time is over.
func pause(ctx context.Context, _ time.Duration) bool {
	a := actorOf(ctx)
	if a == nil {
		return ctx.Err() == nil
	}
	err := cross(ctx, call{side: pauseSide, what: "waits", do: func() error { return nil }})
	return err == nil && ctx.Err() == nil && a.run.rng.IntN(endPause) > 0
}

// timeless keeps the deadlines that code gives its calls from passing: a context that ends before they would gets none. They are of
// real time, of which a seed must not know.
type timeless struct{ context.Context }

// Deadline is sooner than any that code asks for, and never comes.
func (timeless) Deadline() (time.Time, bool) { return time.Now().Add(50 * time.Millisecond), true }

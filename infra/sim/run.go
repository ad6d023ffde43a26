package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"holdfast/shared/reconcile/invariant"
	"holdfast/shared/sale"
)

// delayed is a call that was sent and takes effect later.
type delayed struct {
	what string
	do   func()
}

// run is one seed on its way.
type run struct {
	*world
	ctx     context.Context
	seed    uint64
	rng     *rand.Rand
	names   *rand.Rand // of entries of the waitlist
	profile profile

	activity *sale.Activity
	facts    sale.Facts
	queue    *carrier
	outside  *outside
	process  [2]*instance

	actors  []*actor // that stand at a boundary, in the order in which they began
	last    *actor
	parked  chan *actor
	spawned int
	turns   int // of the scheduler
	steps   int // boundaries
	late    []delayed
	lost    int               // how often Redis has lost memory
	copy    map[string]string // of the set, of an earlier moment; nil: none
	aged    time.Duration     // virtual time since the cached orders were dropped

	decide  func(a *actor, c *call) fault
	journal journal
	states  invariant.States
	trace   trace
	passed  []string // what passes of schedules say they did, by name
	failed  error    // of the simulation itself
}

// chance draws what befalls a call, as the profile allows.
func (r *run) chance(_ *actor, c *call) fault {
	if c.side == queueSide && r.rng.Float64() < r.profile.unsent || c.side > pauseSide && r.rng.Float64() < r.profile.away {
		return unsent
	}
	if c.side == pauseSide || r.rng.Float64() >= r.profile.rate {
		return none
	}
	f := fault(1 + r.rng.IntN(int(faults)-1))
	if !r.profile.kinds[f] || c.apart == nil && (f == late || f == twice) {
		return none
	}
	return f
}

// play makes the steps of the seed.
func (r *run) play(steps int) error {
	for r.steps < steps && r.failed == nil {
		r.turns++
		r.happen()
		if a := r.choose(); a != nil {
			r.letGo(a)
		}
		if r.turns%32 == 0 {
			r.look()
		}
	}
	for _, a := range r.actors {
		r.kill(a)
		r.finish(a)
	}
	r.actors = nil
	for _, d := range r.late {
		if r.rng.IntN(2) == 0 {
			d.do()
		}
	}
	r.late = nil
	return r.failed
}

// choose takes the actor that goes on: often the last one, else any, and now and then a new one.
func (r *run) choose() *actor {
	if r.last != nil && r.rng.Float64() < r.profile.stay {
		return r.last
	}
	if len(r.actors) < r.profile.crowd {
		if a := r.begin(job(weighed(r.rng, r.profile.weights[:]))); a != nil {
			r.actors = append(r.actors, a)
			return a
		}
	}
	if len(r.actors) == 0 {
		return nil
	}
	a := r.actors[r.rng.IntN(len(r.actors))]
	if a.held > r.turns {
		return nil
	}
	if r.rng.IntN(60) == 0 {
		a.held = r.turns + 1 + r.rng.IntN(60) // it is stuck for a while
	}
	return a
}

// letGo lets an actor make a step and removes it when it has ended.
func (r *run) letGo(a *actor) {
	r.step(a)
	if r.last = a; a.ended {
		r.last = nil
		for i := range r.actors {
			if r.actors[i] == a {
				r.actors = append(r.actors[:i], r.actors[i+1:]...)
				break
			}
		}
		r.finish(a)
	}
}

// finish ends an invocation. Who dies takes what its process remembered along.
func (r *run) finish(a *actor) {
	if a.after != nil {
		a.after()
	}
	if a.dead.Load() {
		for i, p := range r.process {
			if p == a.on {
				r.process[i] = r.instance()
			}
		}
	}
}

// happen lets the world change between two steps.
func (r *run) happen() {
	if r.rng.Float64() < r.profile.pace {
		r.pass(time.Duration(3+r.rng.IntN(40)) * time.Second)
	}
	if n := r.rng.IntN(1000); n < 20 && len(r.late) > 0 {
		i := r.rng.IntN(len(r.late))
		d := r.late[i]
		r.late = append(r.late[:i], r.late[i+1:]...)
		r.tell("a call arrives late: " + d.what)
		d.do()
	} else if n < 45 {
		r.lose()
	} else if n < 60 && r.profile.drops && r.queue.drop(r.rng) {
		r.tell("a message is lost")
	} else if n >= 60 && n < 140 {
		r.buyersPay()
	}
}

// pass lets virtual time pass.
func (r *run) pass(d time.Duration) {
	r.clock.advance(d)
	if d >= 5*time.Second {
		r.check(r.cache.forgetHints(r.ctx))
	}
	if r.aged += d; r.aged > time.Minute {
		r.aged = 0
		r.check(r.cache.forgetOrders(r.ctx, r.activity.ID))
	}
	r.tell(fmt.Sprintf("%v pass", d))
}

// lose makes Redis lose memory, or keeps the copy that it will go back to.
func (r *run) lose() {
	p := &r.profile
	switch {
	case r.lost >= p.losses:
	case p.loss == failsOver && (r.copy == nil || r.rng.IntN(3) == 0):
		copied, err := r.cache.copyOf(r.ctx, r.activity.ID)
		r.check(err)
		r.copy = copied
		r.tell("the replica has everything")
	case p.loss == failsOver:
		r.lost = p.losses // a third server would be needed
		r.check(r.cache.failOver(r.ctx, r.activity.ID, r.copy))
		r.tell("the replica takes over")
	case p.loss == restarts:
		r.lost = p.losses
		r.check(r.cache.failOver(r.ctx, r.activity.ID, nil))
		r.tell("Redis restarts empty")
	case p.loss == wiped && r.rng.IntN(2) == 0:
		r.lost++
		name := setKeys[r.rng.IntN(len(setKeys))]
		r.check(r.cache.server().Unlink(r.ctx, keyOf(r.activity.ID, name)).Err())
		r.tell("the key " + name + " is gone")
	case p.loss == wiped:
		r.lost++
		r.check(r.cache.server().FlushAll(r.ctx).Err())
		r.tell("FLUSHALL")
	}
}

// look notes the states of all rows.
func (r *run) look() {
	r.check(r.states.Look(r.ctx, r.plain, r.activity.ID))
	r.noteOthers()
}

// check keeps the first error of the simulation itself, which ends the seed.
func (r *run) check(err error) {
	if err != nil && r.failed == nil {
		r.failed = fmt.Errorf("the simulation itself failed: %w", err)
	}
}

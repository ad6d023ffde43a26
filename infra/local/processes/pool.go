package processes

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"
)

// What becomes of an invocation whose function gives no answer.
var (
	// ErrTimeout: the instance was killed because it took longer than the function may.
	ErrTimeout = errors.New("the function timed out and was killed")
	// ErrDied: the instance ended while it handled the event. How far it came is not known.
	ErrDied = errors.New("the instance died")
	// ErrInit: the instance ended, or did not ask for an event in time, before it had one.
	ErrInit = errors.New("the instance did not start")
	// ErrClosed: the stack ends.
	ErrClosed = errors.New("the stack ends")
)

// pool is one function and its instances.
type pool struct {
	function    Function
	binary      string
	log         *os.File
	environment []string
	slots       chan struct{} // one per instance that is busy or being started

	mu        sync.Mutex
	instances map[*instance]bool // all that live; true: handles an event
	idle      []*instance        // the last one used is used next
	closed    bool
}

// invoke runs one event through an instance. The invocation goes on when the caller's ctx ends.
func (p *pool) invoke(ctx context.Context, event []byte) ([]byte, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	v := newInvocation(p.function, event)
	over := make(chan struct{}) // the instance is free again, so that who calls next finds it
	go func() {
		p.handle(v)
		<-p.slots
		close(over)
	}()
	select {
	case <-over:
		return v.answer, v.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// handle gives the event to an instance and, once that is done, puts the instance back.
func (p *pool) handle(v *invocation) {
	for {
		i, fresh, err := p.take()
		if err != nil {
			v.end(nil, err)
			return
		}
		if i.deliver(v) {
			p.await(i, v)
			return
		}
		p.drop(i)
		if fresh {
			v.end(nil, i.startProblem())
			return
		}
		// An instance that died while it had nothing to do costs nobody anything.
	}
}

// await waits for the answer, then for the instance to ask for more.
func (p *pool) await(i *instance, v *invocation) {
	timer := time.NewTimer(v.timeout)
	defer timer.Stop()
	select {
	case <-v.ended:
	case <-i.child.Done():
		v.end(nil, ErrDied)
	case <-timer.C:
		i.child.Kill()
		v.end(nil, ErrTimeout)
	}
	// A timeout may have killed it, and a panic has it end itself after its answer.
	select {
	case <-i.asks:
		p.put(i)
	case <-i.child.Done():
		p.drop(i)
	case <-time.After(initLimit):
		i.child.Kill()
		p.drop(i)
	}
}

// take returns an idle instance or starts one. The caller holds a slot, so there are never more instances than slots.
func (p *pool) take() (i *instance, fresh bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, ErrClosed
	}
	for n := len(p.idle); n > 0; n = len(p.idle) {
		i, p.idle = p.idle[n-1], p.idle[:n-1]
		if i.alive() {
			p.instances[i] = true
			return i, false, nil
		}
		delete(p.instances, i)
		i.close()
	}
	if i, err = startInstance(p.binary, p.environment, p.log); err != nil {
		return nil, true, errors.Join(ErrInit, err)
	}
	p.instances[i] = true
	return i, true, nil
}

func (p *pool) put(i *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.instances[i] = false
	p.idle = append(p.idle, i)
}

func (p *pool) drop(i *instance) {
	i.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.instances, i)
}

// killOne kills a busy instance or else any.
func (p *pool) killOne() (busy, found bool) {
	p.mu.Lock()
	var victim *instance
	for i, works := range p.instances {
		if i.alive() && (victim == nil || works) {
			victim, busy = i, works
		}
		if works && busy {
			break
		}
	}
	p.mu.Unlock()
	if victim == nil {
		return false, false
	}
	victim.child.Kill()
	return busy, true
}

func (p *pool) pids() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []int
	for i := range p.instances {
		if i.alive() {
			list = append(list, i.child.PID())
		}
	}
	return list
}

func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	var all []*instance
	for i := range p.instances {
		all = append(all, i)
	}
	p.mu.Unlock()
	for _, i := range all {
		i.child.Kill()
		i.close()
	}
}

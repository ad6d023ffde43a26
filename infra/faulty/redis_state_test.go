package faulty

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// A Redis that has just failed over, or was demoted, refuses writes for a while; no instance may need a restart to get over that.
func TestAReadOnlyRedisIsGotOverWithoutARestart(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.sell(terms{})
	o.promised("early", "wish", 1)
	o.haveRows(1, "UNPAID")
	o.nothingPending()
	// It keeps what it has, for the master that it is told of does not exist.
	if err := s.keys.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
	before := o.dump()
	for i := range 5 {
		s.busy(o.reserve(named("buyer")(i), "wish", 1), "STOCK_STORE_UNAVAILABLE")
	}
	if a := s.ask("GET", "/v1/health", "", "", nil); a.status != 503 {
		t.Errorf("health, while nothing can be written: %v", a)
	}
	o.unchanged(before)
	if err := s.keys.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	o.sellTo(10, named("buyer"))
	o.haveRows(11, "UNPAID")
	o.proves(11)
}

// A failover or a restart forgets the scripts, and callers must not notice, however often that happens.
func TestForgottenScriptsAreNoFailure(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const users, wishes = 50, 40
	o := s.sell(terms{capacity: users * wishes, limit: wishes})
	done, ended := make(chan struct{}), make(chan int)
	go func() {
		flushes := 0
		for {
			select {
			case <-done:
				ended <- flushes
				return
			case <-time.After(50 * time.Millisecond):
				if s.keys.ScriptFlush(t.Context()).Err() == nil {
					flushes++
				}
			}
		}
	}()
	var failures sync.Map
	inParallel(users*wishes, func(i int) {
		if a := o.insist(fmt.Sprintf("user-%d", i%users), fmt.Sprintf("wish-%d", i/users), 1); a.status != 202 {
			failures.Store(i, a)
		}
	})
	close(done)
	if flushes := <-ended; flushes < 10 {
		t.Errorf("the scripts were forgotten %d times only", flushes)
	}
	failures.Range(func(i, a any) bool {
		t.Errorf("wish %v heard %v", i, a)
		return true
	})
	o.haveRows(users*wishes, "UNPAID")
	o.nothingPending()
	o.proves(users * wishes)
}

// A Redis that is full sells nothing and takes nothing, while what makes room goes on.
func TestAFullRedisSellsNothingAndStillTakesBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	o := s.sell(terms{})
	sold := o.promised("early", "wish", 2)
	o.becomes("early", sold, "UNPAID")
	o.nothingPending()
	s.pauseConsumer(true)
	o.promised("waiting", "wish", 1)
	if err := s.keys.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	before := o.dump()
	for i := range 5 {
		s.busy(o.reserve(named("buyer")(i), "wish", 1), "STOCK_STORE_UNAVAILABLE")
	}
	o.unchanged(before)
	s.pauseConsumer(false)
	o.haveRows(2, "UNPAID")
	o.nothingPending() // acknowledged while full
	if a := o.cancel("early", sold); a.state() != "CANCELLED" {
		t.Errorf("cancelling while full: %v", a)
	}
	if n := o.left(); n != 999 {
		t.Errorf("%d units left, want 999: the release does not need room", n)
	}
	o.proves(1)
	if err := s.keys.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	o.promised("buyer-0", "wish", 1)
	o.haveRows(2, "UNPAID")
	o.proves(2)
}

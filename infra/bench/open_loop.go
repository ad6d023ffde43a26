package bench

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// openLoop is a load whose buyers do not wait for each other: each comes at an instant that was set before, as crowds do.
type openLoop struct {
	rate    float64 // buyers per second
	lasts   time.Duration
	callers int // connections; a buyer who finds none free waits, and that counts
}

// enough is how long a buyer of an open load waits for a 202 before that counts as none.
const enough = 10 * time.Second

// felt is what the buyers of an open load felt.
type felt struct {
	completed float64 // share of buyers with a 202
	p99       time.Duration
}

// buyers is how many come.
func (l openLoop) buyers() int { return max(1, int(l.rate*l.lasts.Seconds())) }

// run sends the buyers, one per token and in turn. Latencies count from the instant at which a buyer was to come, so that a pause is
// felt by everybody who comes during it.
func (l openLoop) run(ctx context.Context, base, activityID string, tokens []string) (felt, error) {
	n := l.buyers()
	latencies, done := make([]time.Duration, n), make([]bool, n)
	lines := make([]*caller, l.callers)
	for i := range lines {
		line, err := call(ctx, base)
		if err != nil {
			return felt{}, err
		}
		defer line.conn.Close()
		lines[i] = line
	}
	var mu sync.Mutex
	var failed error
	next, begin := make(chan int, n), time.Now()
	var all sync.WaitGroup
	for _, line := range lines {
		all.Go(func() {
			for i := range next {
				due := begin.Add(time.Duration(float64(i) / l.rate * float64(time.Second)))
				ok, err := line.insist(ctx, activityID, tokens[i%len(tokens)], "open-"+strconv.Itoa(i), due)
				latencies[i], done[i] = time.Since(due), ok
				if err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
					return
				}
			}
		})
	}
	for i := range n {
		if wait := time.Until(begin.Add(time.Duration(float64(i) / l.rate * float64(time.Second)))); wait > 0 {
			time.Sleep(wait)
		}
		next <- i
	}
	close(next)
	all.Wait()
	if failed != nil {
		return felt{}, failed
	}
	completed := 0
	for _, ok := range done {
		if ok {
			completed++
		}
	}
	return felt{completed: float64(completed) / float64(n), p99: percentile(latencies, 0.99)}, ctx.Err()
}

// insist asks for one unit, again and again while a 503 is the answer, until enough time has passed since the buyer came.
func (c *caller) insist(ctx context.Context, activityID, token, key string, came time.Time) (bool, error) {
	for ctx.Err() == nil {
		status, _, err := c.reserve(activityID, token, key)
		switch {
		case err != nil:
			return false, err
		case status == http.StatusAccepted:
			return true, nil
		case status != http.StatusServiceUnavailable || time.Since(came) > enough:
			return false, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return false, ctx.Err()
}

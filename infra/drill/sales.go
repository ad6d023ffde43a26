package drill

import (
	"context"
	"fmt"
	"io"
	"maps"
	"sync"

	"holdfast/infra/crowd"
)

// Load is what the crowds met.
type Load struct {
	Sales      []string       `json:"sales"`
	Requests   int            `json:"requests"`
	Promised   int            `json:"promised"`
	Cancelled  int            `json:"cancelled"`
	Paid       int            `json:"paid"`
	Waited     int            `json:"waited"`   // buyers who joined a waitlist
	Accepted   int            `json:"accepted"` // of these, who took an offer
	Unanswered int            `json:"unanswered"`
	Others     map[string]int `json:"others"` // other answers than 202, by code
	Broken     []string       `json:"broken,omitempty"`
}

// sell opens one sale after the other, each with a crowd of its own, until ctx ends. A crowd that still waits for answers goes on while
// the next one comes.
func (w *world) sell(ctx context.Context) (*Load, error) {
	load := &Load{Others: make(map[string]int)}
	var mu sync.Mutex
	var firstErr error
	var crowds sync.WaitGroup
	for round := 1; ctx.Err() == nil; round++ {
		o := w.crowdOf(round)
		w.mu.Lock()
		w.sales = append(w.sales, o.ActivityID)
		w.mu.Unlock()
		crowds.Go(func() {
			met, err := crowd.Endure(ctx, o)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				// A sale that could not be opened before the end has sold nothing.
				if ctx.Err() == nil && firstErr == nil {
					firstErr = err
				}
				return
			}
			load.add(met)
		})
		pause(ctx, w.o.Round)
	}
	crowds.Wait()
	return load, firstErr
}

// seatsEvery says which sales are of seats against a deposit: each so-manieth.
const seatsEvery = 3

// crowdOf is the size of a round's crowd: it wants a little more than there is.
func (w *world) crowdOf(round int) crowd.Options {
	wishes := int(float64(w.o.Rate) * w.o.Round.Seconds())
	return crowd.Options{Addresses: w.stack.Addresses, Dir: w.o.DataDir, ActivityID: fmt.Sprintf("drill-%d-%d", w.o.Seed, round),
		Users: max(1, wishes*7/8), Rate: w.o.Rate, Capacity: max(16, wishes*3/2), Buckets: 8, Limit: 3, Seed: w.o.Seed + uint64(round),
		PayWindow: payWindow, Deposits: round%seatsEvery == seatsEvery-1, Out: io.Discard}
}

func (l *Load) add(met *crowd.Endured) {
	l.Sales = append(l.Sales, met.ActivityID)
	l.Requests += met.Requests
	l.Promised += met.Promised
	l.Cancelled += met.Cancelled
	l.Paid += met.Paid
	l.Waited += met.Waited
	l.Accepted += met.Accepted
	l.Unanswered += met.Unanswered
	for code := range maps.Keys(met.Others) {
		l.Others[code] += met.Others[code]
	}
	l.Broken = append(l.Broken, met.Broken...)
}

package api

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/edge"
	"holdfast/shared/stock"
)

// Words of the health answer.
const (
	up   = "UP"
	down = "DOWN"
)

// healthBudget bounds each check; what takes longer is not healthy.
const healthBudget = time.Second

// healthView says whether the stores work.
type healthView struct {
	Status string            `json:"status"`
	Checks map[string]string `json:"checks"`
	// Warnings are what works now and will not for ever.
	Warnings []string `json:"warnings,omitempty"`
}

// NewHealth builds GET /v1/health: 200 when a script runs in Redis and a query in MySQL, else 503. A ping would say yes while every
// script fails. It takes DB, Stock and Log.
func NewHealth(d edge.Deps) lambda.Handler {
	checks := map[string]func(context.Context) error{
		"stock":  d.Stock.Probe,
		"orders": func(ctx context.Context) error { _, err := d.DB.Now(ctx, d.DB); return err },
	}
	return serve(d, "health", readBudget, func(ctx context.Context, r *Request) (*Response, error) {
		ctx, cancel := context.WithTimeout(ctx, healthBudget)
		defer cancel()
		view := healthView{Status: up, Checks: make(map[string]string, len(checks))}
		var mu sync.Mutex
		var all sync.WaitGroup
		for name, check := range checks {
			all.Go(func() {
				err := check(ctx)
				mu.Lock()
				defer mu.Unlock()
				view.Checks[name] = up
				if err != nil {
					view.Status, view.Checks[name] = down, down
					d.Log.WarnContext(ctx, "not healthy", "check", name, "requestId", r.ID, "error", edge.Loggable(err))
				}
			})
		}
		all.Go(func() {
			policy, err := d.Stock.EvictionPolicy(ctx)
			if err == nil && policy != stock.KeepsAll { // a failure to ask shows in the check of the stock
				mu.Lock()
				defer mu.Unlock()
				view.Warnings = []string{"the stock store drops keys when it is full: its policy is " + policy + " and must be " + stock.KeepsAll}
				d.Log.WarnContext(ctx, "redis drops keys when it is full", "policy", policy, "requestId", r.ID)
			}
		})
		all.Wait()
		if view.Status == up {
			return JSON(http.StatusOK, view)
		}
		response, err := JSON(http.StatusServiceUnavailable, view)
		if err != nil {
			return nil, err
		}
		response.Header["Retry-After"] = strconv.Itoa(int(jitter(healthRetry).Seconds()) + 1)
		return response, nil
	})
}

// healthRetry is when asking again makes sense.
const healthRetry = 2 * time.Second

package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"holdfast/infra/progress"
	"holdfast/shared/sale"
)

// fullMemory are how many reservations are weighed: an even load, and one just beyond 2^17, where hash tables double and the
// old and the new one exist side by side.
var fullMemory = []int{100_000, 1<<17 + 1000}

// Sizes of the measurement of memory.
const (
	memoryCallers = 8
	memoryAckPage = 200
	settleTries   = 20
)

// measureMemory weighs reservations in Redis.
func measureMemory(ctx context.Context, o Options, counts []int) ([]Figure, error) {
	var acknowledged, pending float64
	for _, n := range counts {
		a, p, err := weigh(ctx, o, n)
		if err != nil {
			return nil, err
		}
		acknowledged, pending = max(acknowledged, a), max(pending, p)
	}
	return []Figure{
		{Key: "bytes_per_reservation", Title: "used_memory of Redis per reservation once acknowledged", Value: acknowledged, Unit: "bytes",
			Target: Target{atMost, 300}},
		{Key: "bytes_per_pending", Title: "used_memory of Redis per reservation while pending", Value: pending, Unit: "bytes",
			Target: Target{atMost, 450}},
	}, nil
}

// weigh returns the bytes per reservation of n in a Redis of their own, after their acknowledgement and before.
func weigh(ctx context.Context, o Options, n int) (acknowledged, pending float64, err error) {
	c, err := openCache(ctx, o)
	if err != nil {
		return 0, 0, err
	}
	defer c.close()
	f, err := c.openSale(ctx, "bench-memory", 2*n, 1)
	if err != nil {
		return 0, 0, err
	}
	empty, err := c.settled(ctx)
	if err != nil {
		return 0, 0, err
	}
	list := make([]sale.Reservation, n)
	bar := progress.Bar(o.Out, n, fmt.Sprintf("memory, %d reservations", n))
	defer func() { _ = bar.Finish() }()
	err = inParallel(n, memoryCallers, func(_, i int) (err error) {
		list[i], err = c.reserve(ctx, f, i, 1)
		_ = bar.Add(1)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	full, err := c.settled(ctx)
	if err != nil {
		return 0, 0, err
	}
	for page := range slices.Chunk(list, memoryAckPage) {
		if _, err := c.store.Acknowledge(ctx, f.ActivityID, page); err != nil {
			return 0, 0, err
		}
	}
	done, err := c.settled(ctx)
	if err != nil {
		return 0, 0, err
	}
	return float64(done-empty) / float64(n), float64(full-empty) / float64(n), nil
}

// settled reads used_memory once it has stopped to change: the server gives back what clients needed by and by.
func (c *cache) settled(ctx context.Context) (int64, error) {
	last, err := c.usedMemory(ctx)
	for range settleTries {
		if err != nil {
			return 0, err
		}
		time.Sleep(100 * time.Millisecond)
		var now int64
		if now, err = c.usedMemory(ctx); err == nil && now == last {
			return now, nil
		}
		last = now
	}
	return last, err
}

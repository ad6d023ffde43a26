package bench

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/infra/progress"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

//go:embed plain.lua
var plainSource string

// turns is how a measurement is cut into turns.
type turns struct {
	count   int // turns of each contender
	calls   int // calls in a turn
	callers int // calls at once
}

// fullScripts are short: on a busy machine most turns then run undisturbed, and the median is one of those.
var fullScripts = turns{count: 120, calls: 240, callers: 4}

// contender is one way of calling a script. call runs it once, as the given caller, for a user with a number of its own.
type contender struct {
	call func(ctx context.Context, caller, user int) error
	us   []float64 // server time per call, of each turn
}

// The contenders' places.
const (
	plainExpiring = iota
	plainLasting
	reserveOne
	refuseStranger
	reserveScattered
)

// measureScripts compares the server time of reserve.lua with that of plain.lua.
func measureScripts(ctx context.Context, o Options, t turns) ([]Figure, error) {
	c, err := openCache(ctx, o)
	if err != nil {
		return nil, err
	}
	defer c.close()
	contenders, err := scriptContenders(ctx, c, t)
	if err != nil {
		return nil, err
	}
	bar := progress.Bar(o.Out, t.count, "scripts, turn by turn")
	defer func() { _ = bar.Finish() }()
	for turn := range t.count {
		for i := range contenders {
			if turn%2 == 1 { // so that nobody always follows the same one
				i = len(contenders) - 1 - i
			}
			if err := c.turn(ctx, &contenders[i], t, turn); err != nil {
				return nil, err
			}
		}
		_ = bar.Add(1)
	}
	return scriptFigures(contenders), nil
}

// turn lets one contender run and notes its server time per call.
func (c *cache) turn(ctx context.Context, who *contender, t turns, turn int) error {
	before, err := c.evalsha(ctx)
	if err != nil {
		return err
	}
	err = inParallel(t.calls, t.callers, func(caller, i int) error { return who.call(ctx, caller, turn*t.calls+i) })
	if err != nil {
		return err
	}
	after, err := c.evalsha(ctx)
	if err != nil {
		return err
	}
	if calls := after.calls - before.calls; calls != int64(t.calls) {
		return fmt.Errorf("%d calls made the server run %d scripts", t.calls, calls)
	}
	who.us = append(who.us, float64(after.us-before.us)/float64(t.calls))
	return nil
}

func scriptContenders(ctx context.Context, c *cache, t turns) ([]contender, error) {
	expiring, err := c.plainSale(ctx, "plain-expiring", 24*time.Hour, t)
	if err != nil {
		return nil, err
	}
	lasting, err := c.plainSale(ctx, "plain-lasting", 0, t)
	if err != nil {
		return nil, err
	}
	// Twice what is needed, so that no bucket runs dry.
	running, err := c.openSale(ctx, "bench-running", 2*t.count*t.calls, 1)
	if err != nil {
		return nil, err
	}
	one := func(ctx context.Context, _, user int) error {
		_, err := c.reserve(ctx, running, user, 1)
		return err
	}
	stranger, err := c.soldOutSale(ctx, t)
	if err != nil {
		return nil, err
	}
	scattered, err := c.scatteredSales(ctx, t)
	if err != nil {
		return nil, err
	}
	contenders := make([]contender, 5)
	contenders[plainExpiring].call = expiring
	contenders[plainLasting].call = lasting
	contenders[reserveOne].call = one
	contenders[refuseStranger].call = stranger
	contenders[reserveScattered].call = scattered
	return contenders, nil
}

// plainSale prepares the yardstick's sale and returns its call. Ids are numbers of 64 bits, as published scripts have them.
func (c *cache) plainSale(ctx context.Context, name string, ttl time.Duration, t turns) (func(context.Context, int, int) error, error) {
	script := redis.NewScript(plainSource)
	if err := script.Load(ctx, c.rdb).Err(); err != nil {
		return nil, err
	}
	keys := []string{name + ":stock", name + ":buyers", name + ":log"}
	if err := c.rdb.Set(ctx, keys[0], 2*t.count*t.calls, 0).Err(); err != nil {
		return nil, err
	}
	opens, closes := time.Now().Add(-time.Hour).UnixMilli(), time.Now().Add(24*time.Hour).UnixMilli()
	return func(ctx context.Context, _, user int) error {
		id := strconv.Itoa(1_800_000_000_000_000_000 + user)
		said, err := script.EvalSha(ctx, c.rdb, keys, voucher, userID(user), opens, closes, 1, id, id, 1, int(ttl.Seconds())).Text()
		if err != nil {
			return err
		}
		if !strings.HasPrefix(said, `{"code": 0,`) {
			return fmt.Errorf("plain.lua refused a sale: %s", said)
		}
		return nil
	}, nil
}

// soldOutSale sells all units of a sale and returns the call of a stranger who comes too late.
func (c *cache) soldOutSale(ctx context.Context, t turns) (func(context.Context, int, int) error, error) {
	units := t.count * t.calls
	f, err := c.openSale(ctx, "bench-sold-out", units, 1)
	if err != nil {
		return nil, err
	}
	err = inParallel(units, t.callers, func(_, i int) error {
		_, err := c.reserve(ctx, f, i, 1)
		return err
	})
	return func(ctx context.Context, _, user int) error {
		_, err := c.reserve(ctx, f, units+user, 1)
		if errors.Is(err, stock.ErrInsufficient) {
			return nil
		}
		return fmt.Errorf("a stranger was not refused as one who comes too late: %w", err)
	}, err
}

// scatteredSales prepares one sale per caller, each with one unit in each of eight buckets, and returns the call of a buyer who
// wants three. Before each call the counters are set back by hand, which no script does and so does not count; should the stock
// package ever keep them elsewhere, new fields would appear, and that is an error.
func (c *cache) scatteredSales(ctx context.Context, t turns) (func(context.Context, int, int) error, error) {
	const wanted = 3
	sales := make([]*sale.Facts, t.callers)
	var counters []any
	for bucket := range buckets {
		counters = append(counters, fmt.Sprintf("left:%s:%d", voucher, bucket), 1)
	}
	counters = append(counters, "left:"+voucher, buckets)
	for i := range sales {
		var err error
		if sales[i], err = c.openSale(ctx, fmt.Sprintf("bench-scattered-%d", i), buckets, wanted); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, caller, user int) error {
		f := sales[caller]
		appeared, err := c.rdb.HSet(ctx, "hf:{"+f.ActivityID+"}:rules", counters...).Result()
		if err != nil {
			return err
		}
		if appeared != 0 {
			return errors.New("the counters of a sale are not where they were")
		}
		r, err := c.reserve(ctx, f, user, wanted)
		if err == nil && len(r.Allocations) != wanted {
			return fmt.Errorf("%d units came from %d buckets", wanted, len(r.Allocations))
		}
		return err
	}, nil
}

func scriptFigures(c []contender) []Figure {
	plain := c[plainExpiring].us
	return []Figure{
		{Key: "reserve_ratio", Title: "server time of a reservation over that of plain.lua, whose log expires",
			Value: ratio(c[reserveOne].us, plain), Target: Target{atMost, 1.2}},
		{Key: "reserve_ratio_without_expiry", Title: "the same over plain.lua whose log does not expire", Value: ratio(c[reserveOne].us, c[plainLasting].us)},
		{Key: "sold_out_ratio", Title: "a stranger refused, over a sale by plain.lua", Value: ratio(c[refuseStranger].us, plain),
			Target: Target{atMost, 0.45}},
		{Key: "fragmented_ratio", Title: "three units of eight buckets with one each, over a sale by plain.lua",
			Value: ratio(c[reserveScattered].us, plain), Target: Target{atMost, 1.7}},
		{Key: "reserve_us", Title: "server time of a reservation", Value: median(c[reserveOne].us), Unit: "us"},
		{Key: "plain_us", Title: "server time of a sale by plain.lua", Value: median(plain), Unit: "us"},
	}
}

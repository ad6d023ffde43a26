package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/infra/local/server"
	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// voucher is the one ticket type of the sales in Redis, and currency what the sales are in.
const (
	voucher  = "VOUCHER"
	currency = "CNY"
)

// buckets is how many buckets every sale has that is measured.
const buckets = 8

// cache is a Redis of its own with our Store on it.
type cache struct {
	rdb    *redis.Client
	store  *stock.Store
	closes []func()
}

// openCache starts a redis-server that is empty.
func openCache(ctx context.Context, o Options) (*cache, error) {
	if err := server.EnsureInstalled(ctx, o.Out); err != nil {
		return nil, err
	}
	p, err := server.Redis(ctx, server.RedisOptions{Dir: filepath.Join(o.Dir, "redis")})
	if err != nil {
		return nil, err
	}
	// Patient, because a busy machine must not end a measurement.
	rdb := redis.NewClient(&redis.Options{Addr: p.Addr, MaxRetries: -1, DialTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 10 * time.Second, DisableIdentity: true})
	return &cache{rdb: rdb, store: stock.New(rdb, nil), closes: []func(){p.Kill, func() { _ = rdb.Close() }}}, nil
}

func (c *cache) close() {
	for i := len(c.closes) - 1; i >= 0; i-- {
		c.closes[i]()
	}
}

// openSale puts a running sale of one type into Redis: this many units over eight buckets.
func (c *cache) openSale(ctx context.Context, id string, capacity, limit int) (*sale.Facts, error) {
	f := &sale.Facts{ActivityID: id, Number: time.Now().UnixMilli(), Salt: make([]byte, 32), Kind: sale.Voucher, Mode: sale.Test,
		Currency: currency, Types: []sale.TypeFact{{ID: voucher, Price: money.Zero(currency), Capacities: sale.Spread(capacity, buckets)}}}
	rules := sale.Rules{Version: 1, Status: sale.Published, OpensAt: time.Now().Add(-time.Hour), ClosesAt: time.Now().Add(24 * time.Hour),
		Limit: limit}
	if err := c.store.Begin(ctx, *f, rules, 1); err != nil {
		return nil, err
	}
	return f, c.store.Open(ctx, id, 1)
}

// reserve takes units for a user who was not seen before and whose id has twelve characters, as all have here.
func (c *cache) reserve(ctx context.Context, f *sale.Facts, user, quantity int) (sale.Reservation, error) {
	userID := userID(user)
	r, err := c.store.Reserve(ctx, f, stock.ReserveRequest{OrderID: f.OrderID(userID, "key"), UserID: userID, TicketType: voucher,
		Quantity: quantity})
	if err != nil {
		return sale.Reservation{}, err
	}
	if r.Standing != stock.Taken {
		return sale.Reservation{}, fmt.Errorf("user %s is not new", userID)
	}
	return r.Reservation, nil
}

func userID(n int) string { return fmt.Sprintf("user-%07d", n) }

// spent is what a command has cost a server so far.
type spent struct{ calls, us int64 }

// evalsha reads what running scripts has cost the server.
func (c *cache) evalsha(ctx context.Context) (spent, error) {
	info, err := c.rdb.Info(ctx, "commandstats").Result()
	if err != nil {
		return spent{}, err
	}
	return commandStats(info, "evalsha")
}

// commandStats finds a command in the text of INFO commandstats; what was never called has cost nothing.
func commandStats(info, command string) (s spent, err error) {
	for line := range strings.Lines(info) {
		rest, found := strings.CutPrefix(strings.TrimSpace(line), "cmdstat_"+command+":")
		if !found {
			continue
		}
		for field := range strings.SplitSeq(rest, ",") {
			name, value, _ := strings.Cut(field, "=")
			switch name {
			case "calls":
				s.calls, err = strconv.ParseInt(value, 10, 64)
			case "usec":
				s.us, err = strconv.ParseInt(value, 10, 64)
			}
			if err != nil {
				return spent{}, fmt.Errorf("INFO commandstats says %q: %w", line, err)
			}
		}
	}
	return s, nil
}

// usedMemory reads used_memory, in bytes.
func (c *cache) usedMemory(ctx context.Context) (int64, error) {
	info, err := c.rdb.Info(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	return infoNumber(info, "used_memory")
}

// infoNumber finds a whole number in the text of INFO.
func infoNumber(info, name string) (int64, error) {
	for line := range strings.Lines(info) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), name+":"); found {
			return strconv.ParseInt(value, 10, 64)
		}
	}
	return 0, fmt.Errorf("INFO does not tell %s", name)
}

// inParallel calls f for 0..n-1, each caller every callers-th number, and returns the first error; a caller that met one stops.
func inParallel(n, callers int, f func(caller, i int) error) error {
	var wait sync.WaitGroup
	errs := make([]error, callers)
	for caller := range callers {
		wait.Go(func() {
			for i := caller; i < n && errs[caller] == nil; i += callers {
				errs[caller] = f(caller, i)
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

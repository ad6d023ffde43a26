package drill

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"holdfast/infra/local"
	"holdfast/infra/local/server"
)

// world is the stack of a drill and all that can be done to it.
type world struct {
	o     Options
	stack *local.Stack
	redis *wire
	db    *wire
	queue *wire

	mu    sync.Mutex
	cache *server.Process // the Redis that serves
	lives int             // how many there have been
	sales []string        // opened so far

	dropped time.Time // since when messages may be missing; zero: none is. Of the nemesis alone
}

// openWorld starts the drill's stack.
func openWorld(ctx context.Context, o Options) (*world, error) {
	w := &world{o: o}
	stack, err := local.Up(ctx, local.Options{DataDir: o.DataDir, Fresh: true, Processes: true, Between: w.between, Out: o.Out})
	if err != nil {
		return nil, err
	}
	w.stack, w.cache = stack, stack.RedisServer()
	return w, nil
}

// between puts the wires between the functions and their servers.
func (w *world) between(a local.Addresses) (local.Addresses, error) {
	var err error
	if w.redis, err = openWire("redis", a.Redis); err != nil {
		return a, err
	}
	a.Redis = w.redis.addr()
	login, err := mysql.ParseDSN(a.MySQL)
	if err != nil {
		return a, err
	}
	if w.db, err = openWire("database", login.Addr); err != nil {
		return a, err
	}
	login.Addr = w.db.addr()
	a.MySQL = login.FormatDSN()
	if w.queue, err = openWire("queue", strings.TrimPrefix(a.AWS, "http://")); err != nil {
		return a, err
	}
	a.AWS = "http://" + w.queue.addr()
	return a, nil
}

func (w *world) close() {
	w.stack.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.cache.Stop(context.Background()) // it keeps nothing
	for _, one := range []*wire{w.redis, w.db, w.queue} {
		one.cut()
	}
}

// heal undoes what may still be wrong after the last fault: wires and switched-on faults. Servers are healed by who broke them.
func (w *world) heal(ctx context.Context) error {
	w.stack.Faults().Clear()
	for _, one := range []*wire{w.redis, w.db, w.queue} {
		if err := one.mend(ctx); err != nil {
			return err
		}
	}
	return nil
}

// replaceRedis starts another Redis, in a folder of its own, and leads the functions to it; the one before is dead by then. port 0
// picks one. It is empty unless its folder was filled before.
func (w *world) replaceRedis(ctx context.Context, dir string, port int) error {
	cache, err := server.Redis(ctx, server.RedisOptions{Dir: dir, Port: port})
	if err != nil {
		return err
	}
	w.serveFrom(cache)
	return nil
}

func (w *world) serveFrom(cache *server.Process) {
	w.mu.Lock()
	w.cache = cache
	w.mu.Unlock()
	w.stack.MoveRedis(cache.Addr)
}

// serving is the Redis that serves.
func (w *world) serving() *server.Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cache
}

// openedSales lists the sales so far.
func (w *world) openedSales() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sales)
}

// nextDir is a folder for another Redis.
func (w *world) nextDir() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lives++
	return filepath.Join(w.o.DataDir, fmt.Sprintf("redis-%d", w.lives))
}

// askRedis runs a command on a Redis itself, past all wires.
func askRedis(ctx context.Context, cache *server.Process, do func(*redis.Client) error) error {
	client := redis.NewClient(&redis.Options{Addr: cache.Addr, MaxRetries: -1})
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := client.Ping(ctx).Err(); err != nil {
		return err
	}
	return do(client)
}

// pause waits d, or less when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

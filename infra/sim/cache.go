package sim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"holdfast/lua"
)

// cache is Redis as the functions see it: one address, behind which one server or, after a failover, another answers.
type cache struct {
	servers [2]*redis.Client
	current int
	front   *redis.Client // what functions get; it never connects itself
}

func newCache(addresses [2]string) *cache {
	c := &cache{front: redis.NewClient(&redis.Options{Addr: "redis", MaxRetries: -1})}
	for i, address := range addresses {
		c.servers[i] = redis.NewClient(&redis.Options{Network: "unix", Addr: address, MaxRetries: -1, PoolSize: 4, DisableIdentity: true})
	}
	c.front.AddHook(c)
	return c
}

func (c *cache) close() error {
	return errors.Join(c.front.Close(), c.servers[0].Close(), c.servers[1].Close())
}

// loadScripts makes both servers know every script, as servers do that have been used for a while.
func (c *cache) loadScripts(ctx context.Context) error {
	for _, server := range c.servers {
		for _, script := range lua.All() {
			if err := server.ScriptLoad(ctx, script.Source).Err(); err != nil {
				return fmt.Errorf("loading %s.lua: %w", script.Name, err)
			}
		}
	}
	return nil
}

func (c *cache) server() *redis.Client { return c.servers[c.current] }

// DialHook implements redis.Hook.
func (c *cache) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook: each command is a boundary.
func (c *cache) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		server := c.current
		outlive(cmd)
		err := cross(ctx, call{side: cacheSide, what: nameOf(cmd),
			do: func() error { return c.server().Process(context.Background(), cmd) },
			apart: func() {
				if server == c.current { // what was on its way to a server that is gone is lost
					_ = c.server().Process(context.Background(), redis.NewCmd(context.Background(), cmd.Args()...))
				}
			}})
		cmd.SetErr(err)
		return err
	}
}

// ProcessPipelineHook implements redis.Hook: a pipeline is one boundary.
func (c *cache) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		made := false
		for _, cmd := range cmds {
			outlive(cmd)
		}
		err := cross(ctx, call{side: cacheSide, what: fmt.Sprintf("%d x %s", len(cmds), nameOf(cmds[0])), do: func() error {
			made = true
			pipe := c.server().Pipeline()
			for _, cmd := range cmds {
				_ = pipe.Process(context.Background(), cmd)
			}
			_, err := pipe.Exec(context.Background())
			return err
		}})
		if !made || isSilence(err) || errors.Is(err, errDead) {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
		}
		return err
	}
}

var scriptNames = func() map[string]string {
	names := make(map[string]string)
	for _, s := range lua.All() {
		names[s.SHA] = s.Name + ".lua"
	}
	return names
}()

func nameOf(cmd redis.Cmder) string {
	args := cmd.Args()
	if len(args) > 1 && strings.EqualFold(cmd.Name(), "evalsha") {
		if sha, ok := args[1].(string); ok && scriptNames[sha] != "" {
			return scriptNames[sha]
		}
	}
	return strings.ToUpper(cmd.Name())
}

func isSilence(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "read"
}

func isRefusal(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// setKeys are the keys of a set that a copy holds; orders that are cached live for a minute only.
var setKeys = []string{"facts", "rules", "buyers", "log", "pending", "waiters:" + ticket}

func keyOf(activityID, name string) string { return "hf:{" + activityID + "}:" + name }

// copyOf keeps a set as it is now, by key; a key that is not there is not in the copy.
func (c *cache) copyOf(ctx context.Context, activityID string) (map[string]string, error) {
	pipe := c.server().Pipeline()
	dumps := make(map[string]*redis.StringCmd, len(setKeys))
	for _, name := range setKeys {
		dumps[name] = pipe.Dump(ctx, keyOf(activityID, name))
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	out := make(map[string]string, len(setKeys))
	for name, dump := range dumps {
		if text, err := dump.Result(); err == nil {
			out[name] = text
		}
	}
	return out, nil
}

// failOver makes the other server answer from now on, with a copy of an earlier moment; without one it is empty.
func (c *cache) failOver(ctx context.Context, activityID string, earlier map[string]string) error {
	c.current = 1 - c.current
	pipe := c.server().Pipeline()
	pipe.FlushAll(ctx)
	for _, name := range setKeys {
		if text, kept := earlier[name]; kept {
			pipe.Restore(ctx, keyOf(activityID, name), 0, text)
		}
	}
	_, err := pipe.Exec(ctx)
	return err
}

// hintPrefix is that of the keys of hints about balances.
const hintPrefix = "wallet:balance:"

// outlive gives a hint about a balance a life that no seed sees the end of: its seconds are of real time. forgetHints ends it.
func outlive(cmd redis.Cmder) {
	args := cmd.Args()
	if cmd.Name() != "set" || len(args) < 5 {
		return
	}
	if key, ok := args[1].(string); !ok || !strings.HasPrefix(key, hintPrefix) {
		return
	}
	for i, arg := range args[:len(args)-1] {
		if word, ok := arg.(string); ok && i > 2 && strings.EqualFold(word, "ex") {
			args[i+1] = 24 * 60 * 60
		}
	}
}

// forgetHints drops the hints about balances, whose seconds are over.
func (c *cache) forgetHints(ctx context.Context) error {
	keys, err := c.server().Keys(ctx, hintPrefix+"*").Result()
	if err != nil || len(keys) == 0 {
		return err
	}
	return c.server().Unlink(ctx, keys...).Err()
}

// forgetOrders drops the cached orders, whose minute is over.
func (c *cache) forgetOrders(ctx context.Context, activityID string) error {
	keys, err := c.server().Keys(ctx, keyOf(activityID, "order:*")).Result()
	if err != nil || len(keys) == 0 {
		return err
	}
	return c.server().Unlink(ctx, keys...).Err()
}

package testenv

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/infra/local/server"
)

var sharedRedis = shared("redis", func(ctx context.Context, dir string) (string, error) {
	if addr := os.Getenv(server.EnvTestRedis); addr != "" {
		return addr, nil
	}
	p, err := server.Redis(ctx, server.RedisOptions{Dir: dir})
	if err != nil {
		return "", err
	}
	return p.Addr, nil
})

var sharedCluster = shared("cluster", func(ctx context.Context, dir string) (*server.Cluster, error) {
	return server.RedisCluster(ctx, dir)
})

// RedisAddr returns "host:port" of the shared Redis.
func RedisAddr(t testing.TB) string {
	t.Helper()
	addr, err := sharedRedis()
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	return addr
}

// RedisURL returns the shared Redis as "redis://host:port/0".
func RedisURL(t testing.TB) string {
	t.Helper()
	return "redis://" + RedisAddr(t) + "/0"
}

// Redis returns a client of the shared Redis; it is closed at the end of the test.
func Redis(t testing.TB) *redis.Client {
	t.Helper()
	c := RedisClient(t, RedisAddr(t))
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatalf("testenv: redis at %s: %v", c.Options().Addr, err)
	}
	return c
}

// RedisClient returns a client of the Redis (or Proxy) at the address, closed at the end of the test. It is set as in
// production: no hidden second attempt, and the context ends a call. It does not connect before it is used.
func RedisClient(t testing.TB, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		Addr: addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
		DialTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Cluster returns a client of the shared Redis Cluster of three masters; it is closed at the end of the test.
func Cluster(t testing.TB) *redis.ClusterClient {
	t.Helper()
	cluster, err := sharedCluster()
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	c := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: cluster.Addrs(), MaxRetries: -1, MaxRedirects: 3, DialerRetries: 1, ContextTimeoutEnabled: true,
		DialTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// OwnRedis starts a Redis for this test alone, with more settings if given ("--maxmemory", "8mb"). It is killed at the
// end of the test.
func OwnRedis(t testing.TB, args ...string) *server.Process {
	t.Helper()
	p, err := server.Redis(startContext(t), server.RedisOptions{Dir: ownDir(t), Args: args})
	if err != nil {
		t.Fatalf("testenv: %v", err)
	}
	t.Cleanup(p.Kill)
	return p
}

package boot

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"holdfast/shared/edge/trace"
)

// Timeouts of Redis. A call is one round trip within a zone, well below a millisecond; whoever waits longer waits for nothing,
// and a user waits for them.
const (
	redisDialTimeout = 150 * time.Millisecond
	redisCallTimeout = 250 * time.Millisecond
)

// redisPool is enough for one request at a time and what runs beside it.
const redisPool = 4

// silent keeps the client from writing lines of its own to the log: what they say is returned as an error too, and logged as JSON.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(silent{}) }

// RedisOptions are the settings for a Redis at "host:port". There is no second attempt that a caller does not know of: the
// client would repeat scripts, whose first run may have taken effect. The end of a context ends a call.
func RedisOptions(address string) *redis.UniversalOptions {
	return &redis.UniversalOptions{
		Addrs:                 []string{address},
		MaxRetries:            -1,
		DialerRetries:         1,
		MaxRedirects:          3, // of a cluster: a redirected call ran nothing
		ContextTimeoutEnabled: true,
		DialTimeout:           redisDialTimeout,
		ReadTimeout:           redisCallTimeout,
		WriteTimeout:          redisCallTimeout,
		PoolSize:              redisPool,
		PoolTimeout:           redisCallTimeout,
		// Each of these would cost a new connection a round trip and tell the server what nobody reads.
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// openRedis makes the client; it connects at the first call.
func openRedis(c Config, secrets *secrets) redis.UniversalClient {
	options := RedisOptions(c.RedisAddr)
	options.IsClusterMode = c.RedisCluster
	if c.RedisTLS {
		host, _, err := net.SplitHostPort(c.RedisAddr)
		if err != nil {
			host = c.RedisAddr
		}
		options.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
		if c.RedisCluster {
			options.TLSConfig.ServerName = "" // each node has a name of its own, which the client dials it by
		}
	}
	if c.RedisSecret != "" {
		secret := secrets.open(c.RedisSecret)
		options.CredentialsProviderContext = func(ctx context.Context) (string, string, error) {
			token, err := secret.text(ctx)
			return "", token, err
		}
	}
	client := redis.NewUniversalClient(options)
	client.AddHook(traced{})
	return client
}

// traced tells X-Ray about calls.
type traced struct{}

func (traced) DialHook(next redis.DialHook) redis.DialHook { return next }

func (traced) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return trace.Call(ctx, "Redis", func(ctx context.Context) error { return next(ctx, cmd) })
	}
}

func (traced) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return trace.Call(ctx, "Redis", func(ctx context.Context) error { return next(ctx, cmds) })
	}
}

package local

import (
	"context"
	"log/slog"
	"os"

	"github.com/redis/go-redis/v9"

	"holdfast/shared/edge/boot"
	"holdfast/shared/stock"
)

// warnOfEviction says at the start that a Redis which was running already drops keys when it is full. It does not stop the stack: a trial
// may do with any Redis.
func warnOfEviction(ctx context.Context, addr string, log *slog.Logger) {
	client := redis.NewUniversalClient(boot.RedisOptions(addr))
	defer func() { _ = client.Close() }()
	policy, err := stock.New(client, nil).EvictionPolicy(ctx)
	switch {
	case err != nil:
		log.Warn("redis cannot be asked for its eviction policy", "error", err)
	case policy != stock.KeepsAll:
		log.Warn("redis drops keys when it is full, which loses parts of sales", "policy", policy, "wanted", stock.KeepsAll)
		_, _ = os.Stderr.WriteString("warning: this Redis has the eviction policy " + policy + "; sales need " + stock.KeepsAll + "\n")
	}
}

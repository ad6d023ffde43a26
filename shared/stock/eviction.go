package stock

import (
	"context"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// KeepsAll is the one eviction policy under which Redis never drops a key by itself.
const KeepsAll = "noeviction"

// EvictionPolicy reads what Redis does when it is full; in a cluster, of the first master that would drop keys, if one would. Any other
// answer than KeepsAll means that parts of a sale may vanish without a failure. CONFIG is closed in managed caches, so it asks INFO.
func (s *Store) EvictionPolicy(ctx context.Context) (string, error) {
	if err := spent(ctx); err != nil {
		return "", err
	}
	cluster, isCluster := s.rdb.(*redis.ClusterClient)
	if !isCluster {
		return policy(ctx, s.rdb)
	}
	worst, mu := KeepsAll, sync.Mutex{}
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		found, err := policy(ctx, node)
		mu.Lock()
		defer mu.Unlock()
		if err == nil && found != KeepsAll {
			worst = found
		}
		return err
	})
	return worst, err
}

func policy(ctx context.Context, node redis.Cmdable) (string, error) {
	text, err := node.Info(ctx, "memory").Result()
	if err != nil {
		return "", classify(err)
	}
	_, rest, found := strings.Cut(text, "maxmemory_policy:")
	if !found {
		return "", ErrBadReply
	}
	name, _, _ := strings.Cut(rest, "\r\n")
	return name, nil
}

package stock

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"holdfast/lua"
	"holdfast/shared/sale"
)

// orderTTLSeconds is how long an order stays in the cache.
const orderTTLSeconds = 60

// CachedOrder reads what CacheOrder kept; false if there is nothing, or something of another type.
func (s *Store) CachedOrder(ctx context.Context, activityID string, id sale.OrderID) ([]byte, bool, error) {
	if err := spent(ctx); err != nil {
		return nil, false, err
	}
	text, err := s.rdb.Get(ctx, keysOf(activityID).order(id)).Bytes()
	if errors.Is(err, redis.Nil) || redis.HasErrorPrefix(err, "WRONGTYPE") {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, classify(err)
	}
	if len(text) < 1 {
		return nil, false, fmt.Errorf("%w: an empty order in the cache", ErrBadReply)
	}
	return text[1:], true, nil
}

// Cached is an order for the cache. Rank is 1..9: how far on its way the order is. By it, and within a rank by the member "revision" of
// the JSON, a slow writer never hides what a fast one wrote.
type Cached struct {
	OrderID sale.OrderID
	Rank    int
	JSON    []byte
}

// CacheOrder keeps one order as CacheOrders does.
func (s *Store) CacheOrder(ctx context.Context, activityID string, id sale.OrderID, rank int, json []byte) error {
	return s.CacheOrders(ctx, activityID, []Cached{{id, rank, json}})
}

// CacheOrders keeps orders of an activity for a minute, each unless one of a higher rank or revision is there, in one round trip. It returns the
// first failure; the others may have been kept.
func (s *Store) CacheOrders(ctx context.Context, activityID string, list []Cached) error {
	if err := spent(ctx); err != nil {
		return err
	}
	k := keysOf(activityID)
	pipe := s.rdb.Pipeline()
	commands := make([]*redis.Cmd, len(list))
	for i, c := range list {
		if c.Rank < 1 || c.Rank > 9 {
			return fmt.Errorf("stock: rank %d is not 1..9", c.Rank)
		}
		commands[i] = command(ctx, "evalsha", lua.CacheOrder.SHA, []string{k.order(c.OrderID)}, []any{c.Rank, c.JSON, orderTTLSeconds}, nil)
		_ = pipe.Process(ctx, once{commands[i]})
	}
	if len(list) > 0 {
		_, _ = pipe.Exec(ctx) // each command keeps its own error
	}
	for i, c := range list {
		reply, err := commands[i].Val(), commands[i].Err()
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			reply, err = s.run(ctx, lua.CacheOrder, []string{k.order(c.OrderID)}, []any{c.Rank, c.JSON, orderTTLSeconds})
		} else {
			err = classify(err)
		}
		if _, err := tuple(lua.CacheOrder, reply, err); err != nil {
			return err
		}
	}
	return nil
}

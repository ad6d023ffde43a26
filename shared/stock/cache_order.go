package stock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/lua"
	"holdfast/shared/sale"
)

// orderTTL is how long an order stays in the cache.
const orderTTL = 60 * time.Second

// CachedOrder reads what CacheOrder kept; false if there is nothing.
func (s *Store) CachedOrder(ctx context.Context, activityID string, id sale.OrderID) ([]byte, bool, error) {
	if err := spent(ctx); err != nil {
		return nil, false, err
	}
	text, err := s.rdb.Get(ctx, keysOf(activityID).order(id)).Bytes()
	if errors.Is(err, redis.Nil) {
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

// CacheOrder keeps an order's JSON for a minute, unless one of a higher rank is there. rank is 1..9: how far on its way the order
// is, so that a slow writer never hides what a fast one wrote.
func (s *Store) CacheOrder(ctx context.Context, activityID string, id sale.OrderID, rank int, json []byte) error {
	if rank < 1 || rank > 9 {
		return fmt.Errorf("stock: rank %d is not 1..9", rank)
	}
	reply, err := s.run(ctx, lua.CacheOrder, []string{keysOf(activityID).order(id)},
		[]any{rank, json, int(orderTTL.Seconds())})
	_, err = tuple(lua.CacheOrder, reply, err)
	return err
}

package stock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"holdfast/shared/sale"
)

// Facts reads what never changes about an activity, and its final status if it is over, else "". It returns ErrNoFacts for an
// activity that was never loaded, and for a key of another type.
func (s *Store) Facts(ctx context.Context, activityID string) (f *sale.Facts, final sale.Status, err error) {
	if err := spent(ctx); err != nil {
		return nil, "", err
	}
	values, err := s.rdb.HMGet(ctx, keysOf(activityID).facts(), "sale", "final").Result()
	if err = classify(err); errors.Is(err, ErrNotLoaded) {
		return nil, "", errors.Join(ErrNoFacts, err)
	}
	if err != nil {
		return nil, "", err
	}
	text, known := values[0].(string)
	if !known {
		return nil, "", ErrNoFacts
	}
	f = new(sale.Facts)
	if err := json.Unmarshal([]byte(text), f); err != nil {
		return nil, "", fmt.Errorf("%w: facts: %w", ErrBadReply, err)
	}
	status, _ := values[1].(string)
	return f, sale.Status(status), nil
}

// SetFinal notes that the activity is over, CLOSED or CANCELLED, for those who come after the set is gone.
func (s *Store) SetFinal(ctx context.Context, activityID string, final sale.Status) error {
	if err := spent(ctx); err != nil {
		return err
	}
	return classify(s.rdb.HSet(ctx, keysOf(activityID).facts(), "final", string(final)).Err())
}

package stock

import (
	"context"

	"holdfast/shared/sale"
)

// Movements reads what the log has of one id, oldest first: its taking or dead marker, then a move, then its death; empty when the log has
// nothing. It does not look whether the set is whole: Entry does.
func (s *Store) Movements(ctx context.Context, activityID string, id sale.OrderID) ([]Movement, error) {
	if err := spent(ctx); err != nil {
		return nil, err
	}
	field := entryField(id)
	fields := []string{field, "m" + field, "x" + field}
	values, err := s.rdb.HMGet(ctx, keysOf(activityID).log(), fields...).Result()
	if err != nil {
		return nil, classify(err)
	}
	var out []Movement
	for i, value := range values {
		text, found := value.(string)
		if !found {
			continue
		}
		m, err := parseMovement(fields[i], text)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

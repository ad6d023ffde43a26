package stock

import (
	"context"
	"strconv"

	"holdfast/lua"
	"holdfast/shared/sale"
)

// Holding is what a user has of an activity.
type Holding struct {
	Quantity    int          // units of live reservations
	LastOrderID sale.OrderID // the last reservation, which may be dead; zero if there never was one
}

// Holding reads a user's mark. It returns ErrNotLoaded also while loading, when marks are still missing.
func (s *Store) Holding(ctx context.Context, activityID, userID string) (Holding, error) {
	k := keysOf(activityID)
	reply, err := s.run(ctx, lua.ReadHolding, []string{k.rules(), k.buyers()}, []any{userField(userID)})
	a, err := tuple(lua.ReadHolding, reply, err)
	if err != nil {
		return Holding{}, err
	}
	mark := a.text(1)
	if mark == "" {
		return Holding{}, nil
	}
	const tail = 17 // "t" and 16 bytes
	if len(mark) <= tail {
		return Holding{}, badReply(lua.ReadHolding, reply)
	}
	units, err1 := strconv.Atoi(mark[:len(mark)-tail])
	id, err2 := sale.OrderIDFromBytes([]byte(mark[len(mark)-tail+1:]))
	if err1 != nil || err2 != nil {
		return Holding{}, badReply(lua.ReadHolding, reply)
	}
	return Holding{Quantity: units, LastOrderID: id}, nil
}

package stock

import (
	"context"
	"time"

	"holdfast/lua"
	"holdfast/shared/sale"
)

// PendingCursor is where a pass over pending entries goes on; the zero value starts at the oldest.
type PendingCursor struct {
	stamp int64 // us; of the last entry that was listed
}

// PendingBefore lists up to limit entries that have been pending for longer than grace by the clock of Redis, oldest first, and
// the cursor for the next page. Entries that were stamped while that clock was ahead by more than the grace count as old and come last. An
// empty page ends the pass.
func (s *Store) PendingBefore(ctx context.Context, activityID string, grace time.Duration, after PendingCursor, limit int) ([]sale.OrderID, PendingCursor, error) {
	reply, err := s.run(ctx, lua.ListPending, []string{keysOf(activityID).pending()},
		[]any{after.stamp, grace.Milliseconds(), limit, s.offsetMs()})
	if err != nil {
		return nil, after, err
	}
	list, ok := reply.([]any)
	if !ok || len(list)%2 != 0 {
		return nil, after, badReply(lua.ListPending, reply)
	}
	ids, next := make([]sale.OrderID, 0, len(list)/2), after
	for i := 0; i < len(list); i += 2 {
		m, err := parseField(answer(list).text(i))
		if err != nil || m.Kind != KindTaken || parse64(answer(list).text(i+1), &next.stamp) != nil {
			return nil, after, badReply(lua.ListPending, reply)
		}
		ids = append(ids, m.OrderID)
	}
	return ids, next, nil
}

package stock

import (
	"context"

	"holdfast/lua"
	"holdfast/shared/sale"
)

// MarkSent notes that the queue has accepted a reservation, before its buyer is promised an order. It may be repeated, and changes nothing
// once MySQL has decided about the reservation. It returns ErrNoEntry when Redis has lost the reservation, ErrNotLoaded, and the failures
// of the store: then nobody may be promised anything.
func (s *Store) MarkSent(ctx context.Context, activityID string, id sale.OrderID) error {
	k := keysOf(activityID)
	reply, err := s.run(ctx, lua.MarkSent, []string{k.rules(), k.log(), k.pending()}, []any{entryField(id), s.offsetMs()})
	a, err := tuple(lua.MarkSent, reply, err)
	if err != nil {
		return err
	}
	switch a.word() {
	case "SENT", "DECIDED":
		return nil
	case "UNKNOWN":
		return ErrNoEntry
	}
	return badReply(lua.MarkSent, reply)
}

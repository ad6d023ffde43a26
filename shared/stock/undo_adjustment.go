package stock

import (
	"context"

	"holdfast/lua"
)

// UndoAdjustment takes back, once, an adjustment that MySQL refused; one that has not arrived yet will find itself undone.
func (s *Store) UndoAdjustment(ctx context.Context, activityID string, adjustmentID string) error {
	k := keysOf(activityID)
	reply, err := s.run(ctx, lua.UndoAdjustment, []string{k.rules(), k.log()},
		[]any{adjustmentField(adjustmentID), s.offsetMs()})
	a, err := tuple(lua.UndoAdjustment, reply, err)
	if err == nil && a.word() != "UNDONE" {
		err = badReply(lua.UndoAdjustment, reply)
	}
	return err
}

package stock

import (
	"context"

	"holdfast/lua"
)

// Open ends loading; from now on the set sells. It may be repeated. It returns ErrEpoch when another loader has begun since, and
// ErrOtherRun when this is not the run of the server that Begin was on: then a part of what was adopted may be missing.
func (s *Store) Open(ctx context.Context, activityID string, epoch int64) error {
	k := keysOf(activityID)
	reply, err := s.run(ctx, lua.OpenLoad, []string{k.rules(), k.buyers(), k.log()}, []any{epoch})
	return loaded(lua.OpenLoad, reply, err, "OPEN")
}

package stock

import (
	"context"
	"errors"

	"holdfast/lua"
)

// ErrOtherRun: the server has restarted, or another one has taken over, since the run id was read.
var ErrOtherRun = errors.New("stock: another run of the server than before")

// RunID names the run of the Redis server that has the activity's set now. It differs after every restart and every failover; the
// text means nothing else. It needs no set to be loaded.
func (s *Store) RunID(ctx context.Context, activityID string) (string, error) {
	now, _, err := s.runs(ctx, activityID)
	return now, err
}

// Proven says whether the set is open, and was proven whole under the very run of the server that has it now. Otherwise it may lack what
// the server forgot.
func (s *Store) Proven(ctx context.Context, activityID string) (bool, error) {
	now, proven, err := s.runs(ctx, activityID)
	return err == nil && now == proven, err
}

// runs gives the run of now, and the one under which the open set was last proven whole; "" of a set that is not open.
func (s *Store) runs(ctx context.Context, activityID string) (now, proven string, err error) {
	reply, err := s.run(ctx, lua.ReadRun, []string{keysOf(activityID).rules()}, []any{})
	a, err := tuple(lua.ReadRun, reply, err)
	if err != nil {
		return "", "", err
	}
	if now = a.text(1); now == "" {
		return "", "", badReply(lua.ReadRun, reply)
	}
	return now, a.text(2), nil
}

// MarkWhole notes that the set of this epoch was proven whole under this run. It returns ErrOtherRun when the server has another one by
// now, ErrEpoch when the set has another life, ErrNotLoaded when it is not open.
func (s *Store) MarkWhole(ctx context.Context, activityID string, epoch int64, run string) error {
	reply, err := s.run(ctx, lua.MarkWhole, []string{keysOf(activityID).rules()}, []any{epoch, run})
	return loaded(lua.MarkWhole, reply, err, "WHOLE")
}

package stock

import (
	"context"
	"errors"

	"holdfast/lua"
)

// Counter names a counter of the set: of a ticket type, or of one bucket of it.
type Counter struct {
	TicketType string
	Bucket     int // -1: of the whole type
}

func (c Counter) field() string {
	if c.Bucket < 0 {
		return counterField(c.TicketType)
	}
	return bucketField(c.TicketType, c.Bucket)
}

// Correction is what a counter was before and after; both 0 when an earlier call with the same number had done it.
type Correction struct{ Before, After int }

// CorrectCounter moves a counter by so many units, once per number, which must rise with every correction of the counter; the set must be
// of the epoch that the log was read in. It returns ErrEpoch otherwise.
func (s *Store) CorrectCounter(ctx context.Context, activityID string, c Counter, units int, number, epoch int64) (Correction, error) {
	reply, err := s.run(ctx, lua.CorrectCounter, []string{keysOf(activityID).rules()}, []any{c.field(), units, number, epoch})
	a, err := tuple(lua.CorrectCounter, reply, err)
	if err != nil {
		return Correction{}, err
	}
	var out Correction
	switch a.word() {
	case "CORRECTED":
		if err := errors.Join(atoi(a.text(1), &out.Before), atoi(a.text(2), &out.After)); err != nil {
			return Correction{}, badReply(lua.CorrectCounter, reply)
		}
		return out, nil
	case "ALREADY":
		return out, nil
	case "EPOCH":
		return out, ErrEpoch
	}
	return out, badReply(lua.CorrectCounter, reply)
}

package stock

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"holdfast/lua"
	"holdfast/shared/sale"
)

// Outcome is what a release did.
type Outcome int

// The outcomes there are.
const (
	Given   Outcome = iota + 1 // the units are back, by this call
	Already                    // the id was dead before this call, which changed nothing
	Marked                     // the log did not know the id; it has a dead marker now, and nothing came back
)

// Released is the outcome with the figures of the release itself, also when that was an earlier call: units of the type left
// before and after. Both are 0 where nothing ever came back, and -1 where MySQL has no room for them.
type Released struct {
	Outcome       Outcome
	Before, After int
}

// ErrBadReason: a reason is one word.
var ErrBadReason = errors.New("stock: a reason is one word")

// Release gives back what the id took: what, how much and from whom stands in the log. Call it only for an order whose CANCELLED
// row is committed; userID is that row's user and only marks the owner of an id that the log does not know. It works while
// loading. It returns ErrBadReason, or a failure of the store.
func (s *Store) Release(ctx context.Context, activityID string, id sale.OrderID, userID, reason string) (Released, error) {
	if reason == "" || strings.ContainsAny(reason, " \t\r\n") {
		return Released{}, fmt.Errorf("%w: %q", ErrBadReason, reason)
	}
	k := keysOf(activityID)
	reply, err := s.run(ctx, lua.Release,
		[]string{k.rules(), k.buyers(), k.log(), k.pending()},
		[]any{entryField(id), userField(userID), reason, s.offsetMs()})
	a, err := tuple(lua.Release, reply, err)
	if err != nil {
		return Released{}, err
	}
	var out Released
	switch a.word() {
	case "GIVEN":
		out.Outcome = Given
		err = errors.Join(atoi(a.text(1), &out.Before), atoi(a.text(2), &out.After))
	case "MARKED":
		out.Outcome = Marked
	case "ALREADY":
		out.Outcome = Already
		if dead := a.text(2); dead != "" {
			var m Movement
			m, err = parseMovement("x"+entryField(id), dead)
			out.Before, out.After = m.Before, m.Before+m.Quantity
		}
	default:
		err = badReply(lua.Release, reply)
	}
	if err != nil {
		return Released{}, err
	}
	if figure(max(out.Before, out.After)) < 0 {
		out.Before, out.After = -1, -1
	}
	return out, nil
}

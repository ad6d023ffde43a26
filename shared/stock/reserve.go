package stock

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"holdfast/lua"
	"holdfast/shared/sale"
)

// MaxQuantity is the most units that one call may name.
const MaxQuantity = 1_000_000

// ReserveRequest asks for units of one type for one user, under the id of the wish.
type ReserveRequest struct {
	OrderID    sale.OrderID
	UserID     string // 1..128 printable ASCII
	TicketType string
	Quantity   int  // 1..MaxQuantity
	PastGate   bool // for an entry of the waitlist: others who wait are no hindrance
}

// Reserved is what an order id took, now or before.
type Reserved struct {
	Standing    Standing
	Reservation sale.Reservation // of a dead marker: ids only
	Reason      string           // of Dead
}

// Reserve takes the units, all or nothing. While anybody waits for the type, who is not past the gate is told that none are left. A replay answers what the id took the first time, with its standing. It returns a
// *Refusal; ErrReplayDiffers if the id took another type or quantity, or is another user's; ErrUnknownType and ErrBadQuantity
// without asking Redis; or a failure of the store.
func (s *Store) Reserve(ctx context.Context, f *sale.Facts, r ReserveRequest) (Reserved, error) {
	t, known := f.Type(r.TicketType)
	if !known {
		return Reserved{}, ErrUnknownType
	}
	if r.Quantity < 1 || r.Quantity > MaxQuantity {
		return Reserved{}, ErrBadQuantity
	}
	k, buckets := keysOf(f.ActivityID), len(t.Capacities)
	reply, err := s.run(ctx, lua.Reserve,
		[]string{k.rules(), k.buyers(), k.log(), k.pending(), k.waiters(r.TicketType)},
		[]any{entryField(r.OrderID), userField(r.UserID), counterField(r.TicketType), r.Quantity,
			r.OrderID.StartBucket(buckets), buckets, s.offsetMs(), digit(r.PastGate)})
	if err != nil {
		return Reserved{}, err
	}
	switch reply := reply.(type) {
	case string:
		if reply != "" && reply[0] >= '0' && reply[0] <= '9' {
			return takenNow(f.ActivityID, r.OrderID, reply)
		}
		return Reserved{}, refusal(reply, r)
	case int64: // the units left
		return Reserved{}, &Refusal{Err: ErrInsufficient, Shortage: max(1, r.Quantity-max(0, int(reply)))}
	case []any:
		if answer(reply).word() == "REPLAY" {
			return replayed(f.ActivityID, r, reply[1:])
		}
	}
	return Reserved{}, badReply(lua.Reserve, reply)
}

// digit is a truth as scripts take it.
func digit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

func takenNow(activityID string, id sale.OrderID, entry string) (Reserved, error) {
	e, err := readEntry(activityID, id, answer{entry})
	return Reserved{Standing: Taken, Reservation: e.Reservation}, err
}

func replayed(activityID string, r ReserveRequest, known answer) (Reserved, error) {
	e, err := readEntry(activityID, r.OrderID, known)
	if err != nil {
		return Reserved{}, err
	}
	was := e.Reservation
	if was.UserID != r.UserID || e.HasTaken && (was.TicketType != r.TicketType || was.Quantity != r.Quantity) {
		return Reserved{}, ErrReplayDiffers
	}
	return Reserved{Standing: e.Standing, Reservation: was, Reason: e.Reason}, nil
}

// refusal turns the script's words into an error.
func refusal(words string, r ReserveRequest) error {
	word, rest, _ := strings.Cut(words, " ")
	if word == "ALREADY_RESERVED" { // the id is 16 raw bytes, which may look like blanks
		id, err := sale.OrderIDFromBytes([]byte(rest))
		if err != nil {
			return badReply(lua.Reserve, words)
		}
		return &Refusal{Err: ErrAlreadyReserved, OrderID: id}
	}
	var n [2]int64
	for i, text := range strings.Fields(rest) {
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil || i >= len(n) {
			return badReply(lua.Reserve, words)
		}
		n[i] = value
	}
	switch word {
	case "NOT_LOADED":
		return ErrNotLoaded
	case "NOT_STARTED":
		return &Refusal{Err: ErrNotStarted, OpensAt: time.UnixMilli(n[0]).UTC(), Now: instant(n[1])}
	case "ENDED":
		return &Refusal{Err: ErrEnded, ClosesAt: time.UnixMilli(n[0]).UTC(), Now: instant(n[1])}
	case "SUSPENDED":
		return &Refusal{Err: ErrSuspended}
	case "CLOSED":
		return &Refusal{Err: ErrClosed}
	case "LIMIT":
		return &Refusal{Err: ErrLimit, Limit: int(n[0]), Held: int(n[1])}
	case "OTHER_USER":
		return ErrReplayDiffers
	case "BAD_QUANTITY":
		return ErrBadQuantity
	}
	return fmt.Errorf("%w: reserve.lua: %q", ErrBadReply, word)
}

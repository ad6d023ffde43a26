package stock

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"holdfast/shared/sale"
)

// Mark is what a buyer's field says.
type Mark struct {
	UserID      string
	Quantity    int          // units of live reservations
	LastOrderID sale.OrderID // the last reservation, which may be dead
}

// MarkPage is one page of a scan of the marks.
type MarkPage struct {
	Marks []Mark
	Next  uint64 // cursor of the next page; 0 when the scan is complete
}

// markTail is how a mark ends: "t" and the 16 bytes of an order id.
const markTail = 17

// Marks scans the buyers' marks from a cursor, 0 to start, about count at a time, in no order. A mark that is there during the whole
// scan is seen at least once, perhaps twice. It does not look whether the set is loaded: compare snapshots from before and after. It
// returns ErrBadReply for a mark that cannot be read.
func (s *Store) Marks(ctx context.Context, activityID string, cursor uint64, count int64) (MarkPage, error) {
	if err := spent(ctx); err != nil {
		return MarkPage{}, err
	}
	fields, next, err := s.rdb.HScan(ctx, keysOf(activityID).buyers(), cursor, "", count).Result()
	if err != nil {
		return MarkPage{}, classify(err)
	}
	page := MarkPage{Next: next, Marks: make([]Mark, 0, len(fields)/2)}
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == "#" {
			continue
		}
		m, err := parseMark(fields[i], fields[i+1])
		if err != nil {
			return MarkPage{}, err
		}
		page.Marks = append(page.Marks, m)
	}
	return page, nil
}

// parseMark reads a field of the buyers; its form stands in keys.go. Its error names no user.
func parseMark(field, value string) (Mark, error) {
	user, isMark := strings.CutPrefix(field, "u")
	if !isMark || len(value) <= markTail {
		return Mark{}, fmt.Errorf("%w: a buyer's mark", ErrBadReply)
	}
	at := len(value) - markTail
	units, err1 := strconv.Atoi(value[:at])
	id, err2 := sale.OrderIDFromBytes([]byte(value[at+1:]))
	if err1 != nil || err2 != nil {
		return Mark{}, fmt.Errorf("%w: a buyer's mark", ErrBadReply)
	}
	return Mark{UserID: user, Quantity: units, LastOrderID: id}, nil
}

// adjustmentsAtOnce bounds one read of adjustments.
const adjustmentsAtOnce = 500

// AdjustmentsInForce says which of these adjustments the log has and has not taken back, as it stands now.
func (s *Store) AdjustmentsInForce(ctx context.Context, activityID string, ids []string) (map[string]bool, error) {
	in := make(map[string]bool, len(ids))
	for len(ids) > 0 {
		page := ids[:min(len(ids), adjustmentsAtOnce)]
		ids = ids[len(page):]
		fields := make([]string, 0, 2*len(page))
		for _, id := range page {
			fields = append(fields, adjustmentField(id), "i"+adjustmentField(id))
		}
		if err := spent(ctx); err != nil {
			return nil, err
		}
		values, err := s.rdb.HMGet(ctx, keysOf(activityID).log(), fields...).Result()
		if err != nil {
			return nil, classify(err)
		}
		for i, id := range page {
			in[id] = values[2*i] != nil && values[2*i+1] == nil
		}
	}
	return in, nil
}

package stock

import (
	"context"

	"holdfast/lua"
	"holdfast/shared/sale"
)

// Adjustment changes the capacity of a ticket type.
type Adjustment struct {
	ID         string
	TicketType string
	Delta      int // units; negative takes away
}

// Adjusted is an adjustment with the buckets that it fell on.
type Adjusted struct {
	Adjustment
	Split sale.Split
}

// AdjustStock changes capacity once per adjustment id, all or nothing, and answers the split; a repeated call answers the split
// of the first. It returns ErrInsufficient when fewer units are left than are to be taken away, ErrAdjustmentUndone,
// ErrUnknownType, ErrBadQuantity for a delta of 0 or beyond MaxQuantity, or a failure of the store.
func (s *Store) AdjustStock(ctx context.Context, f *sale.Facts, a Adjustment) (Adjusted, error) {
	t, known := f.Type(a.TicketType)
	if !known {
		return Adjusted{}, ErrUnknownType
	}
	if a.Delta == 0 || a.Delta > MaxQuantity || a.Delta < -MaxQuantity {
		return Adjusted{}, ErrBadQuantity
	}
	k := keysOf(f.ActivityID)
	reply, err := s.run(ctx, lua.AdjustStock, []string{k.rules(), k.log()},
		[]any{adjustmentField(a.ID), a.TicketType, a.Delta, len(t.Capacities), s.offsetMs()})
	got, err := tuple(lua.AdjustStock, reply, err)
	if err != nil {
		return Adjusted{}, err
	}
	switch got.word() {
	case "ADJUSTED":
		m, err := parseMovement(adjustmentField(a.ID), got.text(1))
		if err != nil {
			return Adjusted{}, err
		}
		return Adjusted{Adjustment{a.ID, m.Type, m.Split.Delta()}, m.Split}, nil
	case "INSUFFICIENT":
		return Adjusted{}, ErrInsufficient
	case "UNDONE":
		return Adjusted{}, ErrAdjustmentUndone
	}
	return Adjusted{}, badReply(lua.AdjustStock, reply)
}

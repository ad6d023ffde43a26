package stock

import (
	"context"

	"holdfast/lua"
	"holdfast/shared/sale"
)

// Page is one page of what MySQL knows of an activity.
type Page struct {
	Adjustments []Adjusted         // APPLIED ones
	Live        []sale.Reservation // of UNPAID and PAID orders
	Dead        []DeadMark         // CANCELLED orders, tombstones too
}

// DeadMark is a CANCELLED order.
type DeadMark struct {
	OrderID sale.OrderID
	UserID  string
	Reason  string // one word
}

// adoptedAtOnce bounds a script that adopts records.
const adoptedAtOnce = 200

// Adopt puts a page into the set that is being loaded. Records that the log knows already are left alone, so a page may come
// twice, and pages may overlap. It returns ErrEpoch when another loader has begun since.
func (s *Store) Adopt(ctx context.Context, activityID string, epoch int64, p Page) error {
	records := make([][]any, 0, len(p.Adjustments)+len(p.Live)+len(p.Dead))
	for _, a := range p.Adjustments {
		records = append(records, []any{adjustmentField(a.ID), "", a.TicketType, 0, a.Split.Compact()})
	}
	for _, r := range p.Live {
		record, err := reservationRecord(r)
		if err != nil {
			return err
		}
		records = append(records, record)
	}
	for _, d := range p.Dead {
		records = append(records, []any{entryField(d.OrderID), userField(d.UserID), d.Reason, 0, "-"})
	}
	for len(records) > 0 {
		n := min(len(records), adoptedAtOnce)
		var batch []any
		for _, record := range records[:n] {
			batch = append(batch, record...)
		}
		if err := s.adoptRecords(ctx, activityID, epoch, batch); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

func (s *Store) adoptRecords(ctx context.Context, activityID string, epoch int64, batch []any) error {
	k := keysOf(activityID)
	reply, err := s.run(ctx, lua.Adopt,
		[]string{k.rules(), k.buyers(), k.log()},
		[]any{epoch, s.offsetMs()}, batch...)
	return loaded(lua.Adopt, reply, err, "ADOPTED")
}

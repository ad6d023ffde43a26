package stock

import (
	"context"
	"fmt"

	"holdfast/lua"
	"holdfast/shared/sale"
)

// AckOutcome is what an acknowledgement did for one order.
type AckOutcome int

// The outcomes there are.
const (
	AckDone     AckOutcome = iota + 1 // the log had it like this; it is pending no more
	AckMoved                          // MySQL allocated otherwise, and the bucket counters follow now
	AckAdopted                        // the log did not know it, and does now
	AckDead                           // impossible: dead in Redis, live in MySQL. Nothing changed; a person must see it
	AckConflict                       // impossible: the log has another type, quantity, or an earlier move. Nothing changed
)

var ackWords = map[any]AckOutcome{"DONE": AckDone, "MOVED": AckMoved, "ADOPTED": AckAdopted, "DEAD": AckDead, "CONFLICT": AckConflict}

// ordersAtOnce bounds a script that acknowledges orders.
const ordersAtOnce = 100

// Acknowledge notes that MySQL has committed these live orders, and gives an outcome for each, in order. It works while loading
// and may be repeated. On a failure of the store, the first orders of a long list may have been acknowledged.
func (s *Store) Acknowledge(ctx context.Context, activityID string, orders []sale.Reservation) ([]AckOutcome, error) {
	all := make([]AckOutcome, 0, len(orders))
	for len(orders) > 0 {
		n := min(len(orders), ordersAtOnce)
		page, err := s.acknowledgeBatch(ctx, activityID, orders[:n])
		if err != nil {
			return nil, err
		}
		all, orders = append(all, page...), orders[n:]
	}
	return all, nil
}

func (s *Store) acknowledgeBatch(ctx context.Context, activityID string, orders []sale.Reservation) ([]AckOutcome, error) {
	batch := make([]any, 0, 5*len(orders))
	for _, o := range orders {
		record, err := reservationRecord(o)
		if err != nil {
			return nil, err
		}
		batch = append(batch, record...)
	}
	k := keysOf(activityID)
	reply, err := s.run(ctx, lua.Ack,
		[]string{k.rules(), k.buyers(), k.log(), k.pending()},
		[]any{s.offsetMs()}, batch...)
	a, err := tuple(lua.Ack, reply, err)
	if err != nil {
		return nil, err
	}
	if len(a) != len(orders) {
		return nil, badReply(lua.Ack, reply)
	}
	page := make([]AckOutcome, len(a))
	for i, word := range a {
		if page[i] = ackWords[word]; page[i] == 0 {
			return nil, badReply(lua.Ack, reply)
		}
	}
	return page, nil
}

// reservationRecord is a live reservation as ack.lua and adopt.lua take it. It returns ErrBadQuantity when the allocations do not
// add up to the quantity, for what a script takes from buckets and from the total must be the same.
func reservationRecord(r sale.Reservation) ([]any, error) {
	if r.Quantity < 1 || r.Quantity > MaxQuantity || r.Allocations.Units() != r.Quantity {
		return nil, fmt.Errorf("%w, and the sum of its allocations: order %s", ErrBadQuantity, r.OrderID)
	}
	return []any{entryField(r.OrderID), userField(r.UserID), r.TicketType, r.Quantity, r.Allocations.Compact()}, nil
}

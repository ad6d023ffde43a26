package stock

import (
	"context"

	"holdfast/lua"
	"holdfast/shared/sale"
)

// Standing is how an order id stands in the log.
type Standing int

// The standings there are. Reserve alone answers Taken.
const (
	Taken        Standing = iota + 1 // by this call
	Pending                          // before, and not known to be committed in MySQL
	Acknowledged                     // before, and MySQL has the order
	Dead                             // for ever
)

// Entry is what the log knows of an order id.
type Entry struct {
	Reservation sale.Reservation // with the allocations that hold; of a dead marker ids and user only
	Standing    Standing         // Pending, Acknowledged or Dead
	Reason      string           // of Dead
	HasTaken    bool             // false: a dead marker, for which nothing had been taken
	Sent        bool             // of a deposit seat: its buyer was promised an order. Reserve does not say it
}

// Found is an entry, or that there is none.
type Found struct {
	Entry
	Found bool
}

// entriesAtOnce bounds a script that reads entries.
const entriesAtOnce = 200

// Entry reads one id. It returns ErrNoEntry only when the log is complete, so while loading an unknown id is ErrNotLoaded.
func (s *Store) Entry(ctx context.Context, activityID string, id sale.OrderID) (Entry, error) {
	found, err := s.Entries(ctx, activityID, []sale.OrderID{id})
	if err != nil {
		return Entry{}, err
	}
	if !found[0].Found {
		return Entry{}, ErrNoEntry
	}
	return found[0].Entry, nil
}

// Entries reads many ids and answers in their order. While loading it returns ErrNotLoaded unless the log knows all of them.
func (s *Store) Entries(ctx context.Context, activityID string, ids []sale.OrderID) ([]Found, error) {
	all := make([]Found, 0, len(ids))
	for len(ids) > 0 {
		n := min(len(ids), entriesAtOnce)
		page, err := s.readEntries(ctx, activityID, ids[:n])
		if err != nil {
			return nil, err
		}
		all, ids = append(all, page...), ids[n:]
	}
	return all, nil
}

func (s *Store) readEntries(ctx context.Context, activityID string, ids []sale.OrderID) ([]Found, error) {
	fields := make([]any, len(ids))
	for i, id := range ids {
		fields[i] = entryField(id)
	}
	k := keysOf(activityID)
	reply, err := s.run(ctx, lua.ReadEntries, []string{k.rules(), k.log(), k.pending()}, []any{}, fields...)
	list, err := tuple(lua.ReadEntries, reply, err)
	if err != nil {
		return nil, err
	}
	if len(list) != len(ids)+1 {
		return nil, badReply(lua.ReadEntries, reply)
	}
	page := make([]Found, len(ids))
	for i, id := range ids {
		known, _ := list[i+1].([]any)
		if answer(known).text(0) == "" {
			if list.word() == "LOADING" {
				return nil, ErrNotLoaded
			}
			continue
		}
		if page[i].Entry, err = readEntry(activityID, id, known); err != nil {
			return nil, err
		}
		page[i].Found = true
	}
	return page, nil
}

// readEntry puts together what scripts answer of one id: {entry, dead or nil, move or nil, pending score or nil, sent or nil}.
func readEntry(activityID string, id sale.OrderID, known answer) (Entry, error) {
	taken, err := parseMovement(entryField(id), known.text(0))
	if err != nil {
		return Entry{}, err
	}
	e := Entry{HasTaken: taken.Kind == KindTaken, Standing: Acknowledged, Reservation: sale.Reservation{
		OrderID: id, ActivityID: activityID, UserID: taken.UserID, TicketType: taken.Type, Quantity: taken.Quantity,
		Allocations: taken.Allocations, Seq: taken.Seq, At: taken.At(), Before: figure(taken.Before)}}
	if text := known.text(2); text != "" {
		move, err := parseMovement("m"+entryField(id), text)
		if err != nil {
			return Entry{}, err
		}
		e.Reservation.Allocations = move.Allocations
	}
	if known.text(3) != "" {
		e.Standing = Pending
	}
	e.Sent = known.text(4) != ""
	if taken.Kind == KindMarked {
		e.Standing, e.Reason = Dead, taken.Reason
	}
	if text := known.text(1); text != "" {
		dead, err := parseMovement("x"+entryField(id), text)
		if err != nil {
			return Entry{}, err
		}
		e.Standing, e.Reason = Dead, dead.Reason
	}
	return e, nil
}

package stock

import (
	"context"
	"fmt"
	"strconv"

	"holdfast/lua"
	"holdfast/shared/sale"
)

// GateWaitlist lets an entry whose row is committed into the waiters of its type. free is true, and nothing is added, when nobody waits
// and as many units are there: then its user can buy. It may be repeated: an entry that is in waits. It returns ErrNotLoaded when the set
// is absent or incomplete.
func (s *Store) GateWaitlist(ctx context.Context, activityID, ticketType string, id sale.EntryID, quantity int) (free bool, err error) {
	k := keysOf(activityID)
	reply, err := s.run(ctx, lua.GateWaitlist, []string{k.rules(), k.buyers(), k.log(), k.waiters(ticketType)},
		[]any{string(id[:]), counterField(ticketType), quantity})
	a, err := tuple(lua.GateWaitlist, reply, err)
	if err != nil {
		return false, err
	}
	switch a.word() {
	case "FREE":
		return true, nil
	case "WAITS":
		return false, nil
	}
	return false, badReply(lua.GateWaitlist, reply)
}

// AddWaiters adds entries, whose rows say that they wait, to the waiters of a type, also while loading; it counts those that were
// missing. It returns ErrNotLoaded when there is no set to belong to.
func (s *Store) AddWaiters(ctx context.Context, activityID, ticketType string, ids []sale.EntryID) (added int, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	k := keysOf(activityID)
	reply, err := s.run(ctx, lua.AddWaiters, []string{k.rules(), k.waiters(ticketType)}, []any{}, waiterArgs(ids)...)
	return counted(lua.AddWaiters, reply, err, "ADDED")
}

// LeaveWaitlist takes entries, whose rows say that they do not wait any more, out of the waiters of a type; it counts those that were
// there. It works in a full Redis.
func (s *Store) LeaveWaitlist(ctx context.Context, activityID, ticketType string, ids []sale.EntryID) (gone int, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	k := keysOf(activityID)
	reply, err := s.run(ctx, lua.LeaveWaitlist, []string{k.waiters(ticketType)}, []any{}, waiterArgs(ids)...)
	return counted(lua.LeaveWaitlist, reply, err, "LEFT")
}

func waiterArgs(ids []sale.EntryID) []any {
	args := make([]any, len(ids))
	for i := range ids {
		args[i] = string(ids[i][:])
	}
	return args
}

func counted(script *lua.Script, reply any, err error, word string) (int, error) {
	a, err := tuple(script, reply, err)
	if err != nil {
		return 0, err
	}
	n, ok := int64(0), a.word() == word && len(a) == 2
	if ok {
		n, ok = a[1].(int64)
	}
	if !ok {
		return 0, badReply(script, reply)
	}
	return int(n), nil
}

// Waiting says how many entries wait for a type, and how many units of it are left.
type Waiting struct {
	Waiters int
	Left    int // 0 for a type that the rules do not know; may be below zero
}

// Waiting reads waiters and units of some types, in their order. It returns ErrNotLoaded also while loading, when the units are not final.
func (s *Store) Waiting(ctx context.Context, activityID string, types []string) ([]Waiting, error) {
	k := keysOf(activityID)
	counters := make([]any, len(types))
	for i, t := range types {
		counters[i] = counterField(t)
	}
	reply, err := s.run(ctx, lua.ReadWaiters, append([]string{k.rules()}, k.waitersOf(types)...), []any{}, counters...)
	a, err := tuple(lua.ReadWaiters, reply, err)
	if err != nil {
		return nil, err
	}
	if a.word() == "LOADING" {
		return nil, ErrNotLoaded
	}
	if a.word() != "OPEN" || len(a) != 1+len(types) {
		return nil, badReply(lua.ReadWaiters, reply)
	}
	out := make([]Waiting, len(types))
	for i := range types {
		pair, ok := a[1+i].([]any)
		if !ok || len(pair) < 1 {
			return nil, badReply(lua.ReadWaiters, reply)
		}
		waiters, ok := pair[0].(int64)
		if !ok {
			return nil, badReply(lua.ReadWaiters, reply)
		}
		out[i].Waiters = int(waiters)
		if text := answer(pair).text(1); text != "" {
			if out[i].Left, err = strconv.Atoi(text); err != nil {
				return nil, badReply(lua.ReadWaiters, reply)
			}
		}
	}
	return out, nil
}

// WaiterPage is one page of a scan of the waiters.
type WaiterPage struct {
	IDs  []sale.EntryID
	Next uint64 // cursor of the next page; 0 when the scan is complete
}

// ScanWaiters scans the waiters of a type from a cursor, 0 to start, about count at a time, in no order. One that is in during the whole
// scan is seen at least once, perhaps twice. It returns ErrBadReply for a member that is no id.
func (s *Store) ScanWaiters(ctx context.Context, activityID, ticketType string, cursor uint64, count int64) (WaiterPage, error) {
	if err := spent(ctx); err != nil {
		return WaiterPage{}, err
	}
	members, next, err := s.rdb.SScan(ctx, keysOf(activityID).waiters(ticketType), cursor, "", count).Result()
	if err != nil {
		return WaiterPage{}, classify(err)
	}
	page := WaiterPage{Next: next, IDs: make([]sale.EntryID, 0, len(members))}
	for _, m := range members {
		if len(m) != len(sale.EntryID{}) {
			return WaiterPage{}, fmt.Errorf("%w: a waiter of %d bytes", ErrBadReply, len(m))
		}
		page.IDs = append(page.IDs, sale.EntryID([]byte(m)))
	}
	return page, nil
}

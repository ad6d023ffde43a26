package stock

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"holdfast/lua"
	"holdfast/shared/sale"
)

// statusLetters are the states as the rules in Redis keep them.
var statusLetters = map[sale.Status]string{sale.Published: "P", sale.Suspended: "S", sale.Closed: "C", sale.Cancelled: "X"}

// Begin starts loading: the old set is removed whatever it holds, and a new one stands in state Loading with the original
// capacities. It returns ErrEpoch when Redis has this epoch already or a later one.
func (s *Store) Begin(ctx context.Context, f sale.Facts, r sale.Rules, epoch int64) error {
	facts, err := json.Marshal(f)
	if err != nil {
		return err
	}
	status, known := statusLetters[r.Status]
	if !known {
		return fmt.Errorf("stock: a sale that is %s is not loaded", r.Status)
	}
	k := keysOf(f.ActivityID)
	reply, err := s.run(ctx, lua.BeginLoad,
		append([]string{k.rules(), k.buyers(), k.log(), k.pending(), k.facts()}, k.waitersOf(f.TypeIDs())...),
		[]any{epoch, facts, status, r.OpensAt.UnixMilli(), r.ClosesAt.UnixMilli(), r.Limit, r.Version, s.offsetMs()},
		originalCounters(f)...)
	return loaded(lua.BeginLoad, reply, err, "BEGUN")
}

// originalCounters are the fields and values of all counters before anything was sold.
func originalCounters(f sale.Facts) []any {
	var fields []any
	for _, t := range f.Types {
		total := 0
		for _, units := range t.Capacities {
			total += units
		}
		fields = append(fields, counterField(t.ID), total)
		for bucket, units := range t.Capacities {
			fields = append(fields, bucketField(t.ID, bucket), units)
		}
	}
	return fields
}

// loaded reads the answer of a loader's script.
func loaded(script *lua.Script, reply any, err error, done string) error {
	a, err := tuple(script, reply, err)
	if err != nil {
		return err
	}
	switch a.word() {
	case done:
		return nil
	case "EPOCH":
		stands, err := strconv.ParseInt(a.text(1), 10, 64)
		if err != nil {
			return badReply(script, reply)
		}
		return fmt.Errorf("%w: %d stands", ErrEpoch, stands)
	case "OTHER_RUN":
		return ErrOtherRun
	}
	return badReply(script, reply)
}

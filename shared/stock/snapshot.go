package stock

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/lua"
	"holdfast/shared/sale"
)

// State is whether a set sells.
type State int

// The states there are.
const (
	Loading State = iota + 1
	Open
)

// Snapshot is a set at one moment.
type Snapshot struct {
	State        State
	Status       sale.Status
	Epoch        int64
	RulesVersion int64
	Seq          int64     // us; of the last movement that the counters contain
	Run          string    // of the server, under which the set was last proven whole; compare RunID
	Now          time.Time // the clock of Redis, with the offset
	Pending      int       // entries not known to be committed in MySQL
	Types        map[string]TypeSnapshot
}

// TypeSnapshot is what is left of a ticket type, which may be below zero.
type TypeSnapshot struct {
	Left    int   // units in all
	Buckets []int // units per bucket
}

// SnapshotResult is a snapshot, or why there is none.
type SnapshotResult struct {
	Snapshot Snapshot
	Err      error // as Snapshot returns it
}

// Snapshot reads rules and counters at one moment. It returns ErrNotLoaded when the set is absent, incomplete or broken; a set
// that is being loaded is no error.
func (s *Store) Snapshot(ctx context.Context, f *sale.Facts) (Snapshot, error) {
	one := s.Snapshots(ctx, []*sale.Facts{f})[0]
	return one.Snapshot, one.Err
}

// Snapshots reads many sets in one round trip per Redis node; the answers stand in the order of the question.
func (s *Store) Snapshots(ctx context.Context, facts []*sale.Facts) []SnapshotResult {
	results := make([]SnapshotResult, len(facts))
	if err := spent(ctx); err != nil {
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	pipe := s.rdb.Pipeline()
	commands := make([]*redis.Cmd, len(facts))
	for i, f := range facts {
		k := keysOf(f.ActivityID)
		keys := append([]string{k.rules(), k.buyers(), k.log(), k.pending()}, k.waitersOf(f.TypeIDs())...)
		commands[i] = command(ctx, "evalsha", lua.Snapshot.SHA, keys, nil, nil)
		_ = pipe.Process(ctx, once{commands[i]})
	}
	if len(facts) > 0 {
		_, _ = pipe.Exec(ctx) // each command keeps its own error
	}
	for i, f := range facts {
		reply, err := commands[i].Val(), classify(commands[i].Err())
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			k := keysOf(f.ActivityID)
			reply, err = s.run(ctx, lua.Snapshot,
				append([]string{k.rules(), k.buyers(), k.log(), k.pending()}, k.waitersOf(f.TypeIDs())...), []any{})
		}
		results[i].Snapshot, results[i].Err = s.readSnapshot(f, reply, err)
	}
	return results
}

func (s *Store) readSnapshot(f *sale.Facts, reply any, err error) (Snapshot, error) {
	a, err := tuple(lua.Snapshot, reply, err)
	if err != nil {
		return Snapshot{}, err
	}
	if len(a) != 6 {
		return Snapshot{}, badReply(lua.Snapshot, reply)
	}
	rules := pairs(a[0])
	epoch := rules["epoch"]
	if epoch == "" || a.text(1) != epoch || a.text(2) != epoch {
		return Snapshot{}, ErrNotLoaded
	}
	shot := Snapshot{State: Loading, Run: rules["run"], Types: make(map[string]TypeSnapshot, len(f.Types))}
	if rules["open"] == epoch {
		shot.State = Open
	}
	for status, letter := range statusLetters {
		if letter == rules["status"] {
			shot.Status = status
		}
	}
	pending, _ := a[3].(int64)
	shot.Pending = int(pending)
	now, err1 := clock(a.text(4), a.text(5))
	shot.Now = now.Add(s.offset())
	err = errors.Join(err1, parse64(epoch, &shot.Epoch), parse64(rules["version"], &shot.RulesVersion), parse64(rules["seq"], &shot.Seq))
	for _, t := range f.Types {
		left := TypeSnapshot{Buckets: make([]int, len(t.Capacities))}
		err = errors.Join(err, atoi(rules[counterField(t.ID)], &left.Left))
		for bucket := range left.Buckets {
			err = errors.Join(err, atoi(rules[bucketField(t.ID, bucket)], &left.Buckets[bucket]))
		}
		shot.Types[t.ID] = left
	}
	if err != nil { // a counter that is missing or no number: the set is not what Begin made
		return Snapshot{}, errors.Join(ErrNotLoaded, err)
	}
	return shot, nil
}

// pairs reads a flat list of names and values.
func pairs(reply any) map[string]string {
	list, _ := reply.([]any)
	out := make(map[string]string, len(list)/2)
	for i := 0; i+1 < len(list); i += 2 {
		name, _ := list[i].(string)
		out[name], _ = list[i+1].(string)
	}
	return out
}

func parse64(text string, into *int64) (err error) {
	*into, err = strconv.ParseInt(text, 10, 64)
	return err
}

// clock reads what TIME answers: seconds and microseconds.
func clock(seconds, micros string) (time.Time, error) {
	var s, us int64
	if err := errors.Join(parse64(seconds, &s), parse64(micros, &us)); err != nil {
		return time.Time{}, err
	}
	return time.UnixMicro(s*1_000_000 + us).UTC(), nil
}

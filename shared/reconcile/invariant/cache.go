package invariant

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// entry is one order id as the log of Redis has it.
type entry struct {
	userID      string
	ticketType  string
	allocations sale.Allocations // that hold now, or held when it died
	at          time.Time
	dead        bool
}

// cache is all that Redis knows of one activity, at one sequence number of its log.
type cache struct {
	now       time.Time
	seq       int64
	left      map[bucketKey]int // by the counters
	totals    map[string]int    // by the counters, per ticket type
	folded    map[bucketKey]int // by the log
	entries   map[sale.OrderID]*entry
	held      map[string]int // by the buyers' marks
	liveUnits map[string]int // by the log
}

// logPage is how many entries of the log one call reads.
const logPage = 1000

// readCache reads Redis's side: counters and seq in one step, then the log up to that seq.
func readCache(ctx context.Context, st *stock.Store, facts *sale.Facts) (*cache, error) {
	snapshot, err := st.Snapshot(ctx, facts)
	if err != nil {
		return nil, err
	}
	c := &cache{now: snapshot.Now, seq: snapshot.Seq, left: make(map[bucketKey]int), totals: make(map[string]int),
		folded: make(map[bucketKey]int), entries: make(map[sale.OrderID]*entry), held: make(map[string]int)}
	for name, t := range snapshot.Types {
		c.totals[name] = t.Left
		for bucket, left := range t.Buckets {
			c.left[bucketKey{name, bucket}] = left
		}
	}
	fold := stock.NewFold(facts)
	var movements []stock.Movement
	for cursor := uint64(0); ; {
		page, err := st.Log(ctx, facts.ActivityID, cursor, logPage)
		if err != nil {
			return nil, err
		}
		for _, m := range page.Movements {
			if m.Seq <= c.seq {
				fold.Add(m)
				movements = append(movements, m)
			}
		}
		if cursor = page.Next; cursor == 0 {
			break
		}
	}
	c.note(movements)
	for name, t := range fold.Types() {
		for bucket, left := range t.Buckets {
			c.folded[bucketKey{name, bucket}] = left
		}
	}
	c.liveUnits = fold.Held()
	return c, c.readMarks(ctx, st, facts.ActivityID)
}

// note turns movements into one entry per order id.
func (c *cache) note(movements []stock.Movement) {
	slices.SortFunc(movements, func(a, b stock.Movement) int { return int(a.Seq - b.Seq) })
	of := func(id sale.OrderID) *entry {
		if c.entries[id] == nil {
			c.entries[id] = &entry{}
		}
		return c.entries[id]
	}
	for _, m := range movements {
		switch m.Kind {
		case stock.KindTaken:
			e := of(m.OrderID)
			e.userID, e.ticketType, e.at = m.UserID, m.Type, m.At()
			if e.allocations == nil {
				e.allocations = m.Allocations
			}
		case stock.KindMoved:
			of(m.OrderID).allocations = m.Allocations
		case stock.KindDead, stock.KindMarked:
			of(m.OrderID).dead = true
		}
	}
}

// readMarks reads what the buyers' marks say of every user in the log.
func (c *cache) readMarks(ctx context.Context, st *stock.Store, activityID string) error {
	for _, user := range c.users() {
		holding, err := st.Holding(ctx, activityID, user)
		if err != nil {
			return fmt.Errorf("a buyer's mark: %w", err)
		}
		c.held[user] = holding.Quantity
	}
	return nil
}

// users lists everyone with an entry that was taken.
func (c *cache) users() []string {
	seen := make(map[string]bool)
	for _, e := range c.entries {
		if e.userID != "" {
			seen[e.userID] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func (c *cache) types() []string { return slices.Sorted(maps.Keys(c.totals)) }

func (c *cache) sortedIDs() []sale.OrderID {
	return slices.SortedFunc(maps.Keys(c.entries), func(a, b sale.OrderID) int { return slices.Compare(a[:], b[:]) })
}

// ErrNotChecked is returned when Redis has no loaded set for the activity: there is nothing to hold MySQL against.
var ErrNotChecked = errors.New("invariant: the activity is not loaded into redis, so it cannot be checked")

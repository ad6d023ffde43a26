package invariant

import (
	"bytes"
	"context"
	"errors"
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
	quantity    int
	allocations sale.Allocations // that hold now, or held when it died
	at          time.Time
	taken       bool // false: a dead marker alone, of an id that had not been taken
	dead        bool
	returned    int // units that its dead entry gave back
}

// logged is one adjustment as the log of Redis has it.
type logged struct {
	ticketType string
	split      sale.Split
	undone     bool
}

// mark is what a buyer's field says. Its order is the last one, so that a mark which comes back to an earlier value never moved.
type mark struct {
	units int
	last  sale.OrderID
}

// cache is all that Redis knows of one activity, at one sequence number of its log.
type cache struct {
	now         time.Time
	seq         int64
	left        map[bucketKey]int // by the counters
	totals      map[string]int    // by the counters, per ticket type
	folded      map[bucketKey]int // by the log
	entries     map[sale.OrderID]*entry
	sorted      []sale.OrderID // the ids of entries, once sort has run
	adjustments map[string]*logged
	held        map[string]mark    // by the buyers' marks
	liveUnits   map[string]int     // by the log
	waiters     map[entryID]string // by the sets that shut the public out: the ticket type
	restless    map[string]bool    // buyers whose mark changed while the log was read, so that it tells of another moment
}

// page is how many fields of a hash one call reads.
const page = 1000

// errMoved is the cause to read again: epoch, run or seq of Redis are not what they were.
var errMoved = errors.New("invariant: redis was loaded anew or failed over while it was read")

// readCache reads Redis's side: counters and seq in one step, then the log up to that seq; the buyers' marks before and after, since
// a mark that did not change meanwhile is the mark at that seq too. It returns errMoved when the set that it began with is not there
// any more.
func readCache(ctx context.Context, st *stock.Store, facts *sale.Facts) (*cache, error) {
	id := facts.ActivityID
	run, err := st.RunID(ctx, id)
	if err != nil {
		return nil, err
	}
	marks, err := readMarks(ctx, st, id)
	if err != nil {
		return nil, err
	}
	snapshot, err := st.Snapshot(ctx, facts)
	if err != nil {
		return nil, err
	}
	if snapshot.State != stock.Open {
		return nil, stock.ErrNotLoaded
	}
	c := newCache(snapshot)
	if err := c.readLog(ctx, st, facts); err != nil {
		return nil, err
	}
	if err := c.readWaiters(ctx, st, facts); err != nil {
		return nil, err
	}
	c.held, c.restless = marks, make(map[string]bool)
	again, err := readMarks(ctx, st, id)
	if err != nil {
		return nil, err
	}
	for user, mark := range again {
		c.restless[user] = mark != marks[user]
	}
	after, err := st.Snapshot(ctx, facts)
	if err != nil {
		return nil, err
	}
	runAfter, err := st.RunID(ctx, id)
	if err != nil {
		return nil, err
	}
	if after.Epoch != snapshot.Epoch || after.State != snapshot.State || after.Seq < snapshot.Seq || runAfter != run {
		return nil, errMoved
	}
	return c, nil
}

func newCache(snapshot stock.Snapshot) *cache {
	c := &cache{now: snapshot.Now, seq: snapshot.Seq, left: make(map[bucketKey]int), totals: make(map[string]int),
		folded: make(map[bucketKey]int), entries: make(map[sale.OrderID]*entry), adjustments: make(map[string]*logged)}
	for name, t := range snapshot.Types {
		c.totals[name] = t.Left
		for bucket, left := range t.Buckets {
			c.left[bucketKey{name, bucket}] = left
		}
	}
	return c
}

// readLog reads the log up to the seq of the counters.
func (c *cache) readLog(ctx context.Context, st *stock.Store, facts *sale.Facts) error {
	fold := stock.NewFold(facts)
	for cursor := uint64(0); ; {
		found, err := st.Log(ctx, facts.ActivityID, cursor, page)
		if err != nil {
			return err
		}
		for _, m := range found.Movements {
			if m.Seq <= c.seq {
				fold.Add(m)
				c.note(m)
			}
		}
		if cursor = found.Next; cursor == 0 {
			break
		}
	}
	for name, t := range fold.Types() {
		for bucket, left := range t.Buckets {
			c.folded[bucketKey{name, bucket}] = left
		}
	}
	for id, m := range fold.Live() {
		c.entries[id].allocations = m.Allocations
	}
	c.liveUnits = fold.Held()
	return nil
}

// note adds a movement to what is known of its order or adjustment. Movements come in no order, and one may come twice.
func (c *cache) note(m stock.Movement) {
	switch m.Kind {
	case stock.KindAdjusted, stock.KindUndone:
		a := c.adjustments[m.AdjustmentID]
		if a == nil {
			a = &logged{}
			c.adjustments[m.AdjustmentID] = a
		}
		if m.Kind == stock.KindUndone {
			a.undone = true
		} else {
			a.ticketType, a.split = m.Type, m.Split
		}
		return
	}
	e := c.entries[m.OrderID]
	if e == nil {
		e = &entry{}
		c.entries[m.OrderID] = e
	}
	switch m.Kind {
	case stock.KindTaken:
		e.userID, e.ticketType, e.quantity, e.at, e.taken = m.UserID, m.Type, m.Quantity, m.At(), true
		if e.allocations == nil {
			e.allocations = m.Allocations
		}
	case stock.KindMoved:
		e.allocations = m.Allocations
	case stock.KindDead:
		e.dead, e.returned = true, m.Quantity
	case stock.KindMarked:
		e.dead = true
	}
}

// readWaiters reads the sets of those who wait.
func (c *cache) readWaiters(ctx context.Context, st *stock.Store, facts *sale.Facts) error {
	c.waiters = make(map[entryID]string)
	for _, t := range facts.Types {
		for cursor := uint64(0); ; {
			found, err := st.ScanWaiters(ctx, facts.ActivityID, t.ID, cursor, page)
			if err != nil {
				return err
			}
			for _, id := range found.IDs {
				c.waiters[entryID(id)] = t.ID
			}
			if cursor = found.Next; cursor == 0 {
				break
			}
		}
	}
	return nil
}

// readMarks reads every buyer's mark.
func readMarks(ctx context.Context, st *stock.Store, activityID string) (map[string]mark, error) {
	marks := make(map[string]mark)
	for cursor := uint64(0); ; {
		found, err := st.Marks(ctx, activityID, cursor, page)
		if err != nil {
			return nil, err
		}
		for _, m := range found.Marks {
			marks[m.UserID] = mark{m.Quantity, m.LastOrderID}
		}
		if cursor = found.Next; cursor == 0 {
			return marks, nil
		}
	}
}

// users lists everyone with an entry that was taken, and everyone with a mark.
func (c *cache) users() []string {
	seen := make(map[string]bool, len(c.held))
	for _, e := range c.entries {
		if e.taken {
			seen[e.userID] = true
		}
	}
	for user := range c.held {
		seen[user] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

func (c *cache) types() []string { return slices.Sorted(maps.Keys(c.totals)) }

// sort puts the ids of the log into their order.
func (c *cache) sort() {
	c.sorted = slices.SortedFunc(maps.Keys(c.entries), func(a, b sale.OrderID) int { return bytes.Compare(a[:], b[:]) })
}

// ErrNotChecked is returned when Redis has no loaded set for the activity: there is nothing to hold MySQL against.
var ErrNotChecked = errors.New("invariant: the activity is not loaded into redis, so it cannot be checked")

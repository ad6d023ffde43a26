package invariant

import (
	"slices"

	"holdfast/shared/sale"
)

// ofStores is invariant C: Redis is the fold of its own log, and its log pairs with the rows. It also counts what is in flight.
func ofStores(r *Reading) (equations []Equation, inFlight int) {
	c := r.cache
	fold := newTally("C1", "units left by the counters of Redis = units left by its log")
	for _, key := range everyBucket(r) {
		fold.compare(c.left[key], c.folded[key], key.String())
	}
	totals := newTally("C2", "units left in all by Redis = sum over its buckets")
	sums := make(map[string]int)
	for key, left := range c.left {
		sums[key.ticketType] += left
	}
	for _, name := range c.types() {
		totals.compare(c.totals[name], sums[name], "ticket type "+name)
	}
	flying := make(map[bucketKey]int)
	pairs, inFlight := pairs(r, flying)
	adjusted, moving := adjustments(r, flying)
	inFlight += moving
	return []Equation{fold.Equation, totals.Equation, pairs, mirror(r, flying, inFlight), marks(c), adjusted, returns(c)}, inFlight
}

// pairs holds the log against the rows, id by id, and adds to flying the units by which Redis holds more than MySQL for orders on
// their way.
func pairs(r *Reading, flying map[bucketKey]int) (Equation, int) {
	t, inFlight := newTally("C3", "orders alike in the log of Redis and the rows of MySQL, or on their way"), 0
	judge := func(id sale.OrderID, e *entry, o *orderRow) {
		t.Right++
		how := pair(e, o)
		if how == contradicting {
			if now, read := r.again[id]; !read || now == contradicting {
				t.breaks(id.String())
				return
			}
			how = onItsWay
		}
		t.Left++
		if how == onItsWay {
			inFlight++
			if e != nil && e.taken && !e.dead {
				add(flying, e.ticketType, e.allocations, 1)
			}
			if o != nil && o.live() {
				add(flying, o.ticketType, o.allocations, -1)
			}
		}
	}
	for _, id := range r.cache.sorted {
		judge(id, r.cache.entries[id], r.rows.orders[id])
	}
	for _, o := range r.rows.sorted {
		if r.cache.entries[o.id] == nil && o.live() {
			judge(o.id, nil, o)
		}
	}
	return t.Equation, inFlight
}

func add(flying map[bucketKey]int, ticketType string, allocations sale.Allocations, sign int) {
	for _, a := range allocations {
		flying[bucketKey{ticketType, a.Bucket}] += sign * a.Count
	}
}

// mirror compares what is left in both stores. Nothing is on its way only when the sale takes no more orders and all are settled: then
// it is exact by itself, and says so.
func mirror(r *Reading, flying map[bucketKey]int, inFlight int) Equation {
	text := "units left in Redis, and in flight = units free in MySQL"
	if atRest(r.rows.status, inFlight) {
		text = "units left in Redis = units free in MySQL, exactly"
	}
	t := newTally("C4", text)
	used := make(map[bucketKey]int)
	for _, o := range r.rows.orders {
		if o.live() {
			add(used, o.ticketType, o.allocations, 1)
		}
	}
	for _, key := range everyBucket(r) {
		b := r.rows.buckets[key]
		t.compare(r.cache.left[key]+flying[key], b.capacity+b.adjusted-used[key], key.String())
	}
	return t.Equation
}

// atRest says whether exact equality of both stores can be claimed.
func atRest(status sale.Status, inFlight int) bool {
	return inFlight == 0 && (status == sale.Suspended || status == sale.Closed || status == sale.Cancelled)
}

// marks compares what buyers hold by their marks and by the log; buyers who were moving while it was read are left out on both sides.
func marks(c *cache) Equation {
	t := newTally("C5", "units held by the buyers' marks in Redis = live entries of its log")
	for _, user := range c.users() {
		if !c.restless[user] {
			t.compare(c.held[user].units, c.liveUnits[user], "buyer "+user)
		}
	}
	return t.Equation
}

// adjustments holds those of the log against those of MySQL.
func adjustments(r *Reading, flying map[bucketKey]int) (Equation, int) {
	t, inFlight := newTally("C6", "units adjusted in Redis, or on their way = units adjusted in MySQL"), 0
	for _, id := range r.adjustmentIDs() {
		a, l := r.rows.adjustments[id], r.cache.adjustments[id]
		applied, there := a.status == "APPLIED", l != nil && !l.undone
		switch {
		case applied && there && a.split.Compact() == l.split.Compact() && a.ticketType == l.ticketType:
			t.compare(a.split.Delta(), a.split.Delta(), "")
		case there && a.status == "PENDING":
			inFlight++
			shift(flying, l.ticketType, l.split, -1)
		case applied && r.late[id]:
			inFlight++
			shift(flying, a.ticketType, a.split, 1)
		case there || applied:
			t.Right++
			t.breaks("adjustment " + id)
		}
	}
	return t.Equation, inFlight
}

func shift(units map[bucketKey]int, ticketType string, split sale.Split, sign int) {
	for _, s := range split {
		units[bucketKey{ticketType, s.Bucket}] += sign * s.Delta
	}
}

// returns is that whatever died gave back what it took, once: a movement is a field of the log, which is never written twice.
func returns(c *cache) Equation {
	t := newTally("C7", "units given back by the log of Redis = units of the entries that died")
	for _, id := range c.sorted {
		if e := c.entries[id]; e.dead {
			t.compare(e.returned, e.quantity, id.String())
		}
	}
	return t.Equation
}

// adjustmentIDs lists the adjustments that either store knows, sorted.
func (r *Reading) adjustmentIDs() []string {
	var ids []string
	for id := range r.rows.adjustments {
		ids = append(ids, id)
	}
	for id := range r.cache.adjustments {
		if _, listed := r.rows.adjustments[id]; !listed {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// everyBucket lists the buckets that either store knows, sorted.
func everyBucket(r *Reading) []bucketKey {
	all := make(map[bucketKey]bucketRow, len(r.rows.buckets))
	for key, b := range r.rows.buckets {
		all[key] = b
	}
	for _, known := range []map[bucketKey]int{r.cache.left, r.cache.folded} {
		for key := range known {
			if _, listed := all[key]; !listed {
				all[key] = bucketRow{}
			}
		}
	}
	return sortedBuckets(all)
}

package invariant

import (
	"fmt"
	"slices"
	"time"

	"holdfast/shared/sale"
)

// Grace is how long after a deadline something may still be unfinished before S is broken: a repair pass starts each minute.
const Grace = 2 * time.Minute

// ofStock is invariant O: no bucket and no user holds more than allowed.
func ofStock(r *rows) []Equation {
	buckets := newTally("O1", "units sold and frozen, at most capacity and adjustments, in every bucket")
	buckets.AtMost = true
	for _, key := range sortedBuckets(r.buckets) {
		b := r.buckets[key]
		buckets.Left += b.sold + b.frozen
		buckets.Right += b.capacity + b.adjusted
		if b.sold+b.frozen > b.capacity+b.adjusted {
			buckets.breaks(key.String())
		}
	}
	limits := newTally("O2", "users holding more than the limit, by their live orders")
	held := make(map[string]int)
	for _, o := range r.sortedOrders() {
		if o.live() {
			held[o.userID] += o.quantity
			if held[o.userID] > r.limit {
				limits.Left++
				limits.breaks(o.id.String())
			}
		}
	}
	return []Equation{buckets.Equation, limits.Equation}
}

// ofPromises is invariant L: every promise has its row, with the same user, type and quantity.
func ofPromises(r *rows, promises []Promise) []Equation {
	kept := newTally("L1", "promises (202) whose order exists as it was promised")
	for _, p := range promises {
		kept.Right++
		o := r.orders[p.OrderID]
		if o != nil && o.userID == p.UserID && o.ticketType == p.Type && o.quantity == p.Quantity {
			kept.Left++
		} else {
			kept.breaks(p.OrderID.String())
		}
	}
	return []Equation{kept.Equation}
}

// ofEffects is invariant D: the sums that each effect moved agree with the orders, so none happened twice or not at all.
func ofEffects(r *rows) []Equation {
	taken := newTally("D1", "units taken by the stock log = units of orders that ever held stock")
	back := newTally("D2", "units given back by the stock log = units of cancelled ones of them")
	router := newTally("D3", "entries of the order router = orders")
	frozen := make(map[bucketKey]int)
	sold := make(map[bucketKey]int)
	held := make(map[string]int)
	for _, o := range r.sortedOrders() {
		units := o.allocations.Units() // none: a tombstone, which never held stock
		taken.compare(-r.taken[o.id].change, units, o.id.String())
		returned := 0
		if !o.live() {
			returned = units
		}
		back.compare(r.givenBack[o.id].change, returned, o.id.String())
		known := 0
		if r.routers[o.id] == o.userID {
			known = 1
		}
		router.compare(known, 1, o.id.String())
		if !o.live() {
			continue
		}
		held[o.userID] += o.quantity
		into := frozen
		if o.status == "PAID" {
			into = sold
		}
		for _, a := range o.allocations {
			into[bucketKey{o.ticketType, a.Bucket}] += a.Count
		}
		if units != o.quantity {
			taken.breaks(o.id.String())
		}
	}
	orphans(taken, r.taken, r)
	orphans(back, r.givenBack, r)
	return append([]Equation{taken.Equation, back.Equation, router.Equation}, ofSums(r, frozen, sold, held)...)
}

// orphans finds movements of the stock log that no order explains.
func orphans(t *tally, movements map[sale.OrderID]movement, r *rows) {
	for id, m := range movements {
		if r.orders[id] == nil {
			t.Left += max(m.change, -m.change)
			t.breaks(id.String())
		}
	}
}

// ofSums compares the running sums of MySQL with what the orders add up to.
func ofSums(r *rows, frozen, sold map[bucketKey]int, held map[string]int) []Equation {
	frozenSum := newTally("D4", "frozen units of the buckets = units of unpaid orders")
	soldSum := newTally("D5", "sold units of the buckets = units of paid orders")
	for _, key := range sortedBuckets(r.buckets) {
		frozenSum.compare(r.buckets[key].frozen, frozen[key], key.String())
		soldSum.compare(r.buckets[key].sold, sold[key], key.String())
	}
	limits := newTally("D6", "units held by the purchase limits = units of live orders")
	users := make([]string, 0, len(r.held))
	for user := range r.held {
		users = append(users, user)
	}
	for user := range held {
		if _, listed := r.held[user]; !listed {
			users = append(users, user)
		}
	}
	slices.Sort(users)
	for _, user := range users {
		limits.compare(r.held[user], held[user], "a user's purchase limit")
	}
	return []Equation{frozenSum.Equation, soldSum.Equation, limits.Equation}
}

// ofStores is invariant C: Redis is the fold of its own log, and its log pairs with the rows.
func ofStores(r *rows, c *cache) (equations []Equation, inFlight int) {
	fold := newTally("C1", "units left by the counters of Redis = units left by its log")
	for _, key := range sortedBuckets(r.buckets) {
		fold.compare(c.left[key], c.folded[key], key.String())
	}
	totals := newTally("C2", "units left in all by Redis = sum over its buckets")
	for _, name := range c.types() {
		sum := 0
		for key, left := range c.left {
			if key.ticketType == name {
				sum += left
			}
		}
		totals.compare(c.totals[name], sum, "ticket type "+name)
	}
	pairs, inFlight, flying := pair(r, c)
	mirror := newTally("C4", "units left in Redis, and in flight = units free in MySQL")
	used := make(map[bucketKey]int)
	for _, o := range r.orders {
		if o.live() {
			for _, a := range o.allocations {
				used[bucketKey{o.ticketType, a.Bucket}] += a.Count
			}
		}
	}
	for _, key := range sortedBuckets(r.buckets) {
		b := r.buckets[key]
		mirror.compare(c.left[key]+flying[key], b.capacity+b.adjusted-used[key], key.String())
	}
	marks := newTally("C5", "units held by the buyers' marks in Redis = live entries of its log")
	for _, user := range c.users() {
		marks.compare(c.held[user], c.liveUnits[user], "a buyer's mark")
	}
	return []Equation{fold.Equation, totals.Equation, pairs.Equation, mirror.Equation, marks.Equation}, inFlight
}

// pair holds the log against the rows, id by id. What the log has taken and no row knows is in flight; what is taken there but
// cancelled here waits for its release, and counts as in flight too until the grace of S has passed.
func pair(r *rows, c *cache) (*tally, int, map[bucketKey]int) {
	pairs := newTally("C3", "orders that the log of Redis and the rows of MySQL see alike")
	inFlight, flying := 0, make(map[bucketKey]int)
	fly := func(e *entry) {
		inFlight++
		for _, a := range e.allocations {
			flying[bucketKey{e.ticketType, a.Bucket}] += a.Count
		}
	}
	for _, id := range c.sortedIDs() {
		e, o := c.entries[id], r.orders[id]
		pairs.Right++
		switch {
		case e.dead && (o == nil || o.live()):
			pairs.breaks(id.String()) // no release without a committed CANCELLED row
		case !e.dead && o == nil, !e.dead && o != nil && !o.live():
			fly(e)
			pairs.Left++
		case !e.dead && (o.userID != e.userID || o.ticketType != e.ticketType || o.allocations.Compact() != e.allocations.Compact()):
			pairs.breaks(id.String())
		default:
			pairs.Left++
		}
	}
	for _, o := range r.sortedOrders() {
		if c.entries[o.id] == nil && o.live() {
			pairs.Right++
			pairs.breaks(o.id.String()) // a live order that Redis does not know
		}
	}
	return pairs, inFlight, flying
}

// ofStates is invariant S: nothing is left unfinished past its deadline and the grace.
func ofStates(r *rows, c *cache) []Equation {
	overdue := newTally("S1", "unpaid orders past their deadline and the grace")
	unreleased := newTally("S2", "cancelled orders whose release is not recorded after the grace")
	for _, o := range r.sortedOrders() {
		if o.status == "UNPAID" && o.deadline != nil && !r.now.Before(o.deadline.Add(Grace)) {
			overdue.Left++
			overdue.breaks(o.id.String())
		}
		if !o.live() && o.releasedAt == nil && o.cancelledAt != nil && !r.now.Before(o.cancelledAt.Add(Grace)) {
			unreleased.Left++
			unreleased.breaks(o.id.String())
		}
	}
	unfinished := newTally("S3", "reservations past the grace without an order")
	for _, id := range c.sortedIDs() {
		if e := c.entries[id]; !e.dead && r.orders[id] == nil && !c.now.Before(e.at.Add(Grace)) {
			unfinished.Left++
			unfinished.breaks(id.String())
		}
	}
	return []Equation{overdue.Equation, unreleased.Equation, unfinished.Equation}
}

func (r *rows) sortedOrders() []*orderRow {
	orders := make([]*orderRow, 0, len(r.orders))
	for _, o := range r.orders {
		orders = append(orders, o)
	}
	slices.SortFunc(orders, func(a, b *orderRow) int { return slices.Compare(a.id[:], b.id[:]) })
	return orders
}

func sortedBuckets(buckets map[bucketKey]bucketRow) []bucketKey {
	keys := make([]bucketKey, 0, len(buckets))
	for key := range buckets {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b bucketKey) int {
		return slices.Compare([]string{a.ticketType, fmt.Sprintf("%02d", a.bucket)}, []string{b.ticketType, fmt.Sprintf("%02d", b.bucket)})
	})
	return keys
}

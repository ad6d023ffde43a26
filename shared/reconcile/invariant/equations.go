package invariant

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	"holdfast/shared/sale"
)

// Grace is how long after a deadline something may still be unfinished before S is broken: a repair pass starts each minute.
const Grace = 2 * time.Minute

// OfPromises is the id of the equation over promises, which only a journal can fill.
const OfPromises = "L1"

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
	for _, o := range r.sorted {
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

// ofPromises is invariant L: every promise has its row, with the same user, type and quantity, and what Redis knows does not wait for
// ever.
func ofPromises(r *rows, c *cache, promises []Promise) []Equation {
	kept := newTally(OfPromises, "promises (202) whose order exists as it was promised")
	for _, p := range promises {
		kept.Right++
		o := r.orders[p.OrderID]
		if o != nil && o.userID == p.UserID && o.ticketType == p.Type && o.quantity == p.Quantity {
			kept.Left++
		} else {
			kept.breaks(p.OrderID.String())
		}
	}
	waiting := newTally("L2", "no known reservation is past its grace without a final state")
	for _, id := range c.sorted {
		if e := c.entries[id]; e.taken && !e.dead && r.orders[id] == nil && !c.now.Before(e.at.Add(Grace)) {
			waiting.Left++
			waiting.breaks(id.String())
		}
	}
	return []Equation{kept.Equation, waiting.Equation}
}

// ofEffects is invariant D: the sums that each effect moved agree with the orders, so none happened twice or not at all.
func ofEffects(r *rows) []Equation {
	taken := newTally("D1", "units taken by the stock log = units of orders that ever held stock")
	back := newTally("D2", "units given back by the stock log = units of cancelled ones of them")
	router := newTally("D3", "entries of the order router = orders")
	deducted := newTally("D7", "paid orders by the stock log = paid orders")
	frozen := make(map[bucketKey]int)
	sold := make(map[bucketKey]int)
	held := make(map[string]int)
	for _, o := range r.sorted {
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
		into, logged, paid := frozen, 0, 0
		if o.status == "PAID" {
			into, paid = sold, 1
		}
		if r.taken[o.id].action == "DEDUCT" {
			logged = 1
		}
		deducted.compare(logged, paid, o.id.String())
		for _, a := range o.allocations {
			into[bucketKey{o.ticketType, a.Bucket}] += a.Count
		}
		if units != o.quantity {
			taken.breaks(o.id.String())
		}
	}
	orphans(taken, r.taken, r)
	orphans(back, r.givenBack, r)
	for _, id := range unknown(r.routers, r) {
		router.compare(1, 0, id.String())
	}
	equations := append([]Equation{taken.Equation, back.Equation, router.Equation}, ofSums(r, frozen, sold, held)...)
	return append(equations, deducted.Equation, ofAdjustments(r))
}

// orphans finds movements of the stock log that no order explains.
func orphans(t *tally, movements map[sale.OrderID]movement, r *rows) {
	for _, id := range unknown(movements, r) {
		t.Left += max(movements[id].change, -movements[id].change)
		t.breaks(id.String())
	}
}

// unknown lists the ids of a table that have no order, sorted.
func unknown[T any](table map[sale.OrderID]T, r *rows) []sale.OrderID {
	var ids []sale.OrderID
	for id := range table {
		if r.orders[id] == nil {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b sale.OrderID) int { return bytes.Compare(a[:], b[:]) })
	return ids
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
		limits.compare(r.held[user], held[user], "buyer "+user)
	}
	return []Equation{frozenSum.Equation, soldSum.Equation, limits.Equation}
}

// ofAdjustments compares what operators added or took away with what the buckets have of it.
func ofAdjustments(r *rows) Equation {
	adjusted := newTally("D8", "adjusted units of the buckets = units of applied adjustments")
	sums := make(map[bucketKey]int)
	for _, a := range r.adjustments {
		if a.status == "APPLIED" {
			shift(sums, a.ticketType, a.split, 1)
		}
	}
	for _, key := range sortedBuckets(r.buckets) {
		adjusted.compare(r.buckets[key].adjusted, sums[key], key.String())
	}
	return adjusted.Equation
}

// ofStates is invariant S: nothing is left unfinished past its deadline and the grace.
func ofStates(r *rows) []Equation {
	overdue := newTally("S1", "unpaid orders past their deadline and the grace")
	unreleased := newTally("S2", "cancelled orders whose release is not recorded after the grace")
	kept := newTally("S7", "live orders of a sale that was called off, when nothing has come back for longer than the grace")
	stands := r.offSince != nil && !r.now.Before(r.offSince.Add(Grace))
	for _, o := range r.sorted {
		if o.status == "UNPAID" && o.deadline != nil && !r.now.Before(o.deadline.Add(Grace)) {
			overdue.Left++
			overdue.breaks(o.id.String())
		}
		if !o.live() && o.releasedAt == nil && o.cancelledAt != nil && !r.now.Before(o.cancelledAt.Add(Grace)) {
			unreleased.Left++
			unreleased.breaks(o.id.String())
		}
		if stands && o.live() {
			kept.Left++
			kept.breaks(o.id.String())
		}
	}
	return []Equation{overdue.Equation, unreleased.Equation, kept.Equation, r.unfinishedAdjustments()}
}

// unfinishedAdjustments finds adjustments of which it should be known by now whether they were made.
func (r *rows) unfinishedAdjustments() Equation {
	pending := newTally("S8", "adjustments not finished after the grace")
	for _, id := range slices.Sorted(maps.Keys(r.adjustments)) {
		if a := r.adjustments[id]; a.status == "PENDING" && !r.now.Before(a.createdAt.Add(Grace)) {
			pending.Left++
			pending.breaks("adjustment " + id)
		}
	}
	return pending.Equation
}

// sort puts the orders into the order of their ids, which decides who is the first offender.
func (r *rows) sort() {
	r.sorted = make([]*orderRow, 0, len(r.orders))
	for _, o := range r.orders {
		r.sorted = append(r.sorted, o)
	}
	slices.SortFunc(r.sorted, func(a, b *orderRow) int { return bytes.Compare(a.id[:], b.id[:]) })
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

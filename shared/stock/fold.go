package stock

import (
	"maps"

	"holdfast/shared/sale"
)

// Fold adds up movements, in any order, to what the counters must be: for each bucket its original capacity, plus adjustments,
// less the units of live reservations. Nothing is clamped. A movement added twice counts once, as a scan may yield it twice.
type Fold struct {
	capacities map[string][]int
	taken      map[sale.OrderID]Movement
	moved      map[sale.OrderID]Movement
	dead       map[sale.OrderID]bool
	adjusted   map[string]Movement
	undone     map[string]bool
}

// NewFold starts from original capacities.
func NewFold(f *sale.Facts) *Fold {
	fold := &Fold{capacities: map[string][]int{}, taken: map[sale.OrderID]Movement{}, moved: map[sale.OrderID]Movement{},
		dead: map[sale.OrderID]bool{}, adjusted: map[string]Movement{}, undone: map[string]bool{}}
	for _, t := range f.Types {
		fold.capacities[t.ID] = t.Capacities
	}
	return fold
}

// Add takes one movement in. To fold up to a seq, leave out what lies behind it.
func (f *Fold) Add(m Movement) {
	switch m.Kind {
	case KindTaken:
		f.taken[m.OrderID] = m
	case KindMoved:
		f.moved[m.OrderID] = m
	case KindDead, KindMarked:
		f.dead[m.OrderID] = true
	case KindAdjusted:
		f.adjusted[m.AdjustmentID] = m
	case KindUndone:
		f.undone[m.AdjustmentID] = true
	}
}

// Live gives the reservations that were taken and have not died, with the allocations that hold.
func (f *Fold) Live() map[sale.OrderID]Movement {
	live := maps.Clone(f.taken)
	for id, m := range live {
		if move, found := f.moved[id]; found {
			m.Allocations = move.Allocations
			live[id] = m
		}
	}
	maps.DeleteFunc(live, func(id sale.OrderID, _ Movement) bool { return f.dead[id] })
	return live
}

// Types gives the counters that follow from what was added, as Snapshot gives those that stand in Redis.
func (f *Fold) Types() map[string]TypeSnapshot {
	types := make(map[string]TypeSnapshot, len(f.capacities))
	for id, capacities := range f.capacities {
		t := TypeSnapshot{Buckets: append([]int(nil), capacities...)}
		for _, units := range capacities {
			t.Left += units
		}
		types[id] = t
	}
	shift := func(ticketType string, bucket, units int) {
		t := types[ticketType]
		for len(t.Buckets) <= bucket { // a bucket that the facts do not know shows as one more, in the red
			t.Buckets = append(t.Buckets, 0)
		}
		t.Buckets[bucket] += units
		t.Left += units
		types[ticketType] = t
	}
	for _, m := range f.Live() {
		for _, a := range m.Allocations {
			shift(m.Type, a.Bucket, -a.Count)
		}
	}
	for id, m := range f.adjusted {
		if f.undone[id] {
			continue
		}
		for _, share := range m.Split {
			shift(m.Type, share.Bucket, share.Delta)
		}
	}
	return types
}

// Held gives the units that each user with a live reservation holds.
func (f *Fold) Held() map[string]int {
	held := make(map[string]int)
	for _, m := range f.Live() {
		held[m.UserID] += m.Quantity
	}
	return held
}

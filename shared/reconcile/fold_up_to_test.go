package reconcile

import (
	"fmt"
	"testing"

	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// A scan sees some of what happens while it runs. What lies behind the seq of the counters is left out of the fold, be it that units were
// taken, went back, were moved, or that capacity changed.
func TestFoldLeavesOutWhatLiesBehindItsSeq(t *testing.T) {
	t.Parallel()
	const seq, ticketType = 1000, "STANDARD"
	facts := &sale.Facts{Types: []sale.TypeFact{{ID: ticketType, Capacities: []int{10, 10}}}}
	id := func(key string) sale.OrderID { return sale.NewOrderID(1, nil, "u", key) }
	taken := func(key string, at int64, bucket int) stock.Movement {
		return stock.Movement{Kind: stock.KindTaken, Seq: at, OrderID: id(key), UserID: "u", Type: ticketType, Quantity: 2,
			Allocations: sale.Allocations{{Bucket: bucket, Count: 2}}}
	}
	upTo := []stock.Movement{
		taken("stays", seq, 0), taken("dies", seq-1, 0), taken("dies late", seq-2, 1), taken("moves", seq-3, 0), taken("moves late", seq-4, 0),
		{Kind: stock.KindDead, Seq: seq, OrderID: id("dies"), Quantity: 2},
		{Kind: stock.KindMoved, Seq: seq, OrderID: id("moves"), Allocations: sale.Allocations{{Bucket: 1, Count: 2}}},
		{Kind: stock.KindAdjusted, Seq: seq, AdjustmentID: "more", Type: ticketType, Split: sale.Split{{Bucket: 0, Delta: 5}}},
	}
	behind := []stock.Movement{
		taken("late", seq+1, 0),
		{Kind: stock.KindDead, Seq: seq + 1, OrderID: id("dies late"), Quantity: 2},
		{Kind: stock.KindMoved, Seq: seq + 1, OrderID: id("moves late"), Allocations: sale.Allocations{{Bucket: 1, Count: 2}}},
		{Kind: stock.KindAdjusted, Seq: seq + 1, AdjustmentID: "still more", Type: ticketType, Split: sale.Split{{Bucket: 1, Delta: 7}}},
		{Kind: stock.KindUndone, Seq: seq + 1, AdjustmentID: "more", Type: ticketType, Split: sale.Split{{Bucket: 0, Delta: 5}}},
	}
	want := fmt.Sprint(map[string]stock.TypeSnapshot{ticketType: {Left: 17, Buckets: []int{11, 6}}})
	for name, seen := range map[string][][]stock.Movement{
		"nothing of it seen": {upTo}, "all of it seen": {upTo, behind}, "seen first": {behind, upTo}, "seen twice": {behind, upTo, behind, upTo},
	} {
		x := newLogIndex(seq)
		for _, list := range seen {
			for i := range list {
				x.add(&list[i])
			}
		}
		if got := fmt.Sprint(x.fold(facts)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// More was sold than there was. The fold says by how much, and what comes free or is added afterwards counts from there.
func TestFoldOfTheFullReconcileGoesBelowZero(t *testing.T) {
	t.Parallel()
	const ticketType = "STANDARD"
	facts := &sale.Facts{Types: []sale.TypeFact{{ID: ticketType, Capacities: []int{1, 1}}}}
	x := newLogIndex(100)
	for i := range 5 {
		x.add(&stock.Movement{Kind: stock.KindTaken, Seq: int64(i + 1), OrderID: sale.NewOrderID(1, nil, "u", fmt.Sprint(i)), UserID: "u",
			Type: ticketType, Quantity: 2, Allocations: sale.Allocations{{Bucket: 0, Count: i%2 + 1}, {Bucket: 1, Count: 1}}})
	}
	x.add(&stock.Movement{Kind: stock.KindAdjusted, Seq: 9, AdjustmentID: "more", Type: ticketType, Split: sale.Split{{Bucket: 0, Delta: 2}}})
	want := fmt.Sprint(map[string]stock.TypeSnapshot{ticketType: {Left: -8, Buckets: []int{-4, -4}}})
	if got := fmt.Sprint(x.fold(facts)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

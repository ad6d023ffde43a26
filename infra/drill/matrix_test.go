package drill

import (
	"testing"
	"time"

	"holdfast/shared/order"
	"holdfast/shared/reconcile/invariant"
	"holdfast/shared/sale"
)

type equation = invariant.Equation

func TestTheMatrixJoinsWhatWasMendedWithWhatBrokeIt(t *testing.T) {
	zero := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return zero.Add(time.Duration(seconds * float64(time.Second))) }
	id := func(n byte) *sale.OrderID { return &sale.OrderID{15: n} }
	strikes := []Strike{{"first", stepAny, at(10), at(14)}, {"second", stepRelease, at(15), at(18)}, {"elsewhere", stepSend, at(15.5), at(16)},
		{"Redis killed, restarts empty", stepAny, at(500), at(502)}}
	matrix, paces := joinMatrix([]Mended{
		{id(1), order.EveryMinute, order.RepairAck, at(12), at(60)},       // during the first
		{id(1), order.EveryMinute, order.RepairAck, at(12), at(120)},      // the same again
		{id(2), order.AtOnce, order.RepairRelease, at(16), at(16.5)},      // during the second, though the first still reaches it
		{id(3), order.EveryMinute, order.RepairCreate, at(6), at(70)},     // on its way when the first began, so sound until then
		{id(4), order.EveryMinute, order.RepairAck, at(300), at(400)},     // long after, and slower than promised
		{id(6), order.EveryMinute, order.RepairRelease, at(480), at(560)}, // kept from being mended by what came later
		{id(5), order.AtOnce, order.RepairAdopt, at(501), at(530)},        // when its message came, so of no layer's pace
		{nil, order.EveryMinute, order.RepairLoad, time.Time{}, at(13)},   // before anything was lost
		{nil, order.EveryMinute, order.RepairLoad, time.Time{}, at(540)},  // after it was
	}, strikes)
	want := []Row{
		{Step: "acknowledge", Fault: "first", Layers: [4]int{2: 1}, P50: 48 * time.Second},
		{Step: "acknowledge", Fault: untold, Layers: [4]int{2: 1}, P50: 100 * time.Second},
		{Step: "known to Redis", Fault: "Redis killed, restarts empty", Layers: [4]int{1: 1}, P50: 29 * time.Second},
		{Step: "release", Fault: "Redis killed, restarts empty", Layers: [4]int{2: 1}, P50: 60 * time.Second},
		{Step: "release", Fault: "second", Layers: [4]int{1: 1}, P50: 500 * time.Millisecond},
		{Step: "send or create", Fault: "first", Layers: [4]int{2: 1}, P50: 60 * time.Second},
		{Step: "the sale's set", Fault: "Redis killed, restarts empty", Layers: [4]int{2: 1}, P50: 40 * time.Second},
		{Step: "the sale's set", Fault: untold, Layers: [4]int{2: 1}},
	}
	if len(matrix) != len(want) {
		t.Fatalf("%+v", matrix)
	}
	for i, row := range matrix {
		if row.Step != want[i].Step || row.Fault != want[i].Fault || row.Layers != want[i].Layers || row.P50 != want[i].P50 {
			t.Errorf("row %d is %+v, want %+v", i, row, want[i])
		}
	}
	if one, two := paces[0], paces[1]; one.Orders != 2 || one.Known != 1 || one.InTime != 1 || two.Orders != 4 || two.InTime != 3 || two.P99 != 100*time.Second {
		t.Errorf("paces %+v", paces)
	}
}

func TestPercentilesAreNearestRanks(t *testing.T) {
	list := make([]time.Duration, 100)
	for i := range list {
		list[i] = time.Duration(100 - i)
	}
	if percentile(list, 50) != 50 || percentile(list, 99) != 99 || percentile(list[:1], 99) != 100 || percentile(nil, 50) != 0 {
		t.Errorf("%d %d %d", percentile(list, 50), percentile(list, 99), percentile(list[:1], 99))
	}
}

func TestEveryKindOfRepairHasItsStep(t *testing.T) {
	for _, kind := range []order.RepairKind{order.RepairRelease, order.RepairAck, order.RepairCreate, order.RepairRefuse, order.RepairAdopt,
		order.RepairLoad, order.RepairRules, order.RepairAdjustment} {
		if stepOf[kind] == "" {
			t.Errorf("%s has none", kind)
		}
	}
}

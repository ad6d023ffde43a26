package order_test

import (
	"testing"

	"holdfast/shared/order"
	"holdfast/shared/sale"
)

func TestAnOrderFitsOnlyWhereItsUnitsCanBe(t *testing.T) {
	t.Parallel()
	f := sale.Facts{Types: []sale.TypeFact{{ID: "A", Capacities: []int{5, 5}}}}
	for text, fits := range map[string]bool{"0:2": true, "0:1,1:1": true, "1:2": true, "0:1": false, "0:3": false, "2:2": false, "": false} {
		list, err := sale.ParseAllocations(text)
		if err != nil {
			t.Fatal(err)
		}
		o := order.Order{TicketType: "A", Quantity: 2, Allocations: list}
		if o.Fits(&f) != fits {
			t.Errorf("%q: want %v", text, fits)
		}
		if o.TicketType = "B"; o.Fits(&f) {
			t.Errorf("%q fits into a type that there is not", text)
		}
	}
	if o := (order.Order{TicketType: "A", Quantity: 0}); o.Fits(&f) {
		t.Error("nothing fits")
	}
}

// Whoever reads a page of orders must not fail because of one of them.
func TestOrderWhoseAllocationsNobodyCanReadIsReadWithoutAny(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sound, odd := w.order("u1", "k", 1), w.order("u2", "k", 1)
	w.insert(sound)
	w.insert(odd)
	for _, text := range []string{"xyz", "1:1,1:1", "0:0"} {
		if _, err := w.db.ExecContext(t.Context(), "UPDATE trade_order SET allocations = ? WHERE id = ?", text, odd.ID[:]); err != nil {
			t.Fatal(err)
		}
		got, err := order.GetMany(t.Context(), w.db, []sale.OrderID{sound.ID, odd.ID})
		if err != nil || len(got) != 2 || len(got[sound.ID].Allocations) != 1 || got[odd.ID].Allocations != nil {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

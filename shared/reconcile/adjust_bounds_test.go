package reconcile_test

import (
	"errors"
	"testing"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/fault"
	"holdfast/shared/stock"
)

// An adjustment that Redis can never make is written down as PENDING before that is known, by whatever version of the program: the next
// pass refuses it, and nobody hears that the stock is too small.
func TestAdjustmentThatCanNeverBeMadeIsRefusedForGood(t *testing.T) {
	t.Parallel()
	for name, delta := range map[string]int{"too many": stock.MaxQuantity + 1, "too few": -stock.MaxQuantity - 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, plan{capacity: 5, buckets: 2})
			if _, _, err := w.catalog.BeginAdjustment(t.Context(), w.wish("a", delta), operator("adjust")); err != nil {
				t.Fatal(err)
			}
			w.advance(time.Minute)
			if sum := w.compensate(); sum.Adjustments != 1 {
				t.Errorf("%d finished", sum.Adjustments)
			}
			a, err := w.reconciler.AdjustStock(t.Context(), w.wish("a", delta), operator("adjust"))
			if a.Status != catalog.Refused || fault.Of(err) != fault.ValidationFailed || errors.Is(err, catalog.ErrBelowSold) {
				t.Errorf("asked again: %+v, %v", a, err)
			}
			w.agree()
		})
	}
}

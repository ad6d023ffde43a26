package order

import (
	"slices"

	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// Fits says whether the order's units can be in Redis where the order says: its type is one of the sale's, and its allocations name buckets
// of that type and add up to its quantity. No order is made otherwise; a row that a foreign hand has changed may be.
func (o *Order) Fits(f *sale.Facts) bool {
	t, known := f.Type(o.TicketType)
	if !known || o.Quantity < 1 || o.Quantity > stock.MaxQuantity || o.Allocations.Units() != o.Quantity {
		return false
	}
	return !slices.ContainsFunc(o.Allocations, func(a sale.Allocation) bool { return a.Bucket >= len(t.Capacities) })
}

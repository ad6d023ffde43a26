package order

import (
	"bytes"
	"slices"

	"holdfast/shared/sale"
)

// CompareIDs orders ids as the database's primary key does: rows are locked in this order everywhere.
func CompareIDs(a, b sale.OrderID) int { return bytes.Compare(a[:], b[:]) }

// Sort puts orders into the order of their ids.
func Sort(orders []Order) {
	slices.SortFunc(orders, func(a, b Order) int { return CompareIDs(a.ID, b.ID) })
}

func sorted(ids []sale.OrderID) []sale.OrderID {
	out := slices.Clone(ids)
	slices.SortFunc(out, CompareIDs)
	return slices.Compact(out)
}

func idArgs(ids []sale.OrderID) []any {
	args := make([]any, len(ids))
	for i := range ids {
		args[i] = ids[i][:]
	}
	return args
}

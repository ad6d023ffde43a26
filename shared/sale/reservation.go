package sale

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Allocation says how many units of which bucket: count >= 1, each bucket at most once in a list.
type Allocation struct {
	Bucket int `json:"bucket"`
	Count  int `json:"count"`
}

// Allocations is a list of allocations in ascending order of bucket.
type Allocations []Allocation

// ErrBadAllocations is returned for a text or list that is no allocation.
var ErrBadAllocations = errors.New("sale: bad allocations")

// Units is the number of units in all.
func (a Allocations) Units() int {
	n := 0
	for _, x := range a {
		n += x.Count
	}
	return n
}

// Compact writes "0:2,3:1", the form that scripts and the database keep; empty for none.
func (a Allocations) Compact() string {
	return compact(len(a), func(i int) (bucket, units int) { return a[i].Bucket, a[i].Count })
}

// ParseAllocations reads what Compact writes, sorts it by bucket, and returns ErrBadAllocations for anything else.
func ParseAllocations(s string) (Allocations, error) {
	out := Allocations{}
	ok := parseCompact(s, func(bucket, units int) bool {
		out = append(out, Allocation{Bucket: bucket, Count: units})
		return units >= 1
	})
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrBadAllocations, s)
	}
	slices.SortFunc(out, func(a, b Allocation) int { return a.Bucket - b.Bucket })
	return out, nil
}

// Reservation is units taken for one user: what the log in Redis holds, what the message to create-orders carries, and what
// an order is made from.
type Reservation struct {
	OrderID     OrderID
	ActivityID  string
	UserID      string
	TicketType  string
	Quantity    int
	Allocations Allocations
	Seq         int64     // the log's sequence number, microseconds; orders reservations of one activity
	At          time.Time // the instant of taking by the clock of Redis, milliseconds
	Before      int       // units of the type left in Redis before taking; -1 when not known any more
}

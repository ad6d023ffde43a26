package sale

import (
	"errors"
	"fmt"
	"slices"
)

// Share is what one bucket gains (positive) or loses (negative) by an adjustment; never 0.
type Share struct {
	Bucket int `json:"bucket"`
	Delta  int `json:"delta"`
}

// Split says how an adjustment of stock is spread over buckets: ascending by bucket, each bucket at most once.
type Split []Share

// ErrBadSplit is returned for a text that is no split.
var ErrBadSplit = errors.New("sale: bad split")

// Delta is the sum over all buckets.
func (s Split) Delta() int {
	n := 0
	for _, x := range s {
		n += x.Delta
	}
	return n
}

// Compact writes "0:5,1:-3", the form that the log in Redis and the database keep; empty for none.
func (s Split) Compact() string {
	return compact(len(s), func(i int) (bucket, units int) { return s[i].Bucket, s[i].Delta })
}

// ParseSplit reads what Compact writes, sorts it by bucket, and returns ErrBadSplit for anything else.
func ParseSplit(text string) (Split, error) {
	out := Split{}
	ok := parseCompact(text, func(bucket, units int) bool {
		out = append(out, Share{Bucket: bucket, Delta: units})
		return units != 0
	})
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrBadSplit, text)
	}
	slices.SortFunc(out, func(a, b Share) int { return a.Bucket - b.Bucket })
	return out, nil
}

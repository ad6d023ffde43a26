package sale

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
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
	var b strings.Builder
	for i, x := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d:%d", x.Bucket, x.Delta)
	}
	return b.String()
}

// ParseSplit reads what Compact writes, sorts it by bucket, and returns ErrBadSplit for anything else.
func ParseSplit(text string) (Split, error) {
	out := Split{}
	if text == "" {
		return out, nil
	}
	seen := make(map[int]bool)
	for _, part := range strings.Split(text, ",") {
		bucket, delta, found := strings.Cut(part, ":")
		b, err1 := strconv.Atoi(bucket)
		d, err2 := strconv.Atoi(delta)
		if !found || err1 != nil || err2 != nil || b < 0 || d == 0 || seen[b] {
			return nil, fmt.Errorf("%w: %q", ErrBadSplit, text)
		}
		seen[b] = true
		out = append(out, Share{Bucket: b, Delta: d})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Bucket < out[j].Bucket })
	return out, nil
}

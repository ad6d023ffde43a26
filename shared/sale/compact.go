package sale

import (
	"strconv"
	"strings"
)

// compact writes n pairs of bucket and units as "0:2,3:-1".
func compact(n int, pair func(i int) (bucket, units int)) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		bucket, units := pair(i)
		b.WriteString(strconv.Itoa(bucket))
		b.WriteByte(':')
		b.WriteString(strconv.Itoa(units))
	}
	return b.String()
}

// parseCompact reads what compact writes and hands each pair to take. It says false for any other text, for a bucket below 0 or
// named twice, and when take does.
func parseCompact(text string, take func(bucket, units int) bool) bool {
	if text == "" {
		return true
	}
	var seen map[int]bool // most texts have one pair, and need none
	for part := range strings.SplitSeq(text, ",") {
		left, right, found := strings.Cut(part, ":")
		bucket, err1 := strconv.Atoi(left)
		units, err2 := strconv.Atoi(right)
		if !found || err1 != nil || err2 != nil || bucket < 0 || seen[bucket] || !take(bucket, units) {
			return false
		}
		if seen == nil && len(text) > len(part) {
			seen = make(map[int]bool)
		}
		if seen != nil {
			seen[bucket] = true
		}
	}
	return true
}

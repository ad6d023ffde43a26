package bench

import (
	"math"
	"slices"
	"time"
)

// median is the middle of the values, or the mean of the middle two; 0 for none. It leaves the list as it is.
func median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// ratio is the median of ours over the median of theirs; 0 when there is nothing to divide by.
func ratio(ours, theirs []float64) float64 {
	if m := median(theirs); m != 0 {
		return median(ours) / m
	}
	return 0
}

// percentile is the smallest of the durations that at least p of them (0..1) do not exceed; 0 for none.
func percentile(list []time.Duration, p float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	at := int(math.Ceil(p*float64(len(sorted)))) - 1
	return sorted[min(max(at, 0), len(sorted)-1)]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

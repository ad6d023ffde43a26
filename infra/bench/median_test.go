package bench

import (
	"testing"
	"time"
)

func TestMedianIsTheMiddle(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{7}, 7}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 9, 2}, 3}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}

func TestMedianLeavesTheListAsItIs(t *testing.T) {
	list := []float64{3, 1, 2}
	median(list)
	if list[0] != 3 || list[1] != 1 || list[2] != 2 {
		t.Errorf("the list became %v", list)
	}
}

func TestRatioComparesMediansAndNotOutliers(t *testing.T) {
	if got := ratio([]float64{2, 2, 1000}, []float64{4, 900, 4}); got != 0.5 {
		t.Errorf("ratio is %v, want 0.5", got)
	}
	if got := ratio([]float64{1}, nil); got != 0 {
		t.Errorf("ratio to nothing is %v, want 0", got)
	}
}

func TestPercentileIsTheNearestRank(t *testing.T) {
	var list []time.Duration
	for i := 100; i >= 1; i-- {
		list = append(list, time.Duration(i))
	}
	for p, want := range map[float64]time.Duration{0: 1, 0.5: 50, 0.99: 99, 1: 100} {
		if got := percentile(list, p); got != want {
			t.Errorf("percentile %v is %d, want %d", p, got, want)
		}
	}
	if percentile(nil, 0.99) != 0 {
		t.Error("percentile of nothing is not 0")
	}
}

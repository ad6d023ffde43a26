package order_test

import (
	"testing"
	"time"

	"holdfast/shared/order"
)

func TestADeadlineThatIsReachedIsPassed(t *testing.T) {
	deadline := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	o := order.Order{PayDeadline: &deadline}
	for _, c := range []struct {
		from time.Duration
		want bool
	}{{-time.Millisecond, false}, {0, true}, {time.Millisecond, true}} {
		if got := o.ExpiredAt(deadline.Add(c.from)); got != c.want {
			t.Errorf("%v from the deadline: expired %v", c.from, got)
		}
	}
	if (&order.Order{}).ExpiredAt(deadline) {
		t.Error("an order without a deadline expired")
	}
}

package api

import (
	"fmt"
	"testing"
	"time"
)

func TestADepositSeatIsRefusedWithin400MillisecondsUnderASlowRedis(t *testing.T) {
	t.Parallel()
	t.Run("who has the money", func(t *testing.T) { refuseInTime(t, "25.00", "RESERVATION_UNCONFIRMED") })
	// The look whether the wish is known has used the time up, and the script was not sent.
	t.Run("who has too little", func(t *testing.T) { refuseInTime(t, "0.01", "STOCK_STORE_UNAVAILABLE") })
}

func refuseInTime(t *testing.T, purse, code string) {
	t.Helper()
	w := newWorld(t)
	a := w.sale(depositSeats)
	h, best := NewReserveTicket(w.d), time.Hour
	for try := 0; try < 5 && best > 400*time.Millisecond; try++ {
		user := fmt.Sprint("u", try)
		topUp(t, w.d.DB.Run, user, purse)
		w.redis.Delay(time.Hour)
		got := w.call(h, wish(a, user, "k", one))
		w.redis.Delay(0)
		if try > 0 { // the first reads the facts only
			w.expect(got, 503, code)
			best = min(best, got.took)
		}
		if purse == "25.00" { // of the other the script may have taken a unit, late, and then nothing is refused any more
			w.expect(w.call(h, wish(a, user, "k", one)), 202, "")
		}
	}
	if best > 400*time.Millisecond {
		t.Errorf("the best of four attempts took %v", best)
	}
}

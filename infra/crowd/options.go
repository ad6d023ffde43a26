package crowd

import (
	"errors"
	"fmt"
	"io"
	"time"

	"holdfast/infra/local"
)

// Options says how large a crowd comes, to which stack, and how patient it is.
type Options struct {
	Addresses  local.Addresses
	Dir        string // where the journal is written
	ActivityID string // of the sale that the crowd makes; never used before
	Users      int    // distinct buyers
	Rate       int    // requests a second, whatever the answers
	Capacity   int    // units in all
	Buckets    int    // per ticket type
	Limit      int    // units per user
	Seed       uint64 // fixes who wants what and who taps twice
	Patience   time.Duration
	PayWindow  time.Duration // how long an order may stay unpaid; 0: a quarter of an hour
	Deposits   bool          // sell seats against a deposit, which is to be confirmed within minutes, instead of tickets
	Out        io.Writer
}

// check names every size that cannot be, by the flag that sets it.
func (o Options) check() error {
	var errs []error
	for _, size := range []struct {
		flag        string
		value, most int
	}{{"users", o.Users, 1_000_000}, {"rate", o.Rate, 100_000}, {"capacity", o.Capacity, 10_000_000}, {"buckets", o.Buckets, 64}, {"limit", o.Limit, 1000}} {
		if size.value < 1 || size.value > size.most {
			errs = append(errs, fmt.Errorf("--%s is %d; it goes from 1 to %d", size.flag, size.value, size.most))
		}
	}
	return errors.Join(errs...)
}

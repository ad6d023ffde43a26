package sim

import (
	"sync/atomic"
	"time"
)

// epoch is when every seed begins, so that two runs of one seed read the same times.
var epoch = time.Date(2031, 5, 17, 10, 0, 0, 500_000_000, time.UTC)

// clock is the virtual time of one world. It stands still but for advance, and a millisecond for each boundary.
type clock struct{ ns atomic.Int64 }

func (c *clock) reset()                  { c.ns.Store(epoch.UnixNano()) }
func (c *clock) now() time.Time          { return time.Unix(0, c.ns.Load()).UTC().Truncate(time.Millisecond) }
func (c *clock) advance(d time.Duration) { c.ns.Add(int64(d)) }

// offset is how far the virtual time is from that of this machine, whose clock the stores have.
func (c *clock) offset() time.Duration { return time.Duration(c.ns.Load() - time.Now().UnixNano()) }

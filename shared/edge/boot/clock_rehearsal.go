//go:build rehearsal

package boot

import (
	"encoding/json"
	"os"
	"sync/atomic"
	"time"
)

// clockOffset reads how far the local stack's clock is ahead, from the file that the stack keeps it in: at each call, so that the
// clock has moved for every function once the stack says so. It is compiled into the binaries of a local stack only.
func clockOffset() func() time.Duration {
	file := os.Getenv("HOLDFAST_CLOCK_FILE")
	if file == "" {
		return nil
	}
	var last atomic.Int64 // in ms; a file that cannot be read has not moved the clock back
	return func() time.Duration {
		var kept struct {
			OffsetMs int64 `json:"offsetMs"`
		}
		if text, err := os.ReadFile(file); err == nil && json.Unmarshal(text, &kept) == nil {
			last.Store(kept.OffsetMs)
		}
		return time.Duration(last.Load()) * time.Millisecond
	}
}

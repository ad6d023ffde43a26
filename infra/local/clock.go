package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Clock is the machine's clock plus an offset that only grows. Handlers and scripts get the offset and add it to the clock of
// the store that decides; tokens, queue visibility and schedules ask Now. The offset is kept in the data folder, for the data
// there were written by it.
type Clock struct {
	mu     sync.Mutex
	offset time.Duration
	file   string
	moved  []func()
}

type clockFile struct {
	OffsetMs int64 `json:"offsetMs"`
}

// OpenClock reads the offset kept in dir; none means zero.
func OpenClock(dir string) (*Clock, error) {
	c := &Clock{file: filepath.Join(dir, "clock.json")}
	text, err := os.ReadFile(c.file)
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the clock's offset: %w", err)
	}
	var kept clockFile
	if err := json.Unmarshal(text, &kept); err != nil {
		return nil, fmt.Errorf("%s is damaged; start with --fresh or delete it: %w", c.file, err)
	}
	c.offset = time.Duration(kept.OffsetMs) * time.Millisecond
	return c, nil
}

// Offset is how far this clock is ahead of the machine's.
func (c *Clock) Offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offset
}

// Now is the moved time, in UTC.
func (c *Clock) Now() time.Time { return time.Now().Add(c.Offset()).UTC() }

// OnMove registers what must look at the clock again once it was moved, such as those who wait for a message to become visible.
func (c *Clock) OnMove(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved = append(c.moved, f)
}

// Advance moves the clock forward, by whole milliseconds. It never goes back.
func (c *Clock) Advance(by time.Duration) error {
	if by < 0 {
		return errors.New("the clock only moves forward")
	}
	c.mu.Lock()
	c.offset += by.Truncate(time.Millisecond)
	text, err := json.Marshal(clockFile{OffsetMs: c.offset.Milliseconds()})
	if err == nil {
		err = replaceFile(c.file, text)
	}
	moved := append([]func(){}, c.moved...)
	c.mu.Unlock()
	for _, f := range moved {
		f()
	}
	return err
}

// replaceFile writes a file whole or not at all: processes may read it at any moment.
func replaceFile(path string, text []byte) error {
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

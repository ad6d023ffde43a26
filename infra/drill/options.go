package drill

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Options say how a drill runs; zero values take the defaults.
type Options struct {
	Seed     uint64
	Duration time.Duration // of load and faults
	DataDir  string        // of the drill's own stack; emptied first
	Report   string        // file that the report is written to as Markdown; "" writes none
	Rate     int           // reservations a second; 60
	Round    time.Duration // a new sale opens after each; 20 s
	Breath   time.Duration // between two faults, at most, and at least a quarter of it; 2.5 s
	Only     []string      // names of the faults to deal; nil: all
	Calm     bool          // deal none: reconcile in full without pause instead, which must find nothing
	Out      io.Writer     // progress and report for a person
}

const (
	defaultRate   = 60
	defaultRound  = 20 * time.Second
	defaultBreath = 2500 * time.Millisecond
	// payWindow lets orders run out while the drill goes on.
	payWindow = 45 * time.Second
	// settleLimit is when a system that has not settled by itself has failed: the slowest layer runs every five minutes.
	settleLimit = 330*time.Second + payWindow + 2*time.Minute
)

// ErrForeignFolder is returned for a data folder that no drill has made: a drill empties its folder and destroys what runs there.
var ErrForeignFolder = errors.New("this data folder is not a drill's: a drill breaks only the stack that it started itself; choose another --data-dir")

// mark is the file by which a drill knows its own folder.
const mark = "DRILL"

func (o *Options) fill() error {
	o.Rate = cmp.Or(o.Rate, defaultRate)
	o.Round = cmp.Or(o.Round, defaultRound)
	o.Breath = cmp.Or(o.Breath, defaultBreath)
	if o.Duration < time.Second || o.Rate < 1 || o.Round < time.Second {
		return errors.New("a drill needs at least a second, and a rate of at least one a second")
	}
	if o.Breath < time.Millisecond {
		return errors.New("a drill needs a millisecond at least between two faults")
	}
	for _, name := range o.Only {
		if faultNamed(name) == nil {
			return fmt.Errorf("there is no fault %q; there are: %s", name, strings.Join(faultNames(), "; "))
		}
	}
	return nil
}

// claimFolder makes the data folder, or takes one that a drill has made before, and returns the folder in it for the stack.
func claimFolder(dir string) (stack string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	file := filepath.Join(dir, mark)
	if _, err := os.Stat(file); err != nil && len(entries) > 0 {
		return "", fmt.Errorf("%s: %w", dir, ErrForeignFolder)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return filepath.Join(dir, "stack"), os.WriteFile(file, []byte("Data of drills. The next one empties the folder beside this file.\n"), 0o600)
}

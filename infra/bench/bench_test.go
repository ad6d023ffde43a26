package bench

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/infra/local/server"
)

// small is enough to see that a measurement works; its figures mean nothing.
var small = extent{
	scripts: turns{count: 2, calls: 20, callers: 2},
	memory:  []int{200},
	create:  createTurns{count: 1, batches: 2, singles: 10, writers: 2},
	load:    loadTurns{count: 1, ours: 100, theirs: 40, callers: 4},
	repair:  repairTurns{entries: 3000, orders: 1000, rush: 60, callers: 4, turns: 1, lasts: time.Second},

	deposits: depositTurns{create: createTurns{count: 1, batches: 2, writers: 2}, settle: 60, singly: 20},
}

func TestMeasurementsGiveTheFiguresThatTheyName(t *testing.T) {
	for _, m := range measurements(small) {
		if m.name == "start" || m.name == "sizes" { // these build binaries; size_test.go does
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			dir, release, err := server.Scratch()
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			figures, err := m.run(t.Context(), Options{Dir: dir, Out: io.Discard})
			if err != nil {
				t.Fatal(err)
			}
			var keys []string
			for _, f := range figures {
				keys = append(keys, f.Key)
				if f.Value <= 0 {
					t.Errorf("%s is %v", f.Key, f.Value)
				}
			}
			if !slices.Equal(keys, m.keys) {
				t.Errorf("it gave %v, and names %v", keys, m.keys)
			}
		})
	}
}

func TestKeysAreThoseOfTheContractAndEachOnce(t *testing.T) {
	seen := make(map[string]bool)
	for _, m := range measurements(full) {
		for _, key := range m.keys {
			if seen[key] {
				t.Errorf("%s is given twice", key)
			}
			seen[key] = true
		}
	}
	for _, key := range []string{"reserve_ratio", "sold_out_ratio", "fragmented_ratio", "create_speedup", "end_to_end_speedup",
		"bytes_per_reservation"} {
		if !seen[key] {
			t.Errorf("nothing gives %s", key)
		}
	}
}

func TestUnknownNameSaysWhatThereIs(t *testing.T) {
	_, err := Run(t.Context(), Options{Only: "nothing", Out: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "end-to-end") {
		t.Errorf("the error is %v", err)
	}
}

package metric

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// Namespace is where CloudWatch shows the metrics.
const Namespace = "Holdfast"

// Metrics writes one line per count. It may be used by several goroutines; the nil *Metrics writes nothing.
type Metrics struct {
	mu  sync.Mutex
	out io.Writer
	now func() time.Time
}

// New makes metrics that are written to out (a Lambda's standard output), stamped by now.
func New(out io.Writer, now func() time.Time) *Metrics { return &Metrics{out: out, now: now} }

// Count writes that something happened n times. dims are names and values of dimensions: few and of few values, since each
// combination is a metric of its own; never ids of people. A line that cannot be written is lost: a metric must not fail what it
// counts.
func (m *Metrics) Count(name string, n int, dims map[string]string) {
	if m == nil {
		return
	}
	line := map[string]any{name: n, "_aws": directive{
		Timestamp: m.now().UnixMilli(),
		Metrics:   []metrics{{Namespace: Namespace, Dimensions: [][]string{sortedKeys(dims)}, Metrics: []definition{{Name: name, Unit: "Count"}}}},
	}}
	for dim, value := range dims {
		line[dim] = value
	}
	text, err := json.Marshal(line)
	if err != nil { // Strings and numbers only: they can be marshalled.
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _ = m.out.Write(append(text, '\n'))
}

func sortedKeys(dims map[string]string) []string {
	keys := slices.Sorted(maps.Keys(dims))
	if keys == nil {
		keys = []string{} // The format wants a list, null is refused.
	}
	return keys
}

type directive struct {
	Timestamp int64     `json:"Timestamp"` // ms
	Metrics   []metrics `json:"CloudWatchMetrics"`
}

type metrics struct {
	Namespace  string       `json:"Namespace"`
	Dimensions [][]string   `json:"Dimensions"`
	Metrics    []definition `json:"Metrics"`
}

type definition struct {
	Name string `json:"Name"`
	Unit string `json:"Unit"`
}

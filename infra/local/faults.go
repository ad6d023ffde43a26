package local

import (
	"fmt"
	"slices"
	"sync"

	"holdfast/infra/local/sns"
	"holdfast/infra/local/sqs"
	"holdfast/infra/local/states"
)

// Faults holds the faults that are switched on: at which point, in which mode, at every how-manieth call. It is asked by the
// queue server and by the hook around Redis.
type Faults struct {
	mu    sync.Mutex
	rules map[string]*faultRule
}

// faultRule is one switched-on fault, as /local/faults shows it.
type faultRule struct {
	Point string `json:"point"`
	Mode  string `json:"mode"`
	Every int    `json:"every"`
	Hits  int    `json:"hits"` // how often it struck
	calls int
}

// faultPoint is one place where faults can be injected, with the modes that act there.
type faultPoint struct {
	Point string   `json:"point"`
	Modes []string `json:"modes"`
}

// faultPoints lists every point there is.
func faultPoints() []faultPoint {
	var points []faultPoint
	for _, name := range sqs.Points() {
		var modes []string
		for _, mode := range sqs.Modes(name) {
			modes = append(modes, string(mode))
		}
		points = append(points, faultPoint{name, modes})
	}
	var modes []string
	for _, mode := range sns.Modes() {
		modes = append(modes, string(mode))
	}
	points = append(points, faultPoint{sns.PointPublish, modes})
	for _, name := range states.Points() {
		var modes []string
		for _, mode := range states.Modes(name) {
			modes = append(modes, string(mode))
		}
		points = append(points, faultPoint{name, modes})
	}
	for _, name := range redisPoints() {
		points = append(points, faultPoint{name, []string{modeRefuse, modeLoseAnswer, modeHang}})
	}
	return points
}

// Set switches a fault on, in place of an earlier one at the same point. every = 1 strikes at each call, 3 at each third.
// The error names what there is.
func (f *Faults) Set(point, mode string, every int) error {
	if every < 1 {
		return fmt.Errorf("every is %d: write 1 for each call, 3 for each third", every)
	}
	points := faultPoints()
	at := slices.IndexFunc(points, func(p faultPoint) bool { return p.Point == point })
	if at < 0 {
		return fmt.Errorf("there is no point %q: GET /local/faults lists them", point)
	}
	if !slices.Contains(points[at].Modes, mode) {
		return fmt.Errorf("%s has no mode %q, but %v", point, mode, points[at].Modes)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rules == nil {
		f.rules = make(map[string]*faultRule)
	}
	f.rules[point] = &faultRule{Point: point, Mode: mode, Every: every}
	return nil
}

// Clear switches all faults off.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.rules)
}

// Active lists what is switched on, by point.
func (f *Faults) Active() []faultRule {
	f.mu.Lock()
	defer f.mu.Unlock()
	active := make([]faultRule, 0, len(f.rules))
	for _, rule := range f.rules {
		active = append(active, *rule)
	}
	slices.SortFunc(active, func(a, b faultRule) int {
		if a.Point < b.Point {
			return -1
		}
		return 1
	})
	return active
}

// Next counts a call at point and says how it goes wrong; the empty mode lets it through.
func (f *Faults) Next(point string) sqs.Mode {
	f.mu.Lock()
	defer f.mu.Unlock()
	rule := f.rules[point]
	if rule == nil {
		return sqs.None
	}
	rule.calls++
	if rule.calls%rule.Every != 0 {
		return sqs.None
	}
	rule.Hits++
	return sqs.Mode(rule.Mode)
}

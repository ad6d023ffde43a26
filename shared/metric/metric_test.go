package metric_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/shared/metric"
)

var at = time.Date(2026, 5, 6, 7, 8, 9, 123e6, time.UTC)

func fixed() time.Time { return at }

// point is what CloudWatch makes of a line.
type point struct {
	namespace, name string
	value           float64
	at              time.Time
}

// read takes a line as CloudWatch does: by "_aws", whose names are case-sensitive, each metric being a number at the root.
func read(line []byte) ([]point, error) {
	var root map[string]json.RawMessage
	if err := json.Unmarshal(line, &root); err != nil {
		return nil, err
	}
	var meta map[string]json.RawMessage
	if err := json.Unmarshal(root["_aws"], &meta); err != nil {
		return nil, fmt.Errorf("_aws: %w", err)
	}
	var ms int64
	if err := json.Unmarshal(meta["Timestamp"], &ms); err != nil {
		return nil, fmt.Errorf("Timestamp: %w", err)
	}
	var directives []map[string]json.RawMessage
	if err := json.Unmarshal(meta["CloudWatchMetrics"], &directives); err != nil || len(directives) == 0 {
		return nil, fmt.Errorf("CloudWatchMetrics: %d, %w", len(directives), err)
	}
	var points []point
	for _, d := range directives {
		var namespace string
		var dimensions [][]string
		var metrics []map[string]string
		if err := errors.Join(json.Unmarshal(d["Namespace"], &namespace), json.Unmarshal(d["Dimensions"], &dimensions),
			json.Unmarshal(d["Metrics"], &metrics)); err != nil {
			return nil, err
		}
		if !regexp.MustCompile(`^[0-9A-Za-z._/#:-]{1,255}$`).MatchString(namespace) || len(dimensions) == 0 {
			return nil, fmt.Errorf("namespace %q, %d sets of dimensions", namespace, len(dimensions))
		}
		for _, m := range metrics {
			if m["Name"] == "" || m["Unit"] != "Count" {
				return nil, fmt.Errorf("metric %v", m)
			}
			var value float64
			if err := json.Unmarshal(root[m["Name"]], &value); err != nil {
				return nil, fmt.Errorf("target of %s: %w", m["Name"], err)
			}
			points = append(points, point{namespace, m["Name"], value, time.UnixMilli(ms).UTC()})
		}
	}
	return points, nil
}

func TestALineIsReadAsOneCount(t *testing.T) {
	t.Parallel()
	for _, name := range []string{metric.RollbackRetrySuccess, metric.RollbackRetryGiveUp, metric.OrphanCompensation} {
		var out bytes.Buffer
		metric.New(&out, fixed).Count(name, 7)
		points, err := read(out.Bytes())
		if err != nil || len(points) != 1 || points[0] != (point{"Holdfast", name, 7, at}) {
			t.Errorf("%s gives %+v, %v", out.String(), points, err)
		}
		if strings.Count(out.String(), "\n") != 1 || !strings.HasSuffix(out.String(), "\n") {
			t.Errorf("%q is not one line", out.String())
		}
	}
}

func TestALineWithoutItsNumberIsNoCount(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	metric.New(&out, fixed).Count("n", 7)
	for _, planted := range [][2]string{{`"n":7`, `"n":"7"`}, {`"n":7`, `"m":7`}, {`"Timestamp"`, `"timestamp"`}, {`"Metrics"`, `"metrics"`}} {
		broken := strings.Replace(out.String(), planted[0], planted[1], 1)
		if points, err := read([]byte(broken)); broken == out.String() || err == nil && len(points) > 0 {
			t.Errorf("%s is read as %+v", broken, points)
		}
	}
}

func TestNothingIsWrittenForNothingOrWithoutAWriter(t *testing.T) {
	t.Parallel()
	var none *metric.Metrics
	none.Count(metric.OrphanCompensation, 1)
	var out bytes.Buffer
	metric.New(&out, fixed).Count(metric.OrphanCompensation, 0)
	if out.Len() > 0 {
		t.Errorf("a count of 0 writes %q", out.String())
	}
}

// pieces is a writer that keeps apart what came in one Write.
type pieces struct{ got [][]byte }

func (p *pieces) Write(b []byte) (int, error) {
	p.got = append(p.got, bytes.Clone(b))
	return len(b), nil
}

func TestCountsAtOnceAreWholeLines(t *testing.T) {
	t.Parallel()
	var out pieces
	m := metric.New(&out, fixed)
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() { m.Count(metric.OrphanCompensation, 1) })
	}
	group.Wait()
	if len(out.got) != 50 {
		t.Fatalf("%d writes", len(out.got))
	}
	for _, line := range out.got {
		if points, err := read(line); err != nil || len(points) != 1 {
			t.Errorf("%s gives %+v, %v", line, points, err)
		}
	}
}

// An alarm on a metric that nobody writes stays silent for ever.
func TestAlarmsWatchMetricsThatAreWritten(t *testing.T) {
	t.Parallel()
	alarms, err := os.ReadFile("../../infra/stacks/alarms.yaml")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("metric.go")
	if err != nil {
		t.Fatal(err)
	}
	watched := regexp.MustCompile(`Namespace: `+metric.Namespace+`\s+MetricName: (\S+)`).FindAllSubmatch(alarms, -1)
	for _, w := range watched {
		if !bytes.Contains(source, []byte(`"`+string(w[1])+`"`)) {
			t.Errorf("an alarm watches %s, which is no metric", w[1])
		}
	}
	if len(watched) < 2 {
		t.Errorf("%d alarms watch our metrics", len(watched))
	}
}

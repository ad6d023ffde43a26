package metric_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"holdfast/shared/metric"
)

func noon() time.Time { return time.UnixMilli(1_780_000_000_000) }

func TestCountIsOneLineInEmbeddedMetricFormat(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	m := metric.New(&out, noon)
	m.Count("ReservationsRefused", 3, map[string]string{"Reason": "SALE_ENDED", "Activity": `quo"te`})
	m.Count("OrdersCreated", 1, nil)
	const want = `{"Activity":"quo\"te","Reason":"SALE_ENDED","ReservationsRefused":3,"_aws":{"Timestamp":1780000000000,"CloudWatchMetrics":` +
		`[{"Namespace":"Holdfast","Dimensions":[["Activity","Reason"]],"Metrics":[{"Name":"ReservationsRefused","Unit":"Count"}]}]}}
{"OrdersCreated":1,"_aws":{"Timestamp":1780000000000,"CloudWatchMetrics":[{"Namespace":"Holdfast","Dimensions":[[]],"Metrics":[{"Name":"OrdersCreated","Unit":"Count"}]}]}}
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestCountNeverFailsWhatItCounts(t *testing.T) {
	t.Parallel()
	metric.New(broken{}, noon).Count("X", 1, nil)
	var none *metric.Metrics
	none.Count("X", 1, nil)
}

package metric_test

import (
	"bytes"
	"fmt"
	"testing"

	"holdfast/shared/metric"
)

// Whoever watches deposits knows their metrics by these names, each by activity.
func TestMetricsOfDepositsAreWrittenUnderTheirNamesByActivity(t *testing.T) {
	var out bytes.Buffer
	m := metric.New(&out, fixed)
	for _, c := range []struct {
		write             func()
		name, unit, value string
	}{
		{func() { m.CountOf(metric.DepositFreeze, "a-1", 2) }, "deposit_freeze_total", "Count", "2"},
		{func() { m.CountOf(metric.DepositConfirm, "a-1", 3) }, "deposit_confirm_total", "Count", "3"},
		{func() { m.CountOf(metric.DepositPenalty, "a-1", 4) }, "deposit_penalty_total", "Count", "4"},
		{func() { m.GaugeOf(metric.DepositAmountFrozen, "a-1", "12.50") }, "deposit_amount_frozen_yuan", "None", "12.50"},
		{func() { m.GaugeOf(metric.DepositAmountFrozen, "a-1", "0") }, "deposit_amount_frozen_yuan", "None", "0"},
	} {
		out.Reset()
		c.write()
		want := fmt.Sprintf(`{"_aws":{"Timestamp":%d,"CloudWatchMetrics":[{"Namespace":%q,"Dimensions":[["activity"]],"Metrics":[{"Name":%q,"Unit":%q}]}]},`+
			`"activity":"a-1",%q:%s}`+"\n", at.UnixMilli(), metric.Namespace, c.name, c.unit, c.name, c.value)
		if out.String() != want {
			t.Errorf("%s was written as\n%swant\n%s", c.name, out.String(), want)
		}
	}
}

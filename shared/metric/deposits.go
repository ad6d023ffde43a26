package metric

import "encoding/json"

// The metrics of deposits, each by activity.
const (
	// DepositFreeze counts deposits that were frozen.
	DepositFreeze = "deposit_freeze_total"
	// DepositConfirm counts deposits that paid for their order.
	DepositConfirm = "deposit_confirm_total"
	// DepositPenalty counts deposits of which a club kept something.
	DepositPenalty = "deposit_penalty_total"
	// DepositAmountFrozen is what the deposits of an activity hold, in its currency.
	DepositAmountFrozen = "deposit_amount_frozen_yuan"
)

// CountOf adds n to a metric of one activity; 0 writes nothing. It is Count with a dimension.
func (m *Metrics) CountOf(name, activityID string, n int) {
	if n != 0 {
		m.write(name, "Count", activityID, n)
	}
}

// GaugeOf says what a metric of one activity stands at: digits are those of a plain decimal number, "12.50".
func (m *Metrics) GaugeOf(name, activityID, digits string) {
	m.write(name, "None", activityID, json.Number(digits))
}

// write writes a figure with the dimension activity. A line that cannot be written is lost, as those of Count.
func (m *Metrics) write(name, kind, activityID string, value any) {
	if m == nil {
		return
	}
	line, err := json.Marshal(map[string]any{
		"_aws": metadata{Timestamp: m.now().UnixMilli(), CloudWatchMetrics: []definition{
			{Namespace: Namespace, Dimensions: [][]string{{"activity"}}, Metrics: []unit{{name, kind}}}}},
		"activity": activityID,
		name:       value,
	})
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _ = m.w.Write(append(line, '\n'))
}

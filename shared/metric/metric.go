package metric

import (
	"encoding/json"
	"io"
	"sync"
	"time"
)

// Namespace is where CloudWatch keeps the metrics.
const Namespace = "Holdfast"

// The metrics of repair and of the daily reconcile of money. Those of repair count orders.
const (
	// RollbackRetrySuccess: Redis was told of a commit at the second try or later, by whoever had committed.
	RollbackRetrySuccess = "seckill_rollback_retry_success"
	// RollbackRetryGiveUp: Redis could not be told while the budget lasted; the minute pass goes on.
	RollbackRetryGiveUp = "seckill_rollback_retry_give_up"
	// OrphanCompensation: the minute pass mended an order that one store knew and the other did not.
	OrphanCompensation = "stock_orphan_compensation_total"
	// DepositReconciliationDiff: a complete round of the daily reconcile found a difference of money.
	DepositReconciliationDiff = "deposit_reconciliation_diff_total"
	// DepositStaleFrozen: a complete round found a deposit FROZEN for 48 hours past its deadline or longer.
	DepositStaleFrozen = "deposit_stale_frozen_count"
)

// Metrics writes counts. It is safe for use by many goroutines; a nil *Metrics writes nothing.
type Metrics struct {
	mu  sync.Mutex
	w   io.Writer
	now func() time.Time
}

// New makes a Metrics that writes to w, each line by one Write, and stamps the lines with now.
func New(w io.Writer, now func() time.Time) *Metrics { return &Metrics{w: w, now: now} }

// definition says, in the words of the format, that a member of the line is a metric.
type definition struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []unit
}

type unit struct{ Name, Unit string }

// metadata is the member "_aws" of a line.
type metadata struct {
	Timestamp         int64 // ms
	CloudWatchMetrics []definition
}

// Count adds n to a metric; 0 writes nothing. A line that cannot be written is lost: no work may fail for want of a figure.
func (m *Metrics) Count(name string, n int) {
	if m == nil || n == 0 {
		return
	}
	line, err := json.Marshal(map[string]any{
		"_aws": metadata{Timestamp: m.now().UnixMilli(), CloudWatchMetrics: []definition{
			{Namespace: Namespace, Dimensions: [][]string{{}}, Metrics: []unit{{name, "Count"}}}}},
		name: n,
	})
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _ = m.w.Write(append(line, '\n'))
}

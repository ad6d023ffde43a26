package order

import (
	"context"
	"fmt"
	"strings"
	"time"

	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// Layer is who mends: 1 whoever caused the change, right after its commit; 2 the minute pass; 3 the full reconcile.
type Layer int

// The layers there are.
const (
	AtOnce      Layer = 1
	EveryMinute Layer = 2
	InFull      Layer = 3
)

// RepairKind is what was mended.
type RepairKind string

// The kinds there are. The last three concern a whole activity and name no order.
const (
	RepairRelease    RepairKind = "RELEASE"    // units of a CANCELLED order given back
	RepairAck        RepairKind = "ACK"        // a live order acknowledged late
	RepairCreate     RepairKind = "CREATE"     // a reservation without a row became an order
	RepairRefuse     RepairKind = "REFUSE"     // a reservation without a row became a CANCELLED row
	RepairAdopt      RepairKind = "ADOPT"      // a live order that Redis had lost
	RepairLoad       RepairKind = "LOAD"       // a set built anew
	RepairRules      RepairKind = "RULES"      // rules that Redis lacked
	RepairAdjustment RepairKind = "ADJUSTMENT" // an adjustment finished
)

// Repair is one thing that was mended.
type Repair struct {
	ActivityID string
	OrderID    *sale.OrderID // nil for a whole activity
	Layer      Layer
	Kind       RepairKind
	BrokenAt   time.Time // since when it had been broken, by the clock of whoever noted it; zero: not known
}

// repairBytes is what one repair takes in a statement at most, its activity's id quoted.
const repairBytes = 300

// RecordRepairs notes what was mended, at the instant at. It is called after the effect, and nothing is decided by what it writes. It
// returns the errors of the driver.
func RecordRepairs(ctx context.Context, q sqltx.Querier, repairs []Repair, at time.Time) error {
	for _, page := range pages(repairs, repairBytes) {
		args := make([]any, 0, 6*len(page))
		for _, r := range page {
			var id, broken any
			if r.OrderID != nil {
				id = r.OrderID[:]
			}
			if !r.BrokenAt.IsZero() {
				broken = r.BrokenAt
			}
			args = append(args, r.ActivityID, id, int(r.Layer), string(r.Kind), broken, at)
		}
		query := `INSERT INTO repair (activity_id, order_id, layer, kind, broken_at, at) VALUES ` +
			strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?, ?, ?), ", len(page)), ", ")
		if _, err := q.ExecContext(ctx, query, args...); err != nil {
			return fmt.Errorf("order: record %d repairs: %w", len(page), err)
		}
	}
	return nil
}

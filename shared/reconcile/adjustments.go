package reconcile

import (
	"context"
	"fmt"

	"holdfast/shared/catalog"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
)

// adjustmentRow is an adjustment as MySQL has it.
type adjustmentRow struct {
	id, ticketType string
	split          sale.Split
	status         catalog.AdjustmentStatus
}

// readAdjustments reads all adjustments of an activity.
func readAdjustments(ctx context.Context, q sqltx.Querier, activityID string) ([]adjustmentRow, error) {
	found, err := q.QueryContext(ctx, `SELECT adjustment_id, ticket_type, COALESCE(split, ''), status FROM stock_adjustment
 WHERE activity_id = ? ORDER BY adjustment_id`, activityID)
	if err != nil {
		return nil, fmt.Errorf("reading adjustments: %w", err)
	}
	defer found.Close()
	var out []adjustmentRow
	for found.Next() {
		var a adjustmentRow
		var split string
		if err := found.Scan(&a.id, &a.ticketType, &split, &a.status); err != nil {
			return nil, fmt.Errorf("reading adjustments: %w", err)
		}
		if a.split, err = sale.ParseSplit(split); err != nil {
			return nil, fmt.Errorf("reading adjustment %s: %w", a.id, err)
		}
		out = append(out, a)
	}
	return out, found.Err()
}

// compareAdjustments pairs the adjustments that MySQL had before the log was scanned with those of the log. An applied one was in Redis
// before it was applied, and one that was refused had been taken back before: what Redis lacks of it, it has lost. Pending ones
// are the minute pass's.
func (p *pass) compareAdjustments(ctx context.Context, before []adjustmentRow) error {
	known := make(map[string]bool)
	for _, a := range before {
		known[a.id] = true
		e := p.log.adjustments[a.id]
		switch {
		case a.status == catalog.Applied && !e.known && !e.undone:
			p.mendAdjustment(ctx, a.id, func() error {
				return p.r.stock.Adopt(ctx, p.a.ID, p.shot.Epoch, stock.Page{Adjustments: []stock.Adjusted{{
					Adjustment: stock.Adjustment{ID: a.id, TicketType: a.ticketType, Delta: a.split.Delta()}, Split: a.split}}})
			})
		case a.status == catalog.Refused && e.known && !e.undone:
			p.mendAdjustment(ctx, a.id, func() error { return p.r.stock.UndoAdjustment(ctx, p.a.ID, a.id) })
		case a.status == catalog.Applied && (e.undone || e.ticketType != a.ticketType || e.split.Compact() != a.split.Compact()):
			p.adjustmentDiffers(a.id, e, &a)
		}
	}
	unknown := make(map[string]adjustmentEntry)
	for id, e := range p.log.adjustments {
		if !known[id] && e.known && !e.undone {
			unknown[id] = e
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	after, err := readAdjustments(ctx, p.r.db, p.a.ID) // some may be new
	if err != nil {
		return err
	}
	for _, a := range after {
		delete(unknown, a.id)
	}
	for id, e := range unknown {
		p.adjustmentDiffers(id, e, nil)
	}
	return nil
}

func (p *pass) mendAdjustment(ctx context.Context, id string, do func() error) {
	p.mends++
	if p.x.run.Mode == Repairing {
		if err := do(); err != nil {
			p.failed = append(p.failed, fmt.Errorf("adjustment %s: %w", id, err))
			return
		}
		p.note(ctx, []order.Repair{{ActivityID: p.a.ID, Layer: order.InFull, Kind: order.RepairAdjustment}})
	}
	if err := p.x.mended(ctx, []Mended{{Kind: MendAdjustment, ActivityID: p.a.ID, AdjustmentID: id}}); err != nil {
		p.failed = append(p.failed, err)
	}
}

func (p *pass) adjustmentDiffers(id string, e adjustmentEntry, row *adjustmentRow) {
	redis, mysql := map[string]any{"found": e.known, "takenBack": e.undone}, map[string]any{"found": row != nil}
	if e.known {
		redis["ticketType"], redis["split"] = e.ticketType, e.split.Compact()
	}
	if row != nil {
		mysql["ticketType"], mysql["split"], mysql["status"] = row.ticketType, row.split.Compact(), row.status
	}
	evidence := map[string]any{"redis": redis, "mysql": mysql}
	p.found = append(p.found, finding{kind: AdjustmentDiffers, subject: id, says: evidence, evidence: evidence})
}

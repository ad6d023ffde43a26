package reconcile

import (
	"context"
	"database/sql"
	"fmt"

	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// What a row of stock_log says about its order in both stores. A new row is pending: 1.
const (
	unjudged     = 2 // it could not be judged or mended for an error
	inconsistent = 3
	consistent   = 4
)

// maxStatuses bounds how many rows a run writes the status of; the next run goes on, and an activity is not passed over before.
const maxStatuses = 200_000

// statusChange is what is written alike to many rows; direction 0 means both rows of an order.
type statusChange struct{ direction, to int }

// statuses collects changes of stock_log.reconciliation_status, of rows that have another one.
type statuses struct {
	changes map[statusChange][]sale.OrderID
	n       int
	left    bool // there was no room for all
}

func newStatuses() *statuses { return &statuses{changes: make(map[statusChange][]sale.OrderID)} }

// set notes the status that a row of the snapshot is to have.
func (s *statuses) set(l *logLine, to int) {
	if l.status != to {
		s.add(statusChange{l.direction, to}, l.id)
	}
}

// setBoth notes the status that both rows of an order are to have.
func (s *statuses) setBoth(id sale.OrderID, to int) { s.add(statusChange{0, to}, id) }

func (s *statuses) add(c statusChange, id sale.OrderID) {
	if s.n >= maxStatuses && c.to == consistent {
		s.left = true
		return
	}
	s.n++
	s.changes[c] = append(s.changes[c], id)
}

// statusPage is how many ids a statement of writeStatuses holds: each takes at most 45 bytes there.
const statusPage = (sqltx.MaxStatement - 512) / 45

// writeStatuses writes what was collected, the consistent first so that a contradiction found later in the run stands. Only rows whose
// status changes are touched.
func (p *pass) writeStatuses(ctx context.Context, s *statuses) error {
	for _, to := range []int{consistent, unjudged, inconsistent} {
		for _, direction := range []int{-1, 1, 0} {
			ids := s.changes[statusChange{direction, to}]
			for pages := 0; len(ids) > 0; pages++ {
				page := ids[:min(len(ids), statusPage)]
				ids = ids[len(page):]
				if err := p.writeStatusPage(ctx, statusChange{direction, to}, page); err != nil {
					return err
				}
				if err := p.alive(ctx, pages); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (p *pass) writeStatusPage(ctx context.Context, c statusChange, ids []sale.OrderID) error {
	low, high := c.direction, c.direction
	if c.direction == 0 {
		low, high = -1, 1
	}
	args := []any{c.to, p.rows.at, low, high, c.to}
	for i := range ids {
		args = append(args, ids[i][:])
	}
	err := p.r.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE stock_log SET reconciliation_status = ?, updated_at = ? WHERE direction BETWEEN ? AND ?
 AND reconciliation_status <> ? AND order_id IN `+sqltx.In(len(ids)), args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("writing statuses of the stock log: %w", err)
	}
	return nil
}

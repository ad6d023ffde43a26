package order

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// Release is what Redis answered when it got the units of a CANCELLED order back: the figures of its counter of the type just before
// and after, if it could tell them.
type Release struct {
	ID            sale.OrderID
	Before, After int // may be below zero while Redis and MySQL disagree
	Known         bool
}

// Released records releases: their instant in the orders, their figures in the stock log. What is recorded already stays as it is.
func Released(ctx context.Context, tx *sql.Tx, list []Release, now time.Time) error {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Release) int { return CompareIDs(a.ID, b.ID) })
	for _, page := range pages(list, releaseBytes) {
		ids := make([]sale.OrderID, len(page))
		for i := range page {
			ids[i] = page[i].ID
		}
		_, err := tx.ExecContext(ctx, `UPDATE trade_order SET released_at = ?, updated_at = ? WHERE status = 'CANCELLED'
 AND released_at IS NULL AND id IN `+sqltx.In(len(ids)), append([]any{now, now}, idArgs(ids)...)...)
		if err != nil {
			return fmt.Errorf("order: released: %w", err)
		}
		if err := figures(ctx, tx, page, now); err != nil {
			return err
		}
	}
	return nil
}

// releaseBytes is what one release takes in the longest statement of this file at most: its id three times and two figures.
const releaseBytes = 3*idBytes + 2*len("WHEN  THEN 2147483647 ")

// figures writes before and after of the +1 rows that have none yet.
func figures(ctx context.Context, tx *sql.Tx, page []Release, now time.Time) error {
	var before, after, ids []any
	for i := range page {
		if r := &page[i]; r.Known {
			before, after = append(before, r.ID[:], r.Before), append(after, r.ID[:], r.After)
			ids = append(ids, r.ID[:])
		}
	}
	if len(ids) == 0 {
		return nil
	}
	whens := "CASE order_id " + strings.Repeat("WHEN ? THEN ? ", len(ids)) + "END"
	args := append(append(append(before, after...), now), ids...)
	_, err := tx.ExecContext(ctx, `UPDATE stock_log SET before_quantity = `+whens+`, after_quantity = `+whens+`, updated_at = ?
 WHERE direction = 1 AND before_quantity IS NULL AND order_id IN `+sqltx.In(len(ids)), args...)
	if err != nil {
		return fmt.Errorf("order: stock log: %w", err)
	}
	return nil
}

package bench

import (
	"context"
	"fmt"
	"time"

	"holdfast/infra/progress"
	"holdfast/shared/catalog"
	"holdfast/shared/sale"
)

// fillPage is how many orders one transaction of fill makes.
const fillPage = 20_000

// fill makes n unpaid orders of one unit each, every one another user's, in a sale that sold nothing yet: in MySQL only, as if they had
// been made an hour ago. Redis learns of them by a load.
func (d *database) fill(ctx context.Context, o Options, activityID string, n int) error {
	a, err := catalog.Get(ctx, d.db, activityID)
	if err != nil {
		return err
	}
	bar := progress.Bar(o.Out, n, fmt.Sprintf("a ledger of %d orders", n))
	defer func() { _ = bar.Finish() }()
	for first := 1; first <= n; first += fillPage {
		count := min(fillPage, n-first+1)
		if err := d.fillFrom(ctx, a, first, count); err != nil {
			return fmt.Errorf("filling a ledger: %w", err)
		}
		_ = bar.Add(count)
	}
	for bucket := range buckets {
		_, err := d.db.ExecContext(ctx, `UPDATE stock_bucket SET frozen = (SELECT COUNT(*) FROM trade_order WHERE activity_id = ?
 AND allocations = ?) WHERE activity_id = ? AND bucket = ?`, a.ID, fmt.Sprintf("%d:1", bucket), a.ID, bucket)
		if err != nil {
			return fmt.Errorf("filling a ledger: %w", err)
		}
	}
	return nil
}

// fillFrom writes the rows of count orders. The sequence table is MariaDB's own.
func (d *database) fillFrom(ctx context.Context, a *sale.Activity, first, count int) error {
	id := fmt.Sprintf(`UNHEX(CONCAT('%012X', '80008000', LPAD(HEX(seq), 12, '0')))`, a.Number)
	from := fmt.Sprintf(` FROM seq_%d_to_%d`, first, first+count-1)
	user, allocations := `CONCAT('past-', LPAD(seq, 7, '0'))`, fmt.Sprintf(`CONCAT(seq %% %d, ':1')`, buckets)
	at := time.Now().UTC().Add(-time.Hour)
	for _, s := range []struct {
		text string
		args []any
	}{
		{`INSERT INTO trade_order (id, activity_id, ticket_type, user_id, quantity, allocations, unit_price, amount, currency, mode, source, status,
 seq, reserved_at, created_at, updated_at) SELECT ` + id + `, ?, ?, ` + user + `, 1, ` + allocations + `, 80, 80, 'CNY', 'TEST', 'SALE',
 'UNPAID', seq, ?, ?, ?` + from, []any{a.ID, standard, at, at, at}},
		{`INSERT INTO order_router (order_id, user_id, activity_id, created_at) SELECT ` + id + `, ` + user + `, ?, ?` + from, []any{a.ID, at}},
		{`INSERT INTO stock_log (order_id, direction, action, activity_id, ticket_type, user_id, allocations, change_quantity, business_type,
 created_at, updated_at) SELECT ` + id + `, -1, 'FREEZE', ?, ?, ` + user + `, ` + allocations + `, -1, 1, ?, ?` + from,
			[]any{a.ID, standard, at, at}},
		{`INSERT INTO purchase_limit (activity_id, user_id, quantity, max_quantity, updated_at) SELECT ?, ` + user + `, 1, 4, ?` + from,
			[]any{a.ID, at}},
	} {
		if _, err := d.db.ExecContext(ctx, s.text, s.args...); err != nil {
			return err
		}
	}
	return nil
}

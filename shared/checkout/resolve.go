package checkout

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// resolveBudget bounds the look-up after a COMMIT without answer, which goes on when the caller's time is over: without it a batch
// that is done would be delivered again.
const resolveBudget = 5 * time.Second

// resolve finds out on another connection whether a batch was committed. The read locks, so that it waits for a transaction that is
// still ending. Rows that are there are reported as they stand; when one is missing, or is another wish's, nothing was committed, and
// cause is returned.
func (c *Checkout) resolve(ctx context.Context, meant Outcome, cause error) (Outcome, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resolveBudget)
	defer cancel()
	all := slices.Concat(meant.Live, meant.Cancelled)
	ids := make([]sale.OrderID, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	var rows map[sale.OrderID]order.Order
	err := c.db.Run(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		rows, err = order.LockMany(ctx, tx, ids)
		return err
	})
	if err != nil && !errors.Is(err, sqltx.ErrCommitUnclear) { // the transaction only read: its own COMMIT decides nothing
		return Outcome{}, fmt.Errorf("%w; and looking it up: %w", cause, err)
	}
	out := Outcome{Poison: meant.Poison, frozen: meant.frozen, told: meant.told}
	for i := range all {
		o := &all[i]
		row, found := rows[o.ID]
		if !found || !row.SameWish(o.ActivityID, o.UserID, o.TicketType, o.Quantity) {
			return Outcome{}, cause
		}
		out.add([]order.Order{row})
	}
	return out, nil
}

package waitlist

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"holdfast/shared/sale"
)

// Postpone gives the offer of a locked order a later end, as the order has it, and returns its entry as it is then. It returns ErrNotFound,
// and changes nothing, when no entry is OFFERED the order; and the errors of the driver.
func Postpone(ctx context.Context, tx *sql.Tx, order sale.OrderID, acceptBy, now time.Time) (*Entry, error) {
	e, err := one(tx.QueryRowContext(ctx, `SELECT `+columns+` FROM waitlist_entry WHERE order_id = ? AND status = 'OFFERED' FOR UPDATE`, order[:]))
	if err != nil {
		return nil, err
	}
	_, err = tx.ExecContext(ctx, `UPDATE waitlist_entry SET accept_by = ?, updated_at = ? WHERE entry_id = ?`, acceptBy, now, e.ID[:])
	if err != nil {
		return nil, fmt.Errorf("waitlist: postpone an offer: %w", err)
	}
	e.AcceptBy, e.UpdatedAt = &acceptBy, now
	return e, nil
}

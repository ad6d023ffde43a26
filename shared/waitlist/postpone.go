package waitlist

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"holdfast/shared/sale"
)

// Postpone gives the offer of a locked order a later end, as the order has it; an order that was offered to nobody changes nothing.
func Postpone(ctx context.Context, tx *sql.Tx, order sale.OrderID, acceptBy, now time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE waitlist_entry SET accept_by = ?, updated_at = ? WHERE order_id = ? AND status = 'OFFERED'`,
		acceptBy, now, order[:])
	if err != nil {
		return fmt.Errorf("waitlist: postpone an offer: %w", err)
	}
	return nil
}

package order

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// BatchID names one transaction that claims ids, so that it can tell its own rows from those that were there before.
type BatchID [16]byte

// Columns that are not named begin with the table's defaults: revision 1, nothing paid, nothing refunded.
const claimHead = `INSERT INTO trade_order (id, reference, activity_id, ticket_type, user_id, quantity, allocations, unit_price,
 amount, currency, mode, source, status, reason, pay_deadline, seq, reserved_at, created_at, updated_at, cancelled_at, batch_id,
 message_id) VALUES `

// A clash changes nothing but locks the row that is there, and unlike INSERT IGNORE it does not silence a CHECK.
const claimTail = ` ON DUPLICATE KEY UPDATE id = id`

// Claim inserts the orders whose ids have no row yet and locks all rows, in order of id: the list must be sorted. It returns
// the ids that were claimed by this call, and the orders of those that somebody else had claimed before. A reference that another
// order of the activity has is left out of the row, and of the order in the list.
func Claim(ctx context.Context, tx *sql.Tx, orders []Order, batch BatchID) (mine map[sale.OrderID]bool, known map[sale.OrderID]Order, err error) {
	inserted, err := insertClaims(ctx, tx, orders, batch)
	if err != nil {
		return nil, nil, err
	}
	mine = make(map[sale.OrderID]bool, len(orders))
	if inserted == int64(len(orders)) { // a row that was there counts 0, so all are new: nothing is left to ask
		for i := range orders {
			mine[orders[i].ID] = true
		}
		return mine, nil, nil
	}
	others := make(map[sale.OrderID]bool)
	if err := lockClaims(ctx, tx, orders, batch, mine, others); err != nil {
		return nil, nil, err
	}
	if err := claimWithoutReference(ctx, tx, orders, batch, mine, others); err != nil {
		return nil, nil, err
	}
	ids := make([]sale.OrderID, 0, len(others))
	for id := range others {
		ids = append(ids, id)
	}
	known, err = LockMany(ctx, tx, ids)
	return mine, known, err
}

// claimWithoutReference claims what has no row after the first try: it was refused for its reference, the only other key that
// can clash.
func claimWithoutReference(ctx context.Context, tx *sql.Tx, orders []Order, batch BatchID, mine, others map[sale.OrderID]bool) error {
	var again []Order
	for i := range orders {
		if id := orders[i].ID; !mine[id] && !others[id] {
			orders[i].Reference = ""
			again = append(again, orders[i])
		}
	}
	if len(again) == 0 {
		return nil
	}
	if _, err := insertClaims(ctx, tx, again, batch); err != nil {
		return err
	}
	if err := lockClaims(ctx, tx, again, batch, mine, others); err != nil {
		return err
	}
	for i := range again {
		if id := again[i].ID; !mine[id] && !others[id] {
			return fmt.Errorf("order: claim: %s was neither inserted nor found", id)
		}
	}
	return nil
}

// insertClaims inserts what has no row yet and counts it.
func insertClaims(ctx context.Context, tx *sql.Tx, orders []Order, batch BatchID) (inserted int64, err error) {
	rows := make([][]any, len(orders))
	for i := range orders {
		o := &orders[i]
		rows[i] = []any{o.ID[:], orNull(o.Reference), o.ActivityID, o.TicketType, o.UserID, o.Quantity, o.Allocations.Compact(),
			decimalText(o.UnitPrice), decimalText(o.Amount), o.Amount.Currency, string(o.Mode), string(o.Source), string(o.Status),
			orNull(string(o.Reason)), orNullTime(o.PayDeadline), o.Seq, o.ReservedAt, o.CreatedAt, o.UpdatedAt,
			orNullTime(o.CancelledAt), batch[:], orNull(o.MessageID)}
	}
	inserted, err = sqltx.ExecRows(ctx, tx, claimHead, rows, claimTail)
	if err != nil {
		return 0, fmt.Errorf("order: claim: %w", err)
	}
	return inserted, nil
}

// lockClaims locks the rows of the orders' ids and sorts the ids by whose batch inserted them.
func lockClaims(ctx context.Context, tx *sql.Tx, orders []Order, batch BatchID, mine, others map[sale.OrderID]bool) error {
	ids := make([]sale.OrderID, len(orders))
	for i := range orders {
		ids[i] = orders[i].ID
	}
	for _, page := range pages(ids, idBytes) {
		rows, err := tx.QueryContext(ctx, `SELECT id, batch_id FROM trade_order WHERE id IN `+sqltx.In(len(page))+` ORDER BY id FOR UPDATE`,
			idArgs(page)...)
		if err != nil {
			return fmt.Errorf("order: claim: %w", err)
		}
		if err := sortClaims(rows, batch, mine, others); err != nil {
			return err
		}
	}
	return nil
}

func sortClaims(rows *sql.Rows, batch BatchID, mine, others map[sale.OrderID]bool) error {
	defer rows.Close()
	for rows.Next() {
		var id, by sql.RawBytes
		if err := rows.Scan(&id, &by); err != nil {
			return fmt.Errorf("order: claim: %w", err)
		}
		if string(by) == string(batch[:]) {
			mine[sale.OrderID(id)] = true
		} else {
			others[sale.OrderID(id)] = true
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("order: claim: %w", err)
	}
	return nil
}

const routerHead = `INSERT INTO order_router (order_id, user_id, activity_id, created_at) VALUES `

// Route writes the router rows of orders that this transaction has claimed, tombstones among them.
func Route(ctx context.Context, tx *sql.Tx, orders []Order) error {
	rows := make([][]any, len(orders))
	for i := range orders {
		o := &orders[i]
		rows[i] = []any{o.ID[:], o.UserID, o.ActivityID, o.CreatedAt}
	}
	if _, err := sqltx.ExecRows(ctx, tx, routerHead, rows, ""); err != nil {
		return fmt.Errorf("order: route: %w", err)
	}
	return nil
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func orNullTime(t *time.Time) any {
	if t == nil {
		return nil
	}
	return *t
}

// decimalText writes an amount as the database keeps it, whatever digits its currency has.
func decimalText(a money.Amount) string { return a.Value.StringFixed(2) }

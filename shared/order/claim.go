package order

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// BatchID names one transaction that claims ids, so that it can tell its own rows from those that were there before.
type BatchID [16]byte

// Columns that are not named begin with the table's defaults: revision 1, nothing paid, nothing refunded, not cancelled. The second
// statement is for lists with a tombstone; most have none, and every value costs the server time.
const (
	claimColumns = `id, reference, activity_id, ticket_type, user_id, quantity, allocations, unit_price, amount, currency, mode, source,
 status, pay_deadline, seq, reserved_at, created_at, updated_at, batch_id, message_id`
	claimHead     = `INSERT INTO trade_order (` + claimColumns + `) VALUES `
	tombstoneHead = `INSERT INTO trade_order (` + claimColumns + `, reason, cancelled_at) VALUES `
)

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
	head, dead := claimHead, slices.ContainsFunc(orders, func(o Order) bool { return o.Status == Cancelled })
	if dead {
		head = tombstoneHead
	}
	inserted, err = sqltx.WriteRows(ctx, tx, head, len(orders), func(i int, r *sqltx.Row) {
		orders[i].write(r, batch)
		if dead {
			r.TextOrNull(string(orders[i].Reason))
			r.InstantOrNull(orders[i].CancelledAt)
		}
	}, claimTail)
	if err != nil {
		return 0, fmt.Errorf("order: claim: %w", err)
	}
	return inserted, nil
}

// write gives the values of claimColumns.
func (o *Order) write(r *sqltx.Row, batch BatchID) {
	r.Bytes(o.ID[:])
	r.TextOrNull(o.Reference)
	r.Text(o.ActivityID)
	r.Text(o.TicketType)
	r.Text(o.UserID)
	r.Int(int64(o.Quantity))
	r.Text(o.Allocations.Compact())
	r.Decimal(decimalText(o.UnitPrice))
	r.Decimal(decimalText(o.Amount))
	r.Text(o.Amount.Currency)
	r.Text(string(o.Mode))
	r.Text(string(o.Source))
	r.Text(string(o.Status))
	r.InstantOrNull(o.PayDeadline)
	r.Int(o.Seq)
	r.Instant(o.ReservedAt)
	r.Instant(o.CreatedAt)
	r.Instant(o.UpdatedAt)
	r.Bytes(batch[:])
	r.TextOrNull(o.MessageID)
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
	_, err := sqltx.WriteRows(ctx, tx, routerHead, len(orders), func(i int, r *sqltx.Row) {
		o := &orders[i]
		r.Bytes(o.ID[:])
		r.Text(o.UserID)
		r.Text(o.ActivityID)
		r.Instant(o.CreatedAt)
	}, "")
	if err != nil {
		return fmt.Errorf("order: route: %w", err)
	}
	return nil
}

// decimalText writes an amount as the database keeps it, whatever digits its currency has.
func decimalText(a money.Amount) string { return a.Value.StringFixed(2) }

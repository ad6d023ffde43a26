package invariant

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"time"

	"holdfast/shared/sale"
)

// moneyPageOrders is how many orders' money is in memory at once.
const moneyPageOrders = 1000

// readMoney checks everything about money of the orders that were read, a range of their ids at a time: the tables that name orders
// are walked in the order of their keys, and only what does not agree yet is kept from one page to the next.
func (r *rows) readMoney(ctx context.Context, tx *sql.Tx, activity *sale.Activity) error {
	r.sort()
	r.money = newMoneyChecks(r.now, activity.Mode)
	from, last := r.ids()
	for first := 0; ; first += moneyPageOrders {
		page := r.sorted[min(first, len(r.sorted)):min(first+moneyPageOrders, len(r.sorted))]
		below, final := last, first+moneyPageOrders >= len(r.sorted)
		if !final {
			next := r.sorted[first+moneyPageOrders].id
			below = next[:]
		}
		p := &moneyPage{orders: page, deposits: make(map[sale.OrderID]*depositRow)}
		for _, read := range []func(context.Context, *sql.Tx, []byte, []byte) error{p.readEntries, p.readDeposits, p.readPayments,
			p.readRefunds} {
			if err := read(ctx, tx, from, below); err != nil {
				return fmt.Errorf("invariant: read money: %w", err)
			}
		}
		r.money.add(p)
		if final {
			break
		}
		from = bytes.Clone(below)
	}
	if activity.Mode != sale.Live {
		return nil
	}
	return r.readWallets(ctx, tx)
}

// readWallets checks the wallets of everybody who has an order here. The accounts belong to all sales: what they must be is nothing that
// the rows of one sale could say, and package money adds them up once a day.
func (r *rows) readWallets(ctx context.Context, tx *sql.Tx) error {
	users := make(map[string]bool)
	for _, o := range r.sorted {
		users[o.userID] = true
	}
	wallets := newWalletChecks("M1", "M2")
	if err := wallets.check(ctx, tx, sortedUsers(users)); err != nil {
		return err
	}
	r.wallets = wallets.equations()
	return nil
}

func (p *moneyPage) readEntries(ctx context.Context, tx *sql.Tx, from, below []byte) error {
	return each(ctx, tx, func(scan func(...any) error) error {
		var e entryRow
		var id []byte
		if err := scan(&e.kind, &e.reference, &id, &e.amount, &e.from, &e.to); err != nil {
			return err
		}
		var err error
		e.orderID, err = sale.OrderIDFromBytes(id)
		p.entries = append(p.entries, e)
		return err
	}, `SELECT type, reference, order_id, CAST(amount * 100 AS SIGNED), from_account, to_account
		FROM wallet_log WHERE order_id >= ? AND order_id < ? ORDER BY order_id, entry_id`, from, below)
}

func (p *moneyPage) readDeposits(ctx context.Context, tx *sql.Tx, from, below []byte) error {
	return each(ctx, tx, func(scan func(...any) error) error {
		var d depositRow
		var id []byte
		err := scan(&id, &d.status, &d.club, &d.deposit, &d.consumed, &d.supplement, &d.penalty, &d.refunded, &d.penaltyReturn, &d.deadline)
		if err != nil {
			return err
		}
		orderID, err := sale.OrderIDFromBytes(id)
		p.deposits[orderID] = &d
		return err
	}, `SELECT order_id, status, club_id, CAST(deposit * 100 AS SIGNED), CAST(consumed * 100 AS SIGNED), CAST(supplement * 100 AS SIGNED),
		CAST(penalty * 100 AS SIGNED), CAST(refunded * 100 AS SIGNED), CAST(penalty_reversed * 100 AS SIGNED), confirm_deadline
		FROM deposit_record WHERE order_id >= ? AND order_id < ?`, from, below)
}

func (p *moneyPage) readPayments(ctx context.Context, tx *sql.Tx, from, below []byte) error {
	return each(ctx, tx, func(scan func(...any) error) error {
		var one paymentRow
		var id []byte
		var disposition sql.NullString
		var made []byte
		if err := scan(&one.id, &id, &one.method, &one.status, &disposition, &made, &one.amount, &one.expiresAt, &one.succeededAt); err != nil {
			return err
		}
		var err error
		if len(made) > 0 {
			if one.newOrderID, err = sale.OrderIDFromBytes(made); err != nil {
				return err
			}
		}
		one.orderID, err = sale.OrderIDFromBytes(id)
		one.disposition = disposition.String
		p.payments = append(p.payments, one)
		return err
	}, `SELECT payment_id, order_id, method, status, disposition, new_order_id, CAST(amount * 100 AS SIGNED), expires_at, succeeded_at
		FROM payment WHERE order_id >= ? AND order_id < ? ORDER BY order_id, payment_id`, from, below)
}

func (p *moneyPage) readRefunds(ctx context.Context, tx *sql.Tx, from, below []byte) error {
	return each(ctx, tx, func(scan func(...any) error) error {
		var f refundRow
		var id []byte
		var payment sql.NullString
		var surplus, penalty sql.NullBool
		var due time.Time
		if err := scan(&f.id, &id, &payment, &surplus, &penalty, &f.target, &f.status, &f.amount, &due); err != nil {
			return err
		}
		var err error
		f.orderID, err = sale.OrderIDFromBytes(id)
		f.paymentID, f.surplus, f.penalty, f.dueAt = payment.String, surplus.Bool, penalty.Bool, due
		p.refunds = append(p.refunds, f)
		return err
	}, `SELECT refund_id, order_id, payment_id, surplus, penalty, target, status, CAST(amount * 100 AS SIGNED), due_at
		FROM refund WHERE order_id >= ? AND order_id < ? ORDER BY order_id, refund_id`, from, below)
}

package money

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/catalog"
	"holdfast/shared/money"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

// Settlement is the money of one sale, all of one moment.
type Settlement struct {
	ActivityID string
	Mode       sale.Mode // a TEST sale has orders and deposits and moved no money
	Currency   string
	At         time.Time
	Orders     []OrdersOf // by status: UNPAID, PAID, CANCELLED; a status that no order has is left out
	Paid       money.Amount
	Refunded   money.Amount
	Net        money.Amount // paid less refunded
	Deposits   []DepositsOf
	Clubs      []Club
}

// OrdersOf are the orders of a status.
type OrdersOf struct {
	Status   order.Status
	Orders   int
	Units    int
	Amount   money.Amount // what they cost
	Paid     money.Amount
	Refunded money.Amount
}

// DepositsOf are the deposits of a status.
type DepositsOf struct {
	Status     string
	Deposits   int
	Deposit    money.Amount // what was frozen
	Consumed   money.Amount
	Supplement money.Amount
	Penalty    money.Amount
	Refunded   money.Amount
}

// Club is what a club keeps.
type Club struct {
	ClubID    string
	Penalties money.Amount
	Reversed  money.Amount // what of that was given back
	Net       money.Amount
}

// Settle reads the money of a sale. It returns catalog.ErrNotFound and the errors of the database.
func Settle(ctx context.Context, db *sqltx.DB, activityID string) (*Settlement, error) {
	a, err := catalog.Get(ctx, db, activityID)
	if err != nil {
		return nil, err
	}
	snapshots, err := db.Snapshots(ctx)
	if err != nil {
		return nil, err
	}
	defer snapshots.Close()
	s := &Settlement{ActivityID: a.ID, Mode: a.Mode, Currency: a.Currency, Paid: money.Zero(a.Currency), Refunded: money.Zero(a.Currency)}
	err = snapshots.Read(ctx, func(tx *sql.Tx) (err error) {
		if s.At, err = db.Now(ctx, tx); err != nil {
			return err
		}
		if err := s.readOrders(ctx, tx, a.Number); err != nil {
			return err
		}
		if err := s.readDeposits(ctx, tx); err != nil {
			return err
		}
		return s.readClubs(ctx, tx)
	})
	if err != nil {
		return nil, err
	}
	s.Net = s.of(s.Paid.Value.Sub(s.Refunded.Value))
	return s, nil
}

func (s *Settlement) of(value decimal.Decimal) money.Amount { return money.Of(value, s.Currency) }

func (s *Settlement) readOrders(ctx context.Context, tx *sql.Tx, number int64) error {
	above, below := order.Range(number)
	rows, err := tx.QueryContext(ctx, `SELECT status, COUNT(*), SUM(quantity), SUM(amount), SUM(paid), SUM(refunded) FROM trade_order
 WHERE id > ? AND id < ? GROUP BY status ORDER BY status DESC`, above[:], below[:])
	if err != nil {
		return fmt.Errorf("money: read orders: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var o OrdersOf
		var amount, paid, refunded decimal.Decimal
		if err := rows.Scan(&o.Status, &o.Orders, &o.Units, &amount, &paid, &refunded); err != nil {
			return fmt.Errorf("money: read orders: %w", err)
		}
		o.Amount, o.Paid, o.Refunded = s.of(amount), s.of(paid), s.of(refunded)
		s.Orders = append(s.Orders, o)
		s.Paid, s.Refunded = s.of(s.Paid.Value.Add(paid)), s.of(s.Refunded.Value.Add(refunded))
	}
	return rows.Err()
}

func (s *Settlement) readDeposits(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, `SELECT status, COUNT(*), SUM(deposit), SUM(consumed), SUM(supplement), SUM(penalty), SUM(refunded)
 FROM deposit_record WHERE activity_id = ? GROUP BY status ORDER BY status`, s.ActivityID)
	if err != nil {
		return fmt.Errorf("money: read deposits: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var d DepositsOf
		var deposit, consumed, supplement, penalty, refunded decimal.Decimal
		if err := rows.Scan(&d.Status, &d.Deposits, &deposit, &consumed, &supplement, &penalty, &refunded); err != nil {
			return fmt.Errorf("money: read deposits: %w", err)
		}
		d.Deposit, d.Consumed, d.Supplement = s.of(deposit), s.of(consumed), s.of(supplement)
		d.Penalty, d.Refunded = s.of(penalty), s.of(refunded)
		s.Deposits = append(s.Deposits, d)
	}
	return rows.Err()
}

func (s *Settlement) readClubs(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, `SELECT club_id, SUM(penalty), SUM(penalty_reversed) FROM deposit_record WHERE activity_id = ?
 GROUP BY club_id ORDER BY club_id`, s.ActivityID)
	if err != nil {
		return fmt.Errorf("money: read clubs: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var c Club
		var penalties, reversed decimal.Decimal
		if err := rows.Scan(&c.ClubID, &penalties, &reversed); err != nil {
			return fmt.Errorf("money: read clubs: %w", err)
		}
		c.Penalties, c.Reversed, c.Net = s.of(penalties), s.of(reversed), s.of(penalties.Sub(reversed))
		s.Clubs = append(s.Clubs, c)
	}
	return rows.Err()
}

package payment_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

// Whoever decides has locked the payment. One who decides by an older picture of it is stopped by the statement.
func TestWhatBecomesOfASuccessIsDecidedOnceByTheRowItself(t *testing.T) {
	t.Parallel()
	db := sqltx.New(testenv.MySQL(t), nil)
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	p := &payment.Payment{ID: "pay_1", OrderID: sale.OrderID{15: 1}, ActivityID: "A", UserID: "ann", Mode: sale.Live, Method: payment.ByProvider,
		Amount: money.Of(decimal.RequireFromString("12.50"), "CNY"), Status: payment.Pending, CreatedAt: now, UpdatedAt: now}
	in := func(do func(ctx context.Context, tx *sql.Tx) error) error { return db.Run(t.Context(), do) }
	err := in(func(ctx context.Context, tx *sql.Tx) error {
		if err := payment.Insert(ctx, tx, p); err != nil {
			return err
		}
		return payment.Succeed(ctx, tx, p, "ch_1", now)
	})
	if err != nil {
		t.Fatal(err)
	}
	old := *p
	if err := in(func(ctx context.Context, tx *sql.Tx) error {
		return payment.Decide(ctx, tx, p, payment.ToOrder, nil, now)
	}); err != nil {
		t.Fatal(err)
	}
	err = in(func(ctx context.Context, tx *sql.Tx) error {
		return payment.Decide(ctx, tx, &old, payment.ToRefund, nil, now)
	})
	if !errors.Is(err, payment.ErrChanged) {
		t.Errorf("decided again: %v", err)
	}
	if stored, err := payment.Get(t.Context(), db, p.ID); err != nil || stored.Disposition != payment.ToOrder {
		t.Errorf("stored %+v, %v", stored, err)
	}
}

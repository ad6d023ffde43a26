package reconcile_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/reconcile"
	"holdfast/shared/wallet"
)

// After a deadline of thousands of deposits the accounts are rolled up by the next pass, and every balance stays what it was.
func TestMinutePassRollsUpWhatAccountsReceived(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	const movements = 2300
	var list []wallet.Movement
	for i := range movements {
		list = append(list, wallet.Movement{Type: wallet.PaymentManual, Reference: fmt.Sprint(i), UserID: "u",
			Amount: money.Of(decimal.New(1, -2), "CNY")})
	}
	err := w.db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error { return wallet.Apply(ctx, tx, list, time.Now()) })
	if err != nil {
		t.Fatal(err)
	}
	house := func() string {
		a, err := wallet.AccountBalance(t.Context(), w.db, wallet.House, "CNY")
		if err != nil {
			t.Fatal(err)
		}
		return a.String()
	}
	before := house()
	for pass, want := range []int{2 * movements, 0} {
		sum, err := reconcile.NewCompensate(w.reconciler, reconcile.CompensateConfig{}).Run(t.Context())
		if err != nil || sum.RolledUp != want {
			t.Errorf("pass %d rolled up %d, want %d: %v", pass, sum.RolledUp, want, err)
		}
		if house() != before || before != "23.00" {
			t.Errorf("HOUSE went from %s to %s", before, house())
		}
	}
	var left int
	if err := w.db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM account_inbox`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d rows are left, %v", left, err)
	}
}

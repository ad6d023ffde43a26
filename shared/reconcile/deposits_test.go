package reconcile_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/alert"
	"holdfast/shared/checkout"
	"holdfast/shared/metric"
	"holdfast/shared/money"
	"holdfast/shared/reconcile"
	"holdfast/shared/sale"
	"holdfast/shared/wallet"
)

// depositWorld sells seats for 100.00 with a deposit of 30.00, which is due in a day.
func depositWorld(t *testing.T) *world {
	ratio := decimal.RequireFromString("0.3")
	return newWorld(t, plan{price: "100.00", deposit: &sale.DepositPolicy{Ratio: &ratio, PenaltyRatio: decimal.RequireFromString("0.2"),
		Cancellation: sale.CancelPenalty, ClubID: "club", ConfirmDeadline: time.Now().Add(24 * time.Hour),
		RemindAt: time.Now().Add(22 * time.Hour), OfferLead: sale.MinOfferLead}})
}

// topUp puts money into a user's wallet.
func (w *world) topUp(user string, yuan int64) {
	w.t.Helper()
	err := w.db.Run(w.t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return wallet.Apply(ctx, tx, []wallet.Movement{{Type: wallet.TopUp, Reference: fmt.Sprint(user, yuan), UserID: user,
			Amount: money.Of(decimal.NewFromInt(yuan), "CNY")}}, time.Now())
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// freeze lets a user take so many seats, each with a deposit of its own.
func (w *world) freeze(user string, seats int) {
	w.t.Helper()
	w.topUp(user, int64(30*seats))
	var batch []checkout.Message
	for i := range seats {
		batch = append(batch, w.mustReserve(user, fmt.Sprint(i), 1))
	}
	if out := w.create(batch...); len(out.Live) != seats {
		w.t.Fatalf("%s holds %+v", user, out)
	}
}

func TestOverdueDepositsBehindThoseThatFailAreSettledInOnePass(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]int{"one": 1, "most of a page": 3, "more than a page": 7} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := depositWorld(t)
			w.freeze("bad", bad)
			w.freeze("good", 10)
			w.freeze("fine", 8)
			for _, statement := range []string{ // a foreign hand
				`UPDATE wallet SET frozen = 1 WHERE user_id = 'bad'`,
				`UPDATE deposit_record SET confirm_deadline = confirm_deadline - INTERVAL 1 MINUTE WHERE user_id = 'bad'`,
			} {
				if _, err := w.db.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			w.advance(24*time.Hour + time.Minute)
			pass := reconcile.NewCompensate(w.reconciler, reconcile.CompensateConfig{Deposits: 4})
			for n, settled := range []int{18, 0} {
				sum, err := pass.Run(t.Context())
				if err == nil || sum.Deposits.Settled != settled {
					t.Errorf("pass %d settled %d, want %d, and failed with %v", n+1, sum.Deposits.Settled, settled, err)
				}
				raised := w.count(`SELECT COUNT(*) FROM alert WHERE kind = ? AND occurrences = ?`, string(alert.CompensationStuck), n+1)
				if raised != bad {
					t.Errorf("pass %d: %d alerts were raised %d times, want %d", n+1, raised, n+1, bad)
				}
			}
			if left := w.count(`SELECT COUNT(*) FROM deposit_record WHERE status = 'FROZEN'`); left != bad {
				t.Errorf("%d are FROZEN, want %d", left, bad)
			}
			// What failed is tried again: once its rows agree, it is settled.
			if _, err := w.db.ExecContext(t.Context(), `UPDATE wallet SET frozen = ? WHERE user_id = 'bad'`, 30*bad); err != nil {
				t.Fatal(err)
			}
			if sum, err := pass.Run(t.Context()); err != nil || sum.Deposits.Settled != bad {
				t.Errorf("mended: %+v, %v", sum.Deposits, err)
			}
		})
	}
}

func TestWhatDepositsHoldReturnsToNothingOnceTheLastIsSettled(t *testing.T) {
	t.Parallel()
	w := depositWorld(t)
	var printed bytes.Buffer
	w.reconciler.CountBy(metric.New(&printed, time.Now))
	gauges := func() (out []string) {
		t.Helper()
		printed.Reset()
		w.compensate()
		for line := range strings.Lines(printed.String()) {
			if _, value, found := strings.Cut(line, `"`+metric.DepositAmountFrozen+`":`); found {
				out = append(out, strings.TrimRight(value, "}\n"))
			}
		}
		return out
	}
	if got := gauges(); len(got) != 0 {
		t.Errorf("nothing was ever held: %v", got)
	}
	w.freeze("u", 2)
	if got := gauges(); fmt.Sprint(got) != "[60.00]" {
		t.Errorf("held: %v", got)
	}
	w.advance(24*time.Hour + time.Minute)
	if got := gauges(); fmt.Sprint(got) != "[0]" {
		t.Errorf("settled: %v", got)
	}
	w.advance(time.Hour)
	if got := gauges(); len(got) != 0 {
		t.Errorf("an hour later it is still said: %v", got)
	}
}

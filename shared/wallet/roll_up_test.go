package wallet_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/shopspring/decimal"

	"holdfast/shared/wallet"
)

func TestRollUpMovesSumsAndChangesNoBalance(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(move(wallet.TopUp, "1", "u", "100.00"), move(wallet.PaymentWallet, "2", "u", "30.00"), move(wallet.DepositFreeze, "3", "u", "20.00"),
		move(wallet.DepositPenalty, "3", "u", "5.00"), move(wallet.PaymentReceived, "4", "u", "7.77"))
	want := map[string]string{"OUTSIDE": "-100.00", "HOUSE": "30.00", "CLUB:c1": "5.00", "PROVIDER": "-7.77", "SUSPENSE": "7.77",
		"AVAIL": "50.00", "FROZEN": "15.00", "CLUB:other": "0.00"}
	check := func(when string) {
		t.Helper()
		for account, balance := range want {
			if got := w.account(account); got != balance {
				t.Errorf("%s: %s holds %s, want %s", when, account, got, balance)
			}
		}
		w.sound()
	}
	check("before")
	for i, rows := range []int{2, 2, 1, 0, 0} {
		n, err := wallet.RollUp(t.Context(), w.db, 2)
		if err != nil || n != rows {
			t.Errorf("call %d rolled up %d rows, want %d: %v", i, n, rows, err)
		}
		check(fmt.Sprint("after call ", i))
	}
	if n := w.count(`SELECT COUNT(*) FROM account_inbox`); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	if n := w.count(`SELECT COUNT(*) FROM account`); n != 5 {
		t.Errorf("%d accounts, want 5", n)
	}
}

func TestRollUpLeavesAloneWhatIsNotCommittedAndFindsItLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tx, err := w.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	// The row of the lower number is committed after that of the higher.
	if err := wallet.Apply(t.Context(), tx, []wallet.Movement{move(wallet.TopUp, "early", "u", "1.00")}, noon); err != nil {
		t.Fatal(err)
	}
	w.must(move(wallet.TopUp, "late", "v", "10.00"))
	if n, err := wallet.RollUp(t.Context(), w.db, 100); err != nil || n != 1 {
		t.Errorf("%d rows, %v; want the committed one", n, err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if n, err := wallet.RollUp(t.Context(), w.db, 100); err != nil || n != 1 {
		t.Errorf("%d rows, %v; want the one that came late", n, err)
	}
	if got := w.account("OUTSIDE"); got != "-11.00" {
		t.Errorf("OUTSIDE holds %s", got)
	}
	w.sound()
}

// Movements, several roll-ups and readers at the same time: no reading of the balance ever misses a row or counts one twice.
func TestRollUpBesideMovementsLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const writers, each = 8, 150
	var done atomic.Bool
	var others, movers sync.WaitGroup
	var rolled, readings atomic.Int64
	for range 3 {
		others.Go(func() {
			for !done.Load() {
				n, err := wallet.RollUp(t.Context(), w.db, 1+rand.IntN(60))
				if err != nil {
					t.Error(err)
					return
				}
				rolled.Add(int64(n))
			}
		})
	}
	for range 2 {
		others.Go(func() { // PROVIDER only goes down and HOUSE only up, each by whole movements.
			lastProvider, lastHouse := decimal.Zero, decimal.Zero
			for !done.Load() {
				provider, err1 := wallet.AccountBalance(t.Context(), w.db, wallet.Provider, "CNY")
				house, err2 := wallet.AccountBalance(t.Context(), w.db, wallet.House, "CNY")
				if err1 != nil || err2 != nil || provider.Value.GreaterThan(lastProvider) || house.Value.LessThan(lastHouse) {
					t.Errorf("PROVIDER went from %s to %s, HOUSE from %s to %s: %v %v", lastProvider, provider, lastHouse, house, err1, err2)
					return
				}
				lastProvider, lastHouse = provider.Value, house.Value
				readings.Add(1)
			}
		})
	}
	for i := range writers {
		movers.Go(func() {
			for j := range each {
				reference := fmt.Sprint(i, "/", j)
				if err := w.apply(move(wallet.PaymentReceived, reference, "u", "1.01"), move(wallet.PaymentApplied, reference, "u", "1.01")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	movers.Wait()
	done.Store(true)
	others.Wait()
	want := decimal.RequireFromString("1.01").Mul(decimal.NewFromInt(writers * each)).StringFixed(2)
	if w.account("HOUSE") != want || w.account("PROVIDER") != "-"+want || w.account("SUSPENSE") != "0.00" {
		t.Errorf("HOUSE %s, PROVIDER %s, SUSPENSE %s; want %s, -%s, 0.00", w.account("HOUSE"), w.account("PROVIDER"), w.account("SUSPENSE"), want, want)
	}
	if left := w.count(`SELECT COUNT(*) FROM account_inbox`); rolled.Load()+int64(left) != 4*writers*each || rolled.Load() == 0 || readings.Load() == 0 {
		t.Errorf("%d rows were rolled up and %d are left of %d; %d readings", rolled.Load(), left, 4*writers*each, readings.Load())
	}
	w.sound()
}

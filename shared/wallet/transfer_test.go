package wallet_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/shopspring/decimal"

	"holdfast/shared/audit"
	"holdfast/shared/fault"
	"holdfast/shared/money"
	"holdfast/shared/wallet"
)

var by = audit.Entry{Operator: "op", RequestID: "r1"}

func (w *world) carry(kind wallet.Type, reference, user, amount string) (wallet.Entry, bool, error) {
	return wallet.Carry(w.t.Context(), w.db, wallet.Transfer{Type: kind, Reference: reference, UserID: user, Amount: yuan(amount)}, by)
}

func (w *world) audits() int { return w.count(`SELECT COUNT(*) FROM audit_log`) }

func TestTransferIsCarriedOutOnceWithOneAuditRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 3 {
		e, created, err := w.carry(wallet.TopUp, "bank 1", "u", "80.00")
		if err != nil || created != (i == 0) || e.Type != wallet.TopUp || e.AvailableDelta.String() != "80.00" || e.After.Available.String() != "80.00" {
			t.Errorf("top-up %d: %+v, %v, %v", i, e, created, err)
		}
		e, created, err = w.carry(wallet.Withdrawal, "bank 1", "u", "30.00")
		if err != nil || created != (i == 0) || e.AvailableDelta.String() != "-30.00" || e.After.Available.String() != "50.00" {
			t.Errorf("withdrawal %d: %+v, %v, %v", i, e, created, err)
		}
	}
	w.holds("u", "50.00", "0.00", 2)
	if w.audits() != 2 {
		t.Errorf("%d audit rows", w.audits())
	}
	for action, detail := range map[string]string{
		"wallet.top-up":   `{"amount":{"amount":"80.00","currency":"CNY"},"reference":"bank 1"}`,
		"wallet.withdraw": `{"amount":{"amount":"30.00","currency":"CNY"},"reference":"bank 1"}`,
	} {
		if n := w.count(`SELECT COUNT(*) FROM audit_log WHERE operator = 'op' AND request_id = 'r1' AND action = ? AND subject = 'u' AND detail = ?`,
			action, detail); n != 1 {
			t.Errorf("%d audit rows of %s", n, action)
		}
	}
	w.sound()
}

func TestSameTransferAtOnceIsOneWithOneAuditRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for round := range 5 {
		user := fmt.Sprint("u", round)
		var mu sync.Mutex
		made := 0
		ok, _, others := atOnce(8, func(int) error {
			_, created, err := w.carry(wallet.TopUp, user, user, "80.00")
			mu.Lock()
			defer mu.Unlock()
			if created {
				made++
			}
			return err
		})
		if ok != 8 || made != 1 || w.audits() != round+1 {
			t.Errorf("%d ok, %d made it, %d audit rows, %v", ok, made, w.audits(), others)
		}
		w.holds(user, "80.00", "0.00", 1)
	}
}

func TestRefusedTransferMovesNothingAndSaysWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, _, err := w.carry(wallet.TopUp, "1", "u", "10.00"); err != nil {
		t.Fatal(err)
	}
	w.must(move(wallet.DepositFreeze, "o", "u", "4.00"))
	before, audits := w.written(), w.audits()
	carry := func(kind wallet.Type, reference, user string, a money.Amount) error {
		_, _, err := wallet.Carry(t.Context(), w.db, wallet.Transfer{Type: kind, Reference: reference, UserID: user, Amount: a}, by)
		return err
	}
	for name, c := range map[string]struct {
		err  error
		code fault.Code
		is   error
	}{
		"more than is available":     {carry(wallet.Withdrawal, "2", "u", yuan("6.01")), fault.InsufficientBalance, wallet.ErrShort},
		"a wallet that is not there": {carry(wallet.Withdrawal, "3", "v", yuan("0.01")), fault.InsufficientBalance, wallet.ErrShort},
		"another amount":             {carry(wallet.TopUp, "1", "u", yuan("10.01")), fault.MovementExists, wallet.ErrConflict},
		"another user":               {carry(wallet.TopUp, "1", "v", yuan("10.00")), fault.MovementExists, wallet.ErrConflict},
		"another currency":           {carry(wallet.TopUp, "1", "u", money.Of(decimal.NewFromInt(10), "EUR")), fault.MovementExists, wallet.ErrConflict},
		"nothing":                    {carry(wallet.TopUp, "4", "u", yuan("0.00")), fault.ValidationFailed, wallet.ErrMalformed},
		"less than nothing":          {carry(wallet.TopUp, "5", "u", yuan("-1.00")), fault.ValidationFailed, wallet.ErrMalformed},
		"three decimals":             {carry(wallet.TopUp, "6", "u", yuan("1.005")), fault.ValidationFailed, wallet.ErrMalformed},
		"beyond the column":          {carry(wallet.TopUp, "7", "u", yuan("10000000000000000.00")), fault.ValidationFailed, wallet.ErrMalformed},
		"more than fits":             {carry(wallet.TopUp, "8", "u", yuan("9999999999999999.99")), fault.ValidationFailed, wallet.ErrFull},
		"no reference":               {carry(wallet.TopUp, "", "u", yuan("1.00")), fault.ValidationFailed, wallet.ErrMalformed},
	} {
		if fault.Of(c.err) != c.code || !errors.Is(c.err, c.is) {
			t.Errorf("%s: %v, want %s", name, c.err, c.code)
		}
	}
	if err := carry(wallet.PaymentManual, "9", "u", yuan("1.00")); !errors.Is(err, wallet.ErrMalformed) {
		t.Errorf("a payment passed for a transfer: %v", err)
	}
	if w.written() != before || w.audits() != audits {
		t.Errorf("%d rows became %d, %d audit rows %d", before, w.written(), audits, w.audits())
	}
	w.holds("u", "6.00", "4.00", 2)
	w.sound()
}

package wallet_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"holdfast/shared/money"
	"holdfast/shared/wallet"
)

// Amounts go from JSON through the ledger and back to JSON without losing a hundredth.
func TestAmountsComeBackExactly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, text := range []string{"9999999999.99", "49.99", "0.01", "9007199254740993.01", "9999999999999999.99"} {
		in := `{"amount":"` + text + `","currency":"CNY"}`
		user := fmt.Sprint("u", i)
		var a money.Amount
		if err := json.Unmarshal([]byte(in), &a); err != nil {
			t.Fatal(err)
		}
		m := move(wallet.TopUp, user, user, "0")
		m.Amount = a
		w.must(m)
		b, err := wallet.Get(t.Context(), w.db, key(user))
		if err != nil {
			t.Fatal(err)
		}
		list, err := wallet.List(t.Context(), w.db, user, 1<<62, 10)
		if err != nil || len(list) != 1 {
			t.Fatal(len(list), err)
		}
		for what, got := range map[string]money.Amount{"balance": b.Available, "entry": list[0].AvailableDelta, "after": list[0].After.Available} {
			if out, err := json.Marshal(got); err != nil || string(out) != in {
				t.Errorf("%s of %s: %s, %v", what, in, out, err)
			}
		}
	}
}

func TestThreeTimesTenCentsAreThirtyInWalletAndAccountRolledUpOrNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 3 {
		w.must(move(wallet.PaymentManual, fmt.Sprint(i), "u", "0.10"), move(wallet.TopUp, fmt.Sprint(i), "u", "0.10"))
		if _, err := wallet.RollUp(t.Context(), w.db, 2); err != nil {
			t.Fatal(err)
		}
	}
	w.holds("u", "0.30", "0.00", 3)
	if house, outside := w.account("HOUSE"), w.account("OUTSIDE"); house != "0.30" || outside != "-0.60" {
		t.Errorf("HOUSE %s, OUTSIDE %s", house, outside)
	}
	w.sound()
}

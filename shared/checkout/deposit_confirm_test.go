package checkout_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/deposit"
	"holdfast/shared/fault"
	"holdfast/shared/notice"
	"holdfast/shared/order"
)

func TestConfirmedDepositPaysAndTheRestIsSupplementedOrGivenBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ price, deposit, money, seat, purse, house, told string }{
		"price above the deposit": {"100.00", "30.00", "100.00", "PAID DEDUCTED 30.00 0.00 0.00 70.00", "0.00 0.00", "100.00",
			"refund 0.00, supplement 70.00"},
		"price below the deposit": {"20.00", "30.00", "30.00", "PAID DEDUCTED 20.00 0.00 10.00 0.00", "10.00 0.00", "20.00",
			"refund 10.00, supplement 0.00"},
		"price like the deposit": {"30.00", "30.00", "30.00", "PAID DEDUCTED 30.00 0.00 0.00 0.00", "0.00 0.00", "30.00",
			"refund 0.00, supplement 0.00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, plan{price: c.price, deposit: byRatio(perUnit(c.deposit))})
			w.topUp(c.money, "u")
			o := w.buy("u", "k", 1)
			if err := w.confirm("u", o.ID); err != nil {
				t.Fatal(err)
			}
			w.wantSeat(o.ID, c.seat)
			w.wantPurse("u", c.purse)
			w.wantAccount("HOUSE", c.house)
			if got := w.get(o.ID); got.PaidBy != order.PaidByDeposit || got.Paid.String() != c.price {
				t.Errorf("paid %s by %s", got.Paid, got.PaidBy)
			}
			w.wantTold(notice.DepositConfirmed, o.ID, "DEDUCTED 30.00, penalty -, "+c.told)
			w.agree()
			w.moneyHolds()
		})
	}
}

func TestConfirmationWithTooLittleMoneyMovesNothingAndMaySucceedLater(t *testing.T) {
	t.Parallel()
	w := depositWorld(t)
	w.topUp("99.99", "u")
	o := w.buy("u", "k", 1)
	wish := func() *checkout.Wish { return w.wish("u", "same") }
	if _, err := w.checkout.ConfirmDeposit(t.Context(), o.ID, "u", wish()); !errors.Is(err, checkout.ErrInsufficientBalance) {
		t.Fatalf("%v, want too little money", err)
	}
	w.wantSeat(o.ID, "UNPAID FROZEN 0.00 0.00 0.00 0.00")
	w.wantPurse("u", "69.99 30.00")
	w.agree()
	w.topUp("0.01", "u")
	if _, err := w.checkout.ConfirmDeposit(t.Context(), o.ID, "u", wish()); err != nil {
		t.Fatal(err)
	}
	w.wantPurse("u", "0.00 0.00")
	w.moneyHolds()
}

func TestConfirmationTwiceIsAnsweredTheSameAndTakesOnce(t *testing.T) {
	t.Parallel()
	w := depositWorld(t)
	w.topUp("200.00", "u")
	o := w.buy("u", "k", 1)
	first := w.wish("u", "one")
	if _, err := w.checkout.ConfirmDeposit(t.Context(), o.ID, "u", first); err != nil || first.Kept != nil {
		t.Fatalf("kept %v: %v", first.Kept, err)
	}
	again, other, foreign := w.wish("u", "one"), w.wish("u", "two"), w.wish("u", "one")
	foreign.Hash[0]++
	got, err := w.checkout.ConfirmDeposit(t.Context(), o.ID, "u", again)
	if err != nil || again.Kept == nil || got.Status != order.Paid {
		t.Errorf("the same key: kept %v: %v", again.Kept, err)
	}
	if got, err = w.checkout.ConfirmDeposit(t.Context(), o.ID, "u", other); err != nil || other.Kept != nil || got.Status != order.Paid {
		t.Errorf("another key: %v", err)
	}
	if _, err = w.checkout.ConfirmDeposit(t.Context(), o.ID, "u", foreign); fault.Of(err) != fault.IdempotencyKeyReused {
		t.Errorf("the key with another body: %v", err)
	}
	w.wantPurse("u", "100.00 0.00")
	w.moneyHolds()
}

func TestConfirmationsAtOnceTakeOnce(t *testing.T) {
	t.Parallel()
	w := depositWorld(t)
	w.topUp("300.00", "u")
	o := w.buy("u", "k", 1)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			if err := w.confirm("u", o.ID); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	w.wantPurse("u", "200.00 0.00")
	w.agree()
	w.moneyHolds()
}

func TestConfirmationIsRefusedAndMovesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		user   string
		before func(w *world, o order.Order)
		want   error
		seat   string
	}{
		"another's order": {"v", func(*world, order.Order) {}, order.ErrNotFound, "UNPAID FROZEN 0.00 0.00 0.00 0.00"},
		"at the deadline": {"u", func(w *world, _ order.Order) { w.pass(untilDeadline) }, checkout.ErrDepositDeadlinePassed,
			"UNPAID FROZEN 0.00 0.00 0.00 0.00"},
		"after it was settled": {"u", func(w *world, o order.Order) {
			w.pass(untilDeadline)
			_, _ = w.checkout.SettleDeposit(w.t.Context(), o.ID)
		}, checkout.ErrDepositDeadlinePassed, "CANCELLEDDEPOSIT_FORFEITED REFUNDED 0.00 6.00 24.00 0.00"},
		"after it was waived": {"u", func(w *world, o order.Order) {
			_, _, _ = w.checkout.WaiveDeposit(w.t.Context(), o.ID, operator("deposit.waive"))
		}, checkout.ErrDepositNotFrozen, "CANCELLEDOPERATOR REFUNDED 0.00 0.00 30.00 0.00"},
		"of a sale that was called off": {"u", func(w *world, _ order.Order) { w.callOff() }, checkout.ErrDepositNotFrozen,
			"UNPAID FROZEN 0.00 0.00 0.00 0.00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := depositWorld(t)
			w.topUp("100.00", "u", "v")
			o := w.buy("u", "k", 1)
			c.before(w, o)
			before := w.count("SELECT COUNT(*) FROM wallet_log")
			if err := w.confirm(c.user, o.ID); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			w.wantSeat(o.ID, c.seat)
			if n := w.count("SELECT COUNT(*) FROM wallet_log"); n != before {
				t.Errorf("%d entries in the ledger, %d before", n, before)
			}
			if n := w.count("SELECT COUNT(*) FROM idempotency"); n != 0 {
				t.Error("the key of a refused call was kept")
			}
			w.agree()
			w.moneyHolds()
		})
	}
}

func TestOrderWithoutADepositCannotBeConfirmed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plan{})
	o := w.buy("u", "k", 1)
	if err := w.confirm("u", o.ID); !errors.Is(err, checkout.ErrDepositNotFrozen) {
		t.Errorf("%v, want no frozen deposit", err)
	}
	if err := w.confirm("v", o.ID); !errors.Is(err, order.ErrNotFound) {
		t.Errorf("of another: %v, want not found", err)
	}
	if err := w.confirm("u", w.facts.OrderID("u", "never")); !errors.Is(err, order.ErrNotFound) {
		t.Errorf("an id without a row: %v, want not found", err)
	}
}

// A deadline that is reached is passed, to the millisecond, by the record and by the list of what is due.
func TestDeadlineIsReachedAtItsInstantAndNotBefore(t *testing.T) {
	t.Parallel()
	w := depositWorld(t)
	w.topUp("100.00", "u")
	d := w.deposit(w.buy("u", "k", 1).ID)
	at := d.ConfirmDeadline
	for _, c := range []struct {
		now time.Time
		due bool
	}{{at.Add(-time.Millisecond), false}, {at, true}, {at.Add(time.Millisecond), true}} {
		if d.DueAt(c.now) != c.due {
			t.Errorf("%s from the deadline: due %v", c.now.Sub(at), !c.due)
		}
		found, err := deposit.DueToSettle(t.Context(), w.db, c.now, 10)
		if err != nil || len(found) == 1 != c.due {
			t.Errorf("%s from the deadline: %d listed: %v", c.now.Sub(at), len(found), err)
		}
	}
}

package checkout_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/deposit"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/waitlist"
)

// offerWorld has one seat for 100.00 with a deposit of 30.00, to be confirmed within 20 minutes. An offer can be accepted for 15, unless
// its deadline is moved.
func offerWorld(t *testing.T, mode sale.Mode) *world {
	t.Helper()
	return newWorld(t, plan{price: "100.00", capacity: 1, mode: mode, deposit: byRatio(cancellation(sale.CancelFree),
		func(p *sale.DepositPolicy) {
			p.ConfirmDeadline = time.Now().Add(20 * time.Minute)
			p.RemindAt = p.ConfirmDeadline.Add(-time.Minute)
		})})
}

// reachLastFreeze sets the clock to so long before the instant from which on no deposit is frozen any more.
func (w *world) reachLastFreeze(before time.Duration) {
	w.clock.Store(int64(time.Until(w.activity.Deposit.ConfirmDeadline.Add(-sale.MinLead)) - before))
}

// offerSeat has the only seat offered to a user, who waited for it while somebody else had it.
func (w *world) offerSeat(user string) (*waitlist.Entry, order.Order) {
	w.t.Helper()
	w.topUp("30.00", "first")
	sold := w.buy("first", "k", 1)
	wish := w.wants(user, 1)
	wish.PolicyHash = w.activity.Deposit.Hash()
	e, _, err := w.checkout.JoinWaitlist(w.t.Context(), wish)
	if err != nil {
		w.t.Fatal(err)
	}
	w.cancel(sold)
	o := w.get(w.stands(e.ID, waitlist.Offered).OrderID)
	if o.Status != order.Unpaid || o.PayDeadline == nil {
		w.t.Fatalf("the offered seat is %s, to be accepted by %v", o.Status, o.PayDeadline)
	}
	return e, o
}

// extendOffers moves the deadlines of all offers by half an hour.
func (w *world) extendOffers() {
	w.t.Helper()
	w.extend(checkout.ExtendPayments)
	if n, err := w.checkout.RunBulkJobs(w.t.Context()); err != nil || n != 1 {
		w.t.Fatalf("%d ended, %v", n, err)
	}
}

func TestRefusedAcceptanceLeavesTheSeatOfferedAndMovesNothing(t *testing.T) {
	t.Parallel()
	byWallet := func(w *world, in checkout.Paying) error {
		_, err := w.checkout.PayByWallet(w.t.Context(), in)
		return err
	}
	nothing := func(*world) {}
	for name, c := range map[string]struct {
		have   string
		before func(w *world)
		accept func(w *world, in checkout.Paying) error
		want   error
		later  error // of the same key by wallet, once 0.01 more is there
	}{
		"too little money": {"29.99", nothing, byWallet, checkout.ErrInsufficientBalance, nil},
		"somebody else's": {"30.00", nothing, func(w *world, in checkout.Paying) error {
			in.UserID = "first"
			return byWallet(w, in)
		}, order.ErrNotFound, nil},
		"by the provider": {"30.00", nothing, func(w *world, in checkout.Paying) error {
			_, _, err := w.checkout.PayByProvider(w.t.Context(), in)
			return err
		}, checkout.ErrNotPayable, nil},
		"by an operator's word": {"30.00", nothing, func(w *world, in checkout.Paying) error {
			_, err := w.checkout.MarkPaid(w.t.Context(), in.OrderID, "bank 7", operator("order.pay"))
			return err
		}, checkout.ErrNotPayable, nil},
		"the offer has run out": {"30.00", func(w *world) { w.pass(15 * time.Minute) }, byWallet, checkout.ErrExpired, checkout.ErrExpired},
		"the offer goes on and the deadline for confirming is too near": {"30.00", func(w *world) {
			w.extendOffers()
			w.reachLastFreeze(0)
		}, byWallet, checkout.ErrTooLateToFreeze, checkout.ErrTooLateToFreeze},
		"the sale was called off": {"30.00", func(w *world) { w.callOff() }, byWallet, checkout.ErrNotPayable, checkout.ErrNotPayable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := offerWorld(t, sale.Live)
			w.checkout.ChargeBy(accepting{})
			w.topUp(c.have, "a")
			e, o := w.offerSeat("a")
			c.before(w)
			before := w.get(o.ID)
			if err := c.accept(w, paying(o, "p")); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			w.stands(e.ID, waitlist.Offered)
			if after := w.get(o.ID); after.Status != order.Unpaid || after.Revision != before.Revision || !after.PayDeadline.Equal(*before.PayDeadline) {
				t.Errorf("the order was %+v and is %+v", before, after)
			}
			w.wantPurse("a", c.have+" 0.00")
			w.wantCount(0, "SELECT COUNT(*) FROM deposit_record WHERE order_id = ?", o.ID[:])
			w.wantCount(0, "SELECT COUNT(*) FROM payment")
			w.wantCount(0, "SELECT COUNT(*) FROM audit_log WHERE action = 'order.pay'")
			w.agree()
			w.moneyHolds()
			w.topUp("0.01", "a")
			if err := byWallet(w, paying(o, "p")); !errors.Is(err, c.later) {
				t.Errorf("later: %v, want %v", err, c.later)
			}
			w.moneyHolds()
		})
	}
}

// The buyer comes with four keys, each three times, when only the extension of the offer still lets anybody accept it.
func TestSeatIsAcceptedOnceByManyKeysAtOnceAndTheKeyAnswersTheSame(t *testing.T) {
	t.Parallel()
	w := offerWorld(t, sale.Live)
	w.topUp("100.00", "a")
	e, o := w.offerSeat("a")
	var mu sync.Mutex
	var started []deposit.Execution
	w.checkout.StartBy(func(_ context.Context, list []deposit.Execution) error {
		mu.Lock()
		defer mu.Unlock()
		started = append(started, list...)
		return nil
	})
	w.extendOffers()
	w.reachLastFreeze(time.Minute)
	calls, errs := make([]checkout.Paying, 12), make([]error, 12)
	var all sync.WaitGroup
	for i := range calls {
		calls[i] = paying(o, fmt.Sprint("p", i%4))
		all.Go(func() { _, errs[i] = w.checkout.PayByWallet(t.Context(), calls[i]) })
	}
	all.Wait()
	winner, accepted, kept := "", 0, 0
	for i, in := range calls {
		switch {
		case errs[i] == nil && (winner == "" || winner == in.Key):
			winner, accepted = in.Key, accepted+1
			kept += btoi(in.Wish.Kept != nil && string(in.Wish.Kept.Body) == "UNPAID")
		case !errors.Is(errs[i], checkout.ErrNotPayable):
			t.Errorf("key %s, after %q: %v", in.Key, winner, errs[i])
		}
	}
	if accepted != 3 || kept != 2 {
		t.Fatalf("accepted in %d calls, of which %d had an answer that was kept", accepted, kept)
	}
	w.stands(e.ID, waitlist.Accepted)
	w.wantSeat(o.ID, "UNPAID FROZEN 0.00 0.00 0.00 0.00")
	if got := w.get(o.ID); got.PayDeadline != nil {
		t.Errorf("it is still to be accepted by %v", got.PayDeadline)
	}
	w.wantPurse("a", "70.00 30.00")
	w.wantCount(1, "SELECT COUNT(*) FROM wallet_log WHERE type = 'DEPOSIT_FREEZE' AND order_id = ?", o.ID[:])
	w.wantCount(0, "SELECT COUNT(*) FROM payment")
	if d := w.deposit(o.ID); !slices.Equal(started, []deposit.Execution{d.Execution()}) {
		t.Errorf("started %+v", started)
	}
	w.agree()
	w.moneyHolds()

	if err := w.confirm("a", o.ID); err != nil {
		t.Fatal(err)
	}
	again := paying(o, winner)
	got, err := w.checkout.PayByWallet(t.Context(), again)
	if err != nil || again.Wish.Kept == nil || string(again.Wish.Kept.Body) != "UNPAID" || got.Status != order.Paid {
		t.Errorf("the key again: %+v, kept %+v, %v", got, again.Wish.Kept, err)
	}
	w.wantPurse("a", "0.00 0.00")
	w.agree()
	w.moneyHolds()
}

func TestSeatOfATestSaleIsAcceptedWithoutMoney(t *testing.T) {
	t.Parallel()
	w := offerWorld(t, sale.Test)
	e, o := w.offerSeat("a")
	if _, err := w.checkout.PayByWallet(t.Context(), paying(o, "p")); err != nil {
		t.Fatal(err)
	}
	w.stands(e.ID, waitlist.Accepted)
	w.wantSeat(o.ID, "UNPAID FROZEN 0.00 0.00 0.00 0.00")
	w.wantCount(0, "SELECT COUNT(*) FROM wallet_log WHERE type <> 'TOP_UP'")
	w.agree()
}

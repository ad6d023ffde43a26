package checkout_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/shared/catalog"
	"holdfast/shared/checkout"
	"holdfast/shared/deposit"
	"holdfast/shared/notice"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
	"holdfast/shared/wallet"
)

func TestMissedDeadlineCostsThePenaltyAndFreesTheSeat(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ ratio, seat, purse, club, told string }{
		"a part": {"0.2", "CANCELLEDDEPOSIT_FORFEITED REFUNDED 0.00 6.00 24.00 0.00", "94.00 0.00", "6.00",
			"REFUNDED 30.00, penalty 6.00, refund 24.00"},
		"everything": {"1", "CANCELLEDDEPOSIT_FORFEITED PENALTY 0.00 30.00 0.00 0.00", "70.00 0.00", "30.00",
			"PENALTY 30.00, penalty 30.00, refund 0.00"},
		"nothing": {"0", "CANCELLEDDEPOSIT_FORFEITED REFUNDED 0.00 0.00 30.00 0.00", "100.00 0.00", "0.00",
			"REFUNDED 30.00, penalty 0.00, refund 30.00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := depositWorld(t, penalty(c.ratio))
			w.topUp("100.00", "u")
			o := w.buy("u", "k", 1)
			r, err := w.checkout.SettleDeposit(t.Context(), o.ID)
			if most := int64(untilDeadline / time.Second); err != nil || r.Step != checkout.StepNotDue || r.Seconds < most-300 || r.Seconds > most {
				t.Fatalf("too early: %+v: %v", r, err)
			}
			w.wantSeat(o.ID, "UNPAID FROZEN 0.00 0.00 0.00 0.00")
			w.pass(untilDeadline)
			if r, err = w.checkout.SettleDeposit(t.Context(), o.ID); err != nil || r.Step != checkout.StepSettled {
				t.Fatalf("%+v: %v", r, err)
			}
			w.wantSeat(o.ID, c.seat)
			w.wantPurse("u", c.purse)
			w.wantAccount(wallet.ClubPrefix+"club-1", c.club)
			w.wantTold(notice.DepositPenalty, o.ID, c.told+", supplement - DEPOSIT_FORFEITED")
			if r, err = w.checkout.SettleDeposit(t.Context(), o.ID); err != nil || r.Step != checkout.StepDone {
				t.Errorf("again: %+v: %v", r, err)
			}
			w.agree()
			w.moneyHolds()
		})
	}
}

func TestSettlingThreeTimesAtOnceIsOnePenaltyOneRefundOneRelease(t *testing.T) {
	t.Parallel()
	w := depositWorld(t)
	w.topUp("30.00", "u")
	o := w.buy("u", "k", 1)
	w.pass(untilDeadline)
	steps := make([]checkout.Step, 3)
	var all sync.WaitGroup
	for i := range steps {
		all.Go(func() {
			r, err := w.checkout.SettleDeposit(t.Context(), o.ID)
			if steps[i] = r.Step; err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	settled := 0
	for _, s := range steps {
		if s == checkout.StepSettled {
			settled++
		}
	}
	if settled != 1 {
		t.Errorf("settled %d times: %v", settled, steps)
	}
	for _, kind := range []wallet.Type{wallet.DepositPenalty, wallet.DepositRefund} {
		if n := w.count("SELECT COUNT(*) FROM wallet_log WHERE type = ? AND order_id = ?", string(kind), o.ID[:]); n != 1 {
			t.Errorf("%d entries %s", n, kind)
		}
	}
	w.agree() // Redis has the unit back once: its counters are those of MySQL
	w.moneyHolds()
}

// Five come to each deposit at once, and the deadline is reached when half of all have come.
func TestEachOfTwoHundredDepositsEndsOnceWhenAllComesAtTheDeadline(t *testing.T) {
	t.Parallel()
	const deposits = 200
	w := depositWorld(t)
	users, batch := make([]string, deposits), make([]checkout.Message, deposits)
	for i := range users {
		users[i] = fmt.Sprintf("u%03d", i)
	}
	w.topUp("100.00", users...)
	var calls []func() error
	for i, u := range users {
		batch[i] = w.mustReserve(u, "k", 1)
		id := batch[i].OrderID
		confirm := func() error { return w.confirm(u, id) }
		settle := func() error { _, err := w.checkout.SettleDeposit(t.Context(), id); return err }
		cancel := func() error { _, err := w.checkout.Cancel(t.Context(), id, checkout.Canceller{UserID: u}); return err }
		calls = append(calls, confirm, settle, confirm, settle, cancel)
	}
	if out := w.create(batch...); len(out.Live) != deposits {
		t.Fatalf("%d live", len(out.Live))
	}
	var done atomic.Int64
	var all sync.WaitGroup
	gate := make(chan struct{})
	for _, call := range calls {
		all.Go(func() {
			<-gate
			err := call()
			if done.Add(1) == int64(len(calls)/2) {
				w.clock.Store(int64(untilDeadline) + int64(time.Hour))
			}
			if err != nil && !errors.Is(err, checkout.ErrDepositDeadlinePassed) && !errors.Is(err, checkout.ErrDepositNotFrozen) &&
				!errors.Is(err, checkout.ErrNotCancellable) {
				t.Error(err)
			}
		})
	}
	close(gate)
	all.Wait()
	ends := map[string]int{}
	for i := range batch {
		if _, err := w.checkout.SettleDeposit(t.Context(), batch[i].OrderID); err != nil { // whoever was told NOT_DUE comes again
			t.Fatal(err)
		}
		ends[w.endedOnce(batch[i].OrderID)]++
	}
	if missed := ends["CANCELLEDDEPOSIT_FORFEITED REFUNDED"]; missed == 0 || missed == deposits {
		t.Errorf("all came on one side of the deadline: %v", ends)
	}
	w.wantCount(0, `SELECT COUNT(*) FROM trade_order o JOIN deposit_record d ON d.order_id = o.id
 WHERE (o.reason <=> 'DEPOSIT_FORFEITED') <> (d.updated_at >= d.confirm_deadline)`)
	w.agree()
	w.moneyHolds()
}

// endedOnce gives how a seat of a buyer of 100.00 ended, and checks what they have and were told of it.
func (w *world) endedOnce(id sale.OrderID) string {
	w.t.Helper()
	o, d := w.get(id), w.deposit(id)
	end := fmt.Sprintf("%s%s %s", o.Status, o.Reason, d.Status)
	switch end {
	case "PAID DEDUCTED":
		w.wantPurse(o.UserID, "0.00 0.00")
		w.wantTold(notice.DepositConfirmed, id, "DEDUCTED 30.00, penalty -, refund 0.00, supplement 70.00")
	case "CANCELLEDDEPOSIT_FORFEITED REFUNDED", "CANCELLEDUSER REFUNDED":
		w.wantPurse(o.UserID, "94.00 0.00")
		w.wantTold(notice.DepositPenalty, id, fmt.Sprintf("REFUNDED 30.00, penalty 6.00, refund 24.00, supplement - %s", o.Reason))
	default:
		w.t.Errorf("%s ended as %s", o.UserID, end)
	}
	w.wantCount(1, `SELECT COUNT(*) FROM notice WHERE order_id = ? AND kind IN ('DEPOSIT_CONFIRMED', 'DEPOSIT_PENALTY', 'ORDER_CANCELLED')`, id[:])
	return end
}

// Whoever loses the race for a row must not have moved its money: states move first, and a row that is not there to be moved stops all.
func TestStateThatIsNotTheOneToLeaveMovesNoMoney(t *testing.T) {
	t.Parallel()
	w := depositWorld(t)
	w.topUp("30.00", "u")
	o := w.buy("u", "k", 1)
	stale := w.deposit(o.ID)
	w.pass(untilDeadline)
	if _, err := w.checkout.SettleDeposit(t.Context(), o.ID); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(ctx context.Context, tx *sql.Tx, d deposit.Record) error{
		"confirm": func(ctx context.Context, tx *sql.Tx, d deposit.Record) error {
			return deposit.Confirm(ctx, tx, &d, d.Deposit, yuan("70.00"), yuan("0.00"), time.Now())
		},
		"penalise": func(ctx context.Context, tx *sql.Tx, d deposit.Record) error {
			return deposit.Penalise(ctx, tx, []deposit.Record{d}, time.Now())
		},
		"give back": func(ctx context.Context, tx *sql.Tx, d deposit.Record) error {
			return deposit.GiveBack(ctx, tx, []deposit.Record{d}, time.Now())
		},
		"extend": func(ctx context.Context, tx *sql.Tx, d deposit.Record) error {
			return deposit.Extend(ctx, tx, &d, d.ConfirmDeadline.Add(time.Hour), time.Now())
		},
		"remind": func(ctx context.Context, tx *sql.Tx, d deposit.Record) error {
			return deposit.MarkReminded(ctx, tx, []deposit.Record{d}, time.Now())
		},
		"reverse more than the penalty": func(ctx context.Context, tx *sql.Tx, d deposit.Record) error {
			return deposit.ReversePenalty(ctx, tx, &d, yuan("6.01"), time.Now())
		},
	} {
		err := w.db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error { return change(ctx, tx, stale) })
		if !errors.Is(err, deposit.ErrChanged) {
			t.Errorf("%s: %v, want a refusal", name, err)
		}
	}
	w.wantSeat(o.ID, "CANCELLEDDEPOSIT_FORFEITED REFUNDED 0.00 6.00 24.00 0.00")
	w.moneyHolds()
}

func TestSeatOfASettledDepositComesFreeThoughTheProcessDiedAfterItsCommit(t *testing.T) {
	t.Parallel()
	w := depositWorld(t)
	w.topUp("30.00", "u")
	o := w.buy("u", "k", 1)
	w.pass(untilDeadline)
	gone := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1, DialTimeout: 50 * time.Millisecond})
	t.Cleanup(func() { _ = gone.Close() })
	dying := checkout.New(w.db, stock.New(gone, nil), catalog.New(w.db), nil)
	if r, err := dying.SettleDeposit(t.Context(), o.ID); err != nil || r.Step != checkout.StepSettled {
		t.Fatalf("%+v: %v", r, err)
	}
	w.moneyHolds()
	if w.get(o.ID).ReleasedAt != nil {
		t.Fatal("released without Redis")
	}
	w.pass(time.Hour)
	if n, err := w.reconciler().ReleaseUnreleased(t.Context(), 10); err != nil || n != 1 {
		t.Fatalf("%d released: %v", n, err)
	}
	w.agree()
}

func TestSweepSettlesWhatIsOverdueInOnePassAndLeavesTheRest(t *testing.T) {
	t.Parallel()
	w := depositWorld(t)
	var batch []checkout.Message
	for i := range 30 {
		u := fmt.Sprintf("u%02d", i)
		w.topUp("100.00", u)
		batch = append(batch, w.mustReserve(u, "k", 1))
	}
	w.create(batch...)
	later, kept := batch[0].OrderID, batch[1]
	d := w.deposit(later)
	if _, err := w.checkout.ExtendDeposit(t.Context(), later, d.ConfirmDeadline.Add(time.Hour), d.Revision, operator("deposit.extend")); err != nil {
		t.Fatal(err)
	}
	if err := w.confirm(kept.UserID, kept.OrderID); err != nil {
		t.Fatal(err)
	}
	w.clock.Store(int64(time.Until(w.activity.Deposit.ConfirmDeadline) + 5*time.Second)) // reached, and still left to the workflows
	if s, err := w.checkout.SweepDeposits(t.Context(), 100); err != nil || s.Settled != 0 {
		t.Fatalf("within 15 s: %+v: %v", s, err)
	}
	w.clock.Store(int64(time.Until(w.activity.Deposit.ConfirmDeadline) + 30*time.Second))
	s, err := w.checkout.SweepDeposits(t.Context(), 20)
	if err != nil || s.Settled != 20 || !s.More {
		t.Fatalf("%+v: %v", s, err)
	}
	if s, err = w.checkout.SweepDeposits(t.Context(), 20); err != nil || s.Settled != 8 || s.More {
		t.Fatalf("%+v: %v", s, err)
	}
	w.wantSeat(later, "UNPAID FROZEN 0.00 0.00 0.00 0.00")
	w.wantSeat(kept.OrderID, "PAID DEDUCTED 30.00 0.00 0.00 70.00")
	w.wantAccount(wallet.ClubPrefix+"club-1", "168.00")
	w.agree()
	w.moneyHolds()
}

func TestSweepGivesEverythingBackOfASaleThatWasCalledOff(t *testing.T) {
	t.Parallel()
	w := depositWorld(t)
	w.topUp("30.00", "u")
	o := w.buy("u", "k", 1)
	w.callOff()
	w.pass(untilDeadline + time.Minute)
	if s, err := w.checkout.SweepDeposits(t.Context(), 20); err != nil || s.Settled != 1 {
		t.Fatalf("%+v: %v", s, err)
	}
	w.wantSeat(o.ID, "CANCELLEDSALE_CANCELLED REFUNDED 0.00 0.00 30.00 0.00")
	w.wantPurse("u", "30.00 0.00")
	w.agree()
	w.moneyHolds()
}

func TestDepositWhoseRowsDisagreeKeepsNoOtherBack(t *testing.T) {
	t.Parallel()
	w := depositWorld(t)
	w.topUp("30.00", "a", "b", "c", "d")
	var batch []checkout.Message
	for _, u := range []string{"a", "b", "c", "d"} {
		batch = append(batch, w.mustReserve(u, "k", 1))
	}
	w.create(batch...)
	bad := batch[2].OrderID
	if _, err := w.db.ExecContext(t.Context(), `UPDATE wallet SET frozen = 1 WHERE user_id = ?`, "c"); err != nil { // a foreign hand
		t.Fatal(err)
	}
	w.pass(untilDeadline + time.Minute)
	s, err := w.checkout.SweepDeposits(t.Context(), 20)
	if err == nil || s.Settled != 3 {
		t.Errorf("%+v: %v, want three settled and an error", s, err)
	}
	w.wantSeat(bad, "UNPAID FROZEN 0.00 0.00 0.00 0.00")
	w.agreeInMySQL()
}

func TestBuyerIsRemindedOncePerDeadline(t *testing.T) {
	t.Parallel()
	w := depositWorld(t)
	w.topUp("100.00", "u")
	o := w.buy("u", "k", 1)
	const told = "FROZEN 30.00, penalty 6.00, refund 24.00, supplement -"
	remind := func(want checkout.Step) {
		t.Helper()
		if r, err := w.checkout.RemindDeposit(t.Context(), o.ID); err != nil || r.Step != want {
			t.Errorf("%+v: %v, want %s", r, err, want)
		}
	}
	remind(checkout.StepNotDue)
	w.pass(untilDeadline - time.Hour)
	remind(checkout.StepReminded)
	remind(checkout.StepReminded)
	w.wantTold(notice.DepositReminder, o.ID, told)
	d := w.deposit(o.ID)
	if _, err := w.checkout.ExtendDeposit(t.Context(), o.ID, d.ConfirmDeadline.Add(4*time.Hour), d.Revision, operator("deposit.extend")); err != nil {
		t.Fatal(err)
	}
	remind(checkout.StepNotDue)
	w.pass(4 * time.Hour)
	if s, err := w.checkout.SweepDeposits(t.Context(), 10); err != nil || s.Reminded != 1 || s.Settled != 0 {
		t.Errorf("%+v: %v", s, err)
	}
	w.wantTold(notice.DepositReminder, o.ID, told, told) // about two deadlines
	if err := w.confirm("u", o.ID); err != nil {
		t.Fatal(err)
	}
	remind(checkout.StepDone)
	if r, err := w.checkout.RemindDeposit(t.Context(), w.facts.OrderID("u", "never")); err != nil || r.Step != checkout.StepDone {
		t.Errorf("an id without a deposit: %+v: %v", r, err)
	}
}

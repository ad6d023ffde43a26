package certificate_test

import (
	"io"
	"slices"
	"testing"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/metric"
	"holdfast/shared/reconcile/certificate"
	"holdfast/shared/reconcile/invariant"
	"holdfast/shared/reconcile/money"
	"holdfast/shared/sale"
	"holdfast/shared/waitlist"
)

// seatPlants holds, per equation, one error in the money of deposit seats, and whom the certificate must name.
var seatPlants = map[string]struct {
	plant    func(*seats)
	offender func(*seats) string
}{
	"M1": {func(s *seats) { s.exec("UPDATE wallet SET available = available + 0.01 WHERE user_id = 'ann'") }, named[*seats]("wallet ann CNY")},
	"M2": {func(s *seats) {
		s.exec("UPDATE wallet_log SET frozen_after = frozen_after + 0.01 WHERE user_id = 'bob' AND version = 2")
	}, named[*seats]("wallet bob CNY, version 2")},
	"M3": {func(s *seats) {
		s.exec("UPDATE deposit_record SET status = 'REFUNDED', refunded = deposit, settled_at = created_at WHERE order_id = ?", s.ann[:])
	}, func(s *seats) string { return s.ann.String() }},
	"M5": {func(s *seats) {
		s.exec("UPDATE wallet_log SET to_account = 'HOUSE' WHERE type = 'DEPOSIT_PENALTY' AND order_id = ?", s.cat[:])
		s.exec("UPDATE wallet_log SET to_account = 'CLUB:south' WHERE type = 'DEPOSIT_PENALTY' AND order_id = ?", s.cat[:])
	}, func(s *seats) string { return s.cat.String() }},
	"M7": {func(s *seats) {
		s.exec("UPDATE deposit_record SET penalty = penalty - 0.01 WHERE order_id = ?", s.cat[:])
	}, func(s *seats) string { return s.cat.String() }},
	"S3": {func(s *seats) { s.clock.Add(int64(48 * time.Hour)) }, func(s *seats) string { return s.ann.String() }},
	"S4": {func(s *seats) {
		s.exec("UPDATE trade_order SET pay_deadline = '2031-01-01 00:00:00' WHERE id = ?", s.ann[:])
	}, func(s *seats) string { return s.ann.String() }},
}

// tillPlants is the same for payments, refunds, the waitlist, notices, and the ledger as a whole.
var tillPlants = map[string]struct {
	plant    func(*tills)
	offender func(*tills) string
}{
	"M4": {func(s *tills) { s.exec("UPDATE trade_order SET refunded = refunded + 0.01 WHERE id = ?", s.bob[:]) }, func(s *tills) string { return s.bob.String() }},
	"M6": {func(s *tills) { s.exec("UPDATE payment SET disposition = NULL WHERE payment_id = ?", s.surplus) }, func(s *tills) string { return "payment " + s.surplus }},
	"M8": {func(s *tills) { s.exec("DELETE FROM wallet_log WHERE type = 'REFUND'") }, named[*tills]("refund REFUND some to AVAIL")},
	"D9": {func(s *tills) { s.exec("UPDATE trade_order SET paid_by = ? WHERE id = ?", s.surplus, s.ann[:]) }, func(s *tills) string { return s.ann.String() }},
	"S5": {func(s *tills) {
		s.exec("UPDATE payment SET expires_at = ? WHERE status = 'PENDING'", time.Now().Add(-time.Hour).Truncate(time.Second).UTC())
	}, func(s *tills) string {
		return "payment " + s.text("SELECT payment_id FROM payment WHERE status = 'PENDING'")
	}},
	"S6": {func(s *tills) {
		s.exec("UPDATE refund SET due_at = ? WHERE status = 'SENT'", time.Now().Add(-time.Hour).UTC())
	},
		func(s *tills) string { return "refund " + s.text("SELECT refund_id FROM refund WHERE status = 'SENT'") }},
	"W1": {func(s *tills) { s.exec("UPDATE waitlist_entry SET status = 'LAPSED' WHERE user_id = 'dan'") }, waiter("dan")},
	"W2": {func(s *tills) {
		s.exec("ALTER TABLE waitlist_entry DROP INDEX waitlist_active")
		s.exec("UPDATE waitlist_entry SET user_id = 'gus'")
		s.exec("UPDATE trade_order SET user_id = 'gus' WHERE user_id = 'dan'")
	}, func(s *tills) string {
		return "waitlist entry " + s.text("SELECT LOWER(HEX(MAX(entry_id))) FROM waitlist_entry")
	}},
	"W3": {func(s *tills) {
		s.redis("DEL", "waiters:"+ticket)
		s.clock.Add(int64(invariant.Grace + time.Second))
	}, waiter("eve")},
	"W4": {func(s *tills) {
		s.turn(sale.Closed)
		s.clock.Add(int64(3 * time.Minute))
	}, waiter("eve")},
	"N1": {func(s *tills) {
		s.exec("ALTER TABLE notice DROP INDEX notice_once")
		s.exec(`INSERT INTO notice (subject, kind, user_id, activity_id, order_id, mode, data, status, due_at, created_at, updated_at)
 SELECT subject, kind, user_id, activity_id, order_id, mode, data, 'WAITING', due_at, created_at, updated_at FROM notice WHERE kind = 'ORDER_PAID' AND order_id = ?`, s.bob[:])
	}, func(s *tills) string { return "notices of " + s.bob.String() }},
	"N2": {func(s *tills) {
		id := s.facts.OrderID("nobody", "k")
		s.exec("UPDATE notice SET order_id = ? WHERE kind = 'ORDER_PAID' AND order_id = ?", id[:], s.bob[:])
	}, func(s *tills) string { return s.facts.OrderID("nobody", "k").String() }},
}

func named[T any](offender string) func(T) string { return func(T) string { return offender } }

func waiter(user string) func(*tills) string {
	return func(s *tills) string { return "waitlist entry " + s.entry(user).ID.String() }
}

func (w *world) text(query string) (out string) {
	w.t.Helper()
	if err := w.db.QueryRowContext(w.t.Context(), query).Scan(&out); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// passes checks that every equation of certificate and ledger holds, and says both sides of one.
func (w *world) passes(id string) (left, right int) {
	w.t.Helper()
	c := w.make()
	for _, e := range c.Equations {
		if e.Verdict != certificate.Pass {
			w.t.Errorf("%+v", e)
		}
		if e.ID == id {
			left, right = e.Left, e.Right
		}
	}
	ledger, err := invariant.CheckLedger(w.t.Context(), w.db)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range ledger.Equations {
		if !e.Pass {
			w.t.Errorf("%+v", e)
		}
	}
	return left, right
}

// finds checks that the certificate fails by this equation and names whom it must.
func (w *world) finds(id, offender string) {
	w.t.Helper()
	got := w.make()
	at := slices.IndexFunc(got.Equations, func(e certificate.Equation) bool { return e.ID == id })
	if e := got.Equations[at]; got.Verdict != certificate.Fail || e.Verdict != certificate.Fail || e.FirstOffender != offender {
		w.t.Errorf("verdict %s, equation %+v, want %s named", got.Verdict, e, offender)
	}
}

func TestACertificateOfDepositSeatsInWhichAllIsWellPasses(t *testing.T) {
	t.Parallel()
	s := newSeats(t)
	// ann 25.00 x 0.333333, bob 37.50 x 0.333333, cat 12.50 x 0.333333, each once and rounded half up
	if left, right := s.passes("M7"); left != 833+1250+417 || left != right {
		t.Errorf("deposits %d and %d", left, right)
	}
	if left, _ := s.passes("M5"); left != 125-50 {
		t.Errorf("the club keeps %d", left)
	}
	if left, _ := s.passes("M3"); left != 833 {
		t.Errorf("frozen is %d", left)
	}
}

func TestACertificateOfASoldOutSaleWithAWaitlistPasses(t *testing.T) {
	t.Parallel()
	s := newTills(t)
	if left, right := s.passes("M4"); left != 2500+1250-250 || left != right {
		t.Errorf("HOUSE has %d, and orders say %d", left, right)
	}
	if dan, eve := s.entry("dan"), s.entry("eve"); dan.Status != waitlist.Offered || eve.Status != waitlist.Waiting {
		t.Errorf("dan %s, eve %s", dan.Status, eve.Status)
	}
}

func TestAnOfferThatIsPaidIsAcceptedWithIt(t *testing.T) {
	t.Parallel()
	s := newTills(t)
	s.topUp("dan", "100.00")
	offered := s.entry("dan").OrderID
	if _, err := s.checkout.PayByWallet(t.Context(), checkout.Paying{OrderID: offered, UserID: "dan", Key: "k"}); err != nil {
		t.Fatal(err)
	}
	if e := s.entry("dan"); e.Status != waitlist.Accepted {
		t.Errorf("the entry is %s", e.Status)
	}
	s.passes("W1")
}

func TestATestSaleMovesNoMoneyAndHasNoEquationsAboutIt(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, func(a *sale.Activity) { a.Mode = sale.Test })
	o := w.buy("ann", 1)
	if _, err := w.checkout.MarkPaid(t.Context(), o.ID, "bank", operator("order.pay")); err != nil {
		t.Fatal(err)
	}
	for _, e := range w.make().Equations {
		if e.Verdict != certificate.Pass || e.ID[0] == 'M' {
			t.Errorf("%+v", e)
		}
	}
}

func TestAnOrderWhosePaymentIsMissingIsFoundAndNamed(t *testing.T) {
	t.Parallel()
	s := newTills(t)
	s.exec("DELETE FROM payment WHERE order_id = ?", s.bob[:])
	s.finds("D9", s.bob.String())
}

func TestACertificateSaysNothingOfTheLedgerOfAllSales(t *testing.T) {
	t.Parallel()
	s := newTills(t)
	s.exec("UPDATE account_inbox SET account = 'HOUSE', amount = amount + 0.01 WHERE account = 'OUTSIDE'")
	for _, e := range s.make().Equations {
		if e.Verdict != certificate.Pass {
			t.Errorf("it fails by what no order of its sale explains: %+v", e)
		}
	}
	ledger, err := invariant.CheckLedger(t.Context(), s.db)
	if err != nil || ledger.Pass() {
		t.Errorf("the check of the whole ledger does not see it: %+v, %v", ledger, err)
	}
}

func TestACertificateSaysWhatTheLastRoundOverAllMoneyFound(t *testing.T) {
	t.Parallel()
	s := newTills(t)
	if l := s.make().Ledger; l != nil {
		t.Errorf("before any round: %+v", l)
	}
	for _, c := range []struct {
		plant       string
		differences int
	}{{"SELECT 1", 0}, {"UPDATE account_inbox SET amount = amount + 0.01 WHERE account = 'OUTSIDE' LIMIT 1", 2}} {
		s.exec(c.plant)
		summary, err := money.Run(t.Context(), s.db, metric.New(io.Discard, time.Now), money.Config{})
		if err != nil || summary.Status != "SUCCEEDED" {
			t.Fatalf("%+v, %v", summary, err)
		}
		made := s.make()
		if made.Ledger == nil || made.Ledger.Differences != c.differences || made.Ledger.ComparedAt == "" {
			t.Errorf("after %q: %+v", c.plant, made.Ledger)
		}
		if sum, err := made.Sum(); err != nil || sum != made.Hash {
			t.Errorf("the hash does not cover it: %v", err)
		}
	}
}

func TestStatesThatGoBackAreSeen(t *testing.T) {
	t.Parallel()
	seats, tills := newSeats(t), newTills(t)
	for name, c := range map[string]struct {
		w             *world
		plant, broken string
	}{
		"a deposit": {seats.world, "UPDATE deposit_record SET status = 'FROZEN', penalty = 0, penalty_reversed = 0, refunded = 0, settled_at = NULL WHERE user_id = 'cat'",
			"deposit " + seats.cat.String() + " was REFUNDED and then FROZEN"},
		"a payment": {tills.world, "UPDATE payment SET status = 'FAILED', disposition = NULL, succeeded_at = NULL, failure = 'F' WHERE disposition = 'REFUND'",
			"payment " + tills.surplus + " was SUCCEEDED and then FAILED"},
		"an entry of the waitlist": {tills.world, "UPDATE waitlist_entry SET status = 'WAITING', order_id = NULL, accept_by = NULL WHERE user_id = 'dan'",
			"waitlist entry " + tills.entry("dan").ID.String() + " was OFFERED and then WAITING"},
	} {
		var states invariant.States
		for look := range 2 {
			if look == 1 {
				c.w.exec(c.plant)
			}
			if err := states.Look(t.Context(), c.w.db, c.w.id); err != nil {
				t.Fatal(err)
			}
			if got := states.Broken(); len(got) != look || look == 1 && got[0] != c.broken {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
}

func TestEachErrorInTheMoneyOfSeatsIsFoundAndNamed(t *testing.T) {
	t.Parallel()
	for id, p := range seatPlants {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			s := newSeats(t)
			p.plant(s)
			s.finds(id, p.offender(s))
		})
	}
}

func TestEachErrorInPaymentsWaitlistAndNoticesIsFoundAndNamed(t *testing.T) {
	t.Parallel()
	for id, p := range tillPlants {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			s := newTills(t)
			p.plant(s)
			s.finds(id, p.offender(s))
		})
	}
}

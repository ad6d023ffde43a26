package money_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"holdfast/shared/payment"
	"holdfast/shared/reconcile"
	"holdfast/shared/reconcile/money"
	"holdfast/shared/sale"
)

const hours = 3 * time.Hour // ago: long over, and of the first round

// contradictions holds what the provider and we say of money, and every difference that must be found then: no others.
var contradictions = map[string]struct {
	plant func(w *world, live, rehearsal sale.OrderID)
	found string
}{
	"both sides agree": {func(w *world, live, _ sale.OrderID) {
		w.began("p", "SUCCEEDED", "LIVE", "PROVIDER", hours, hours-time.Second)
		w.charged("p", hours)
		w.went("r", live, "SUCCEEDED", "PROVIDER", hours, hours-time.Second)
		w.returned("r", hours)
		w.went("asked", live, "REQUESTED", "PROVIDER", hours, 0)
		w.began("open", "PENDING", "LIVE", "PROVIDER", hours, 0)
	}, ""},
	"a success that we never heard of": {func(w *world, _, _ sale.OrderID) {
		w.began("p", "PENDING", "LIVE", "PROVIDER", hours, 0)
		w.charged("p", hours)
	}, "NEWS_LOST payment p LEARN_SUCCESS"},
	"a success of what we gave up": {func(w *world, _, _ sale.OrderID) {
		w.began("p", "EXPIRED", "LIVE", "PROVIDER", hours, 0)
		w.charged("p", hours)
	}, "NEWS_LOST payment p LEARN_SUCCESS"},
	"a success that nobody made": {func(w *world, _, _ sale.OrderID) {
		w.began("p", "SUCCEEDED", "LIVE", "PROVIDER", hours, hours)
	}, "NOT_LISTED payment p NONE"},
	"another amount": {func(w *world, _, _ sale.OrderID) {
		w.began("p", "SUCCEEDED", "LIVE", "PROVIDER", hours, hours)
		w.charged("p", hours)
		w.bank.list[0].Amount = yuan("100.01")
	}, "OTHER_AMOUNT payment p NONE"},
	"another currency": {func(w *world, _, _ sale.OrderID) {
		w.began("p", "SUCCEEDED", "LIVE", "PROVIDER", hours, hours)
		w.charged("p", hours)
		w.bank.list[0].Amount.Currency = "EUR"
	}, "OTHER_AMOUNT payment p NONE"},
	"another amount that we never heard of": {func(w *world, _, _ sale.OrderID) {
		w.began("p", "PENDING", "LIVE", "PROVIDER", hours, 0)
		w.charged("p", hours)
		w.bank.list[0].Amount = yuan("1.00")
	}, "NEWS_LOST+OTHER_AMOUNT payment p NONE"},
	"a second charge under one id": {func(w *world, _, _ sale.OrderID) {
		w.began("p", "SUCCEEDED", "LIVE", "PROVIDER", hours, hours)
		w.charged("p", hours)
		w.charged("p", hours-time.Minute)
		w.bank.list[1].Reference = "ch_2"
	}, "OTHER_CHARGE payment p NONE"},
	"a charge that was never asked for": {func(w *world, _, _ sale.OrderID) { w.charged("p", hours) }, "NOT_ASKED payment p NONE"},
	"a charge for a wallet's payment": {func(w *world, _, _ sale.OrderID) {
		w.began("p", "SUCCEEDED", "LIVE", "WALLET", hours, hours)
		w.charged("p", hours)
	}, "NOT_ASKED payment p NONE"},
	"a charge for a rehearsal": {func(w *world, _, _ sale.OrderID) {
		w.began("p", "SUCCEEDED", "TEST", "PROVIDER", hours, hours)
		w.charged("p", hours)
	}, "NOT_ASKED payment p NONE"},
	"rehearsals and wallets are of no provider": {func(w *world, live, rehearsal sale.OrderID) {
		w.began("p", "SUCCEEDED", "TEST", "PROVIDER", hours, hours)
		w.began("q", "SUCCEEDED", "LIVE", "WALLET", hours, hours)
		w.went("r", rehearsal, "SUCCEEDED", "PROVIDER", hours, hours)
		w.went("s", live, "SUCCEEDED", "WALLET", hours, hours)
	}, ""},
	"a refund that the provider never made": {func(w *world, live, _ sale.OrderID) {
		w.went("r", live, "SUCCEEDED", "PROVIDER", hours, hours)
	}, "NOT_LISTED refund r NONE"},
	"a refund that we never heard of": {func(w *world, live, _ sale.OrderID) {
		w.went("r", live, "SENT", "PROVIDER", hours, 0)
		w.returned("r", hours)
	}, "NEWS_LOST refund r LEARN_SUCCESS"},
	"a refund that counts as failed": {func(w *world, live, _ sale.OrderID) {
		w.went("r", live, "FAILED", "PROVIDER", hours, hours)
		w.returned("r", hours)
	}, "FAILED_HERE refund r NONE"},
	"a refund of another amount": {func(w *world, live, _ sale.OrderID) {
		w.went("r", live, "SUCCEEDED", "PROVIDER", hours, hours)
		w.returned("r", hours)
		w.bank.list[0].Amount = yuan("99.99")
	}, "OTHER_AMOUNT refund r NONE"},
	"a refund that was never asked for": {func(w *world, _, rehearsal sale.OrderID) {
		w.went("r", rehearsal, "SUCCEEDED", "PROVIDER", hours, hours)
		w.returned("r", hours)
	}, "NOT_ASKED refund r NONE"},
	"a refund by the id of a payment": {func(w *world, live, _ sale.OrderID) {
		w.began("p", "SUCCEEDED", "LIVE", "PROVIDER", hours, hours)
		w.charged("p", hours)
		w.went("p", live, "SUCCEEDED", "PROVIDER", hours, hours)
	}, "NOT_LISTED refund p NONE"},
}

func TestWhatTheProviderListsIsHeldAgainstWhatWeHave(t *testing.T) {
	t.Parallel()
	for name, c := range contradictions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, live, rehearsal := newBank(t)
			c.plant(w, live, rehearsal)
			var want []string
			if c.found != "" {
				want = append(want, c.found)
			}
			for range 3 { // what is wrong stays open and what is not stays none, however many rounds look
				sum := w.round()
				if w.same(want...); sum.Provider != "ASKED" || sum.Status != "SUCCEEDED" {
					t.Errorf("%+v", sum)
				}
				w.advance += 24 * time.Hour
			}
		})
	}
}

func TestADifferenceWithTheProviderIsGoneWhenItIsOver(t *testing.T) {
	t.Parallel()
	w, _, _ := newBank(t)
	w.began("lost", "PENDING", "LIVE", "PROVIDER", hours, 0)
	w.charged("lost", hours)
	w.began("forged", "SUCCEEDED", "LIVE", "PROVIDER", hours, hours)
	w.round()
	w.advance += 24 * time.Hour
	w.bank.before = func(int, payment.Listing) error { return payment.ErrNoProvider }
	w.round()
	w.same("NEWS_LOST payment lost LEARN_SUCCESS", "NOT_LISTED payment forged NONE") // nobody could look
	w.bank.before = nil
	for range 2 {
		w.advance += 24 * time.Hour
		w.round()
		w.same("NEWS_LOST payment lost LEARN_SUCCESS", "NOT_LISTED payment forged NONE")
	}
	w.advance += 24 * time.Hour
	// Learnt days late, which the list of the day says nothing of; and listed after all, at the instant at which it was.
	w.exec(`UPDATE payment SET status = 'SUCCEEDED', succeeded_at = ?, disposition = 'REFUND' WHERE payment_id = 'lost'`, w.ago(30*time.Minute))
	w.charged("forged", hours+96*time.Hour)
	sum := w.round()
	if gone := w.ofProvider(reconcile.DifferenceGone); len(gone) != 2 || sum.Differences != 0 && len(w.ofProvider(reconcile.DifferenceOpen)) > 0 {
		t.Errorf("gone %q, %+v", gone, sum)
	}
	for range 2 {
		w.advance += 24 * time.Hour
		w.round()
		w.same()
	}
}

func TestNothingFallsBetweenTheIntervalsOfTwoRounds(t *testing.T) {
	t.Parallel()
	w, _, _ := newBank(t)
	for _, name := range []string{"at-from", "before-end", "at-end", "late-in-list"} {
		w.began(name, "PENDING", "LIVE", "PROVIDER", 40*24*time.Hour, 0)
	}
	list := func(name string, at time.Time) {
		w.bank.list = append(w.bank.list, payment.Success{PaymentID: name, Amount: yuan("100.00"), At: at})
	}
	w.bank.before = func(call int, l payment.Listing) error {
		if call == 1 {
			list("at-from", l.From)
			list("before-end", l.To.Add(-time.Millisecond))
			list("at-end", l.To)
		}
		return nil
	}
	first := w.round()
	w.same("NEWS_LOST payment at-from LEARN_SUCCESS", "NEWS_LOST payment before-end LEARN_SUCCESS")
	list("late-in-list", first.AskedUntil.Add(-9*time.Minute))
	w.advance += 24 * time.Hour
	second := w.round()
	if !second.AskedFrom.Equal(first.AskedUntil) {
		t.Errorf("from %v on after until %v", second.AskedFrom, first.AskedUntil)
	}
	w.same("NEWS_LOST payment at-end LEARN_SUCCESS", "NEWS_LOST payment at-from LEARN_SUCCESS", "NEWS_LOST payment before-end LEARN_SUCCESS",
		"NEWS_LOST payment late-in-list LEARN_SUCCESS")
}

func TestMoneyUnderWayIsNoDifference(t *testing.T) {
	t.Parallel()
	w, live, _ := newBank(t)
	w.bank.hidden = func() time.Time { return w.ago(9 * time.Minute) }
	n := 0
	// Successes of the last three quarters of an hour, whose news take so long, by clocks that are so far apart.
	for _, delay := range []time.Duration{-4 * time.Minute, 0, 3 * time.Second, 9 * time.Minute} {
		for ago := 20 * time.Second; ago < 45*time.Minute; ago += 70 * time.Second {
			n++
			name, status := fmt.Sprint("u", n), "SUCCEEDED"
			if ago < delay {
				status = "PENDING"
			}
			w.began(name, status, "LIVE", "PROVIDER", ago+time.Minute, ago-delay)
			w.charged(name, ago)
			if status == "PENDING" {
				status = "SENT"
			}
			w.went(name, live, status, "PROVIDER", ago+time.Minute, ago-delay)
			w.returned(name, ago)
		}
	}
	for range 4 { // one after the other, as by hand
		w.round()
		w.same()
		w.advance += 5 * time.Minute
		w.exec(`UPDATE payment SET status = 'SUCCEEDED', disposition = 'REFUND', succeeded_at = ? WHERE status = 'PENDING'`, w.ago(time.Minute))
		w.exec(`UPDATE refund SET status = 'SUCCEEDED', finished_at = ? WHERE status = 'SENT'`, w.ago(time.Minute))
	}
	w.advance += 24 * time.Hour
	w.round()
	w.same()
}

func TestNewsThatCameLateBeforeARoundAreNoDifference(t *testing.T) {
	t.Parallel()
	w, live, _ := newBank(t)
	w.round()
	w.advance += 24 * time.Hour
	w.began("p", "SUCCEEDED", "LIVE", "PROVIDER", 5*time.Hour, time.Minute) // taken hours ago, learnt only now
	w.charged("p", 5*time.Hour)
	w.went("r", live, "SUCCEEDED", "PROVIDER", 5*time.Hour, 14*time.Minute)
	w.returned("r", 5*time.Hour)
	for range 6 {
		w.round()
		w.same()
		w.advance += 7 * time.Minute
	}
	w.advance += 24 * time.Hour
	w.round()
	w.same()
}

func TestAProviderThatIsAwayKeepsNothingElseAndIsAskedForAllOfItLater(t *testing.T) {
	t.Parallel()
	for want, away := range map[string]error{"NO_ANSWER": payment.ErrNoProvider, "REFUSED": payment.ErrRefused} {
		t.Run(want, func(t *testing.T) { awayAndBack(t, want, away) })
	}
}

func awayAndBack(t *testing.T, want string, away error) {
	w, _, _ := newBank(t)
	if sum := w.round(); sum.Provider != "ASKED" {
		t.Fatalf("%+v", sum)
	}
	w.exec(`INSERT INTO wallet (user_id, currency, available, frozen, version, created_at, updated_at) VALUES ('bob', 'CNY', 0.01, 0, 0, ?, ?)`,
		w.ago(0), w.ago(0))
	w.advance += 24 * time.Hour
	w.began("p", "PENDING", "LIVE", "PROVIDER", hours, 0)
	w.charged("p", hours)
	w.bank.before = func(int, payment.Listing) error { return fmt.Errorf("%w: status 503", away) }
	for range 2 {
		sum := w.round()
		if sum.Status != "SUCCEEDED" || sum.Provider != want || sum.Wallets != 1 || len(w.differences(reconcile.DifferenceOpen)) < 2 {
			t.Errorf("%+v, open %q", sum, w.differences(reconcile.DifferenceOpen))
		}
		w.same()
		w.advance += 24 * time.Hour
	}
	w.bank.before = nil
	if sum := w.round(); sum.Provider != "ASKED" || sum.Charges != 1 {
		t.Errorf("%+v", sum)
	}
	w.same("NEWS_LOST payment p LEARN_SUCCESS")
}

func TestAProviderThatGoesAwayAmongPagesKeepsWhatWasFoundAndLosesNothing(t *testing.T) {
	t.Parallel()
	w, _, _ := newBank(t)
	for i := range 12 {
		name := fmt.Sprintf("p%02d", i)
		w.began(name, "PENDING", "LIVE", "PROVIDER", hours, 0)
		w.charged(name, hours-time.Duration(i)*time.Minute)
	}
	w.bank.before = func(call int, _ payment.Listing) error {
		if call == 3 {
			return payment.ErrNoProvider
		}
		return nil
	}
	sum := w.round()
	if open := w.ofProvider(reconcile.DifferenceOpen); sum.Provider != "NO_ANSWER" || len(open) != 6 || !sum.AskedUntil.Equal(sum.AskedFrom) {
		t.Errorf("%+v, open %q", sum, open)
	}
	w.bank.before = nil
	w.advance += 24 * time.Hour
	sum = w.round()
	if open := w.ofProvider(reconcile.DifferenceOpen); sum.Provider != "ASKED" || len(open) != 12 || sum.Charges != 12 {
		t.Errorf("%+v, open %q", sum, open)
	}
}

func TestAProviderThatIsTooSlowFailsNothing(t *testing.T) {
	t.Parallel()
	w, _, _ := newBank(t)
	w.bank.before = func(int, payment.Listing) error {
		time.Sleep(1100 * time.Millisecond)
		return nil
	}
	cfg := w.config()
	cfg.Budget = time.Second
	var sum money.Summary
	for n := 0; sum.Status != "SUCCEEDED"; n++ {
		var err error
		if sum, err = money.Run(t.Context(), w.db, nil, cfg); err != nil || n > 8 {
			t.Fatalf("%+v, %v", sum, err)
		}
	}
	if sum.Provider != "TOO_SLOW" || sum.Accounts == 0 && sum.Orders == 0 {
		t.Errorf("%+v", sum)
	}
	w.bank.before = nil
	if next := w.round(); next.Provider != "ASKED" || next.RoundID == sum.RoundID {
		t.Errorf("%+v", next)
	}
}

func TestWithoutAProviderARoundIsCompleteAndSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.began("p", "SUCCEEDED", "LIVE", "PROVIDER", hours, hours)
	if sum := w.round(); sum.Status != "SUCCEEDED" || sum.Provider != "NO_PROVIDER" || !sum.AskedUntil.IsZero() {
		t.Errorf("%+v", sum)
	}
}

// many has the bank list successes, one every ten seconds, of which every 50th was never heard of, and gives how many those are.
func (w *world) many(n int) (lost int) {
	w.t.Helper()
	for i := range n {
		name, status := fmt.Sprintf("m%03d", i), "SUCCEEDED"
		if i%50 == 7 {
			status, lost = "PENDING", lost+1
		}
		ago := hours + time.Duration(n-i)*10*time.Second
		w.began(name, status, "LIVE", "PROVIDER", ago, ago-time.Second)
		w.charged(name, ago)
	}
	return lost
}

func TestAListOfManyPagesIsGoneThroughOnceAndGoneOnWith(t *testing.T) {
	t.Parallel()
	w, _, _ := newBank(t)
	const n = 300 // a chunk takes 120, after the few minutes before it
	lost := w.many(n)
	w.began("forged", "SUCCEEDED", "LIVE", "PROVIDER", 4*hours, hours+5*time.Minute)
	open := `SELECT COUNT(*) FROM information_schema.innodb_trx t JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
 WHERE p.db = DATABASE()`
	stop := errors.New("the run dies")
	w.bank.before = func(call int, l payment.Listing) error {
		var transactions int
		if err := w.db.QueryRowContext(t.Context(), open).Scan(&transactions); err != nil || transactions > 0 {
			t.Errorf("call %d: %d transactions are open, %v", call, transactions, err)
		}
		if l.Limit != 3 {
			t.Errorf("pages of %d", l.Limit)
		}
		if call == 70 { // in the middle of the second chunk
			return stop
		}
		return nil
	}
	cut, err := money.Run(t.Context(), w.db, nil, w.config())
	if !errors.Is(err, stop) || cut.Status != "QUEUED" || cut.Charges < 100 || cut.Charges >= n {
		t.Fatalf("%+v, %v", cut, err)
	}
	sum, err := money.Resume(t.Context(), w.db, nil, w.config())
	if err != nil || sum.RoundID != cut.RoundID || sum.Provider != "ASKED" || sum.Charges != n || sum.Differences != len(w.differences(reconcile.DifferenceOpen)) {
		t.Errorf("%+v, %v", sum, err)
	}
	found := w.ofProvider(reconcile.DifferenceOpen)
	if len(found) != lost+1 || found[len(found)-1] != "NOT_LISTED payment forged NONE" {
		t.Errorf("found %q", found)
	}
}

package invariant

import (
	"slices"
	"strings"
	"testing"

	"holdfast/shared/deposit"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
	"holdfast/shared/waitlist"
)

// reading is the world of the equations' tests.
func reading() *Reading {
	r, c, _ := world()
	return &Reading{rows: r, cache: c}
}

func TestAJournalTellsLostPhantomAndRecoveredOrders(t *testing.T) {
	journal := []Wish{
		{testID(1), "ann", "STANDARD", 2, Promised},
		{testID(2), "bob", "STANDARD", 1, Unclear},  // repair made it an order
		{testID(3), "cat", "STANDARD", 1, Refused},  // it ended CANCELLED and holds nothing
		{testID(4), "dan", "STANDARD", 1, Promised}, // known to Redis alone
		{testID(5), "eve", "STANDARD", 1, Unclear},  // a tombstone is an end, too
		{testID(8), "fay", "STANDARD", 1, Unclear},  // nobody knows it, and nobody promised it
		{testID(9), "zoe", "STANDARD", 1, Promised}, // nobody knows it
	}
	f := reading().Fates(journal)
	if !slices.Equal(f.Lost, []sale.OrderID{testID(9)}) || len(f.Phantom) != 0 || f.Kept != 2 || f.Dropped != 1 ||
		!slices.Equal(f.Recovered, []sale.OrderID{testID(2), testID(5)}) {
		t.Errorf("fates %+v", f)
	}
	if !f.Broken() {
		t.Error("a lost promise passes")
	}
	journal = slices.Delete(journal, 6, 7)
	if f := reading().Fates(journal); f.Broken() {
		t.Errorf("nothing is lost: %+v", f)
	}
	journal[0].Quantity = 1 // promised otherwise than it is
	journal[3].Answer = Refused
	journal[1].OrderID = testID(7) // so that order 2 is nobody's
	f = reading().Fates(journal)
	if !slices.Equal(f.Lost, []sale.OrderID{testID(1)}) || !slices.Equal(f.Phantom, []sale.OrderID{testID(2), testID(4)}) {
		t.Errorf("fates %+v", f)
	}
}

func TestACounterMayBeAnywhereBetweenWhatIsCertain(t *testing.T) {
	b := NewBounds(10)
	b.Take(1)
	b.MayTake(2)
	b.MayGive(3)
	for left, possible := range map[int]bool{6: false, 7: true, 9: true, 12: true, 13: false} {
		if b.Contains(left) != possible {
			t.Errorf("%d left: possible is %v in %+v", left, !possible, b)
		}
	}
	b.Settle(-2, true)
	if b.Low != 7 || b.High != 10 || b.Settled() {
		t.Errorf("after the taking: %+v", b)
	}
	b.Settle(3, false)
	if b.Low != 7 || !b.Settled() {
		t.Errorf("after the giving back that never was: %+v", b)
	}
	b.MayTake(2)
	b.Settle(-2, false)
	b.MayGive(4)
	b.Settle(4, true)
	if b.Give(1); b.Low != 12 || !b.Settled() {
		t.Errorf("in the end: %+v", b)
	}
}

func TestOnlyStepsOfTheDiagramPass(t *testing.T) {
	for name, c := range map[string]struct {
		seen   []order.Status
		broken int
	}{
		"the whole way":               {[]order.Status{"", order.Reserved, order.Unpaid, order.Paid, order.Cancelled}, 0},
		"seen late":                   {[]order.Status{order.Paid, order.Paid}, 0},
		"steps missed":                {[]order.Status{order.Reserved, order.Cancelled}, 0},
		"forgotten before its row":    {[]order.Status{order.Reserved, "", order.Unpaid}, 0},
		"alive again":                 {[]order.Status{order.Unpaid, order.Cancelled, order.Unpaid}, 1},
		"unpaid again":                {[]order.Status{order.Paid, order.Unpaid}, 1},
		"a row that went":             {[]order.Status{order.Unpaid, ""}, 1},
		"a row that went and came":    {[]order.Status{order.Unpaid, order.Reserved, order.Paid}, 1},
		"dead, and its payment after": {[]order.Status{order.Cancelled, order.Paid, order.Cancelled}, 1},
	} {
		var s States
		for _, status := range c.seen {
			s.Observe(testID(1), status)
		}
		if got := s.Broken(); len(got) != c.broken {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// seenAs observes states one after the other and gives the steps that break the diagram.
func seenAs[S any](observe func(s *States, status S), seen ...S) []string {
	var s States
	for _, status := range seen {
		observe(&s, status)
	}
	return s.Broken()
}

func TestOnlyStepsOfTheDiagramsOfDepositsPaymentsAndEntriesPass(t *testing.T) {
	id := testID(1)
	held := func(s *States, status deposit.Status) { s.ObserveDeposit(id, status) }
	paid := func(s *States, status payment.Status) { s.ObservePayment("p1", status) }
	waits := func(s *States, status waitlist.Status) { s.ObserveEntry(waitlist.EntryID{1}, status) }
	for name, c := range map[string]struct {
		got  []string
		want string // the one step that should not be; "": none
	}{
		"confirmed":          {seenAs(held, deposit.Frozen, deposit.Deducted), ""},
		"settled, seen late": {seenAs(held, deposit.Refunded, deposit.Refunded), ""},
		"all of it kept":     {seenAs(held, deposit.Frozen, deposit.Penalty), ""},
		"frozen again":       {seenAs(held, deposit.Frozen, deposit.Refunded, deposit.Frozen), "deposit " + id.String() + " was REFUNDED and then FROZEN"},
		"given back, and consumed": {seenAs(held, deposit.Refunded, deposit.Deducted),
			"deposit " + id.String() + " was REFUNDED and then DEDUCTED"},
		"failed, and then it was there": {seenAs(paid, payment.Pending, payment.Failed, payment.Succeeded), ""},
		"a success that is none":        {seenAs(paid, payment.Succeeded, payment.Failed), "payment p1 was SUCCEEDED and then FAILED"},
		"offered and accepted":          {seenAs(waits, waitlist.Waiting, waitlist.Offered, waitlist.Accepted), ""},
		"offered between two looks":     {seenAs(waits, waitlist.Waiting, waitlist.Lapsed), ""},
		"waits again": {seenAs(waits, waitlist.Offered, waitlist.Waiting),
			"waitlist entry " + waitlist.EntryID{1}.String() + " was OFFERED and then WAITING"},
		"left, and accepted": {seenAs(waits, waitlist.Left, waitlist.Accepted),
			"waitlist entry " + waitlist.EntryID{1}.String() + " was LEFT and then ACCEPTED"},
	} {
		if strings.Join(c.got, "; ") != c.want {
			t.Errorf("%s: %q, want %q", name, c.got, c.want)
		}
	}
}

func TestBranchesThatWereNeverReachedAreNamed(t *testing.T) {
	b := NewBranches("2/RELEASE", "2/ACK", "a crash before commit")
	b.Reach("2/ACK")
	b.Reach("2/ACK")
	b.Reach("nobody asked for this one")
	if got := b.Missing(); !slices.Equal(got, []string{"2/RELEASE", "a crash before commit"}) || b.Reached()["2/ACK"] != 2 {
		t.Errorf("missing %q of %v", got, b.Reached())
	}
}

func TestAnOrderThatRedisLearnedOfMeanwhileIsInFlightAndOneThatStaysUnknownIsNot(t *testing.T) {
	r := reading()
	delete(r.cache.entries, testID(1))
	r.cache.left[bucketKey{"STANDARD", 0}] += 2
	r.again = map[sale.OrderID]pairing{testID(1): alike}
	report := r.Report(nil)
	for _, e := range report.Equations {
		if (e.ID == "C3" || e.ID == "C4") && !e.Pass {
			t.Errorf("%s fails for an order that was taken after the seq: %+v", e.ID, e)
		}
	}
	if report.InFlight != 2 {
		t.Errorf("%d in flight, want 2", report.InFlight)
	}
	r.again[testID(1)] = contradicting
	for _, e := range r.Report(nil).Equations {
		if (e.ID == "C3" || e.ID == "C4") && e.Pass {
			t.Errorf("%s passes for an order that Redis lost", e.ID)
		}
	}
}

func TestABuyerWhoMovedMeanwhileIsLeftOut(t *testing.T) {
	r := reading()
	r.cache.held["bob"] = mark{units: 5, last: testID(6)}
	r.cache.restless["bob"] = true
	for _, e := range r.Report(nil).Equations {
		if e.ID == "C5" && !e.Pass {
			t.Errorf("%+v", e)
		}
	}
}

func TestExactEqualityIsClaimedOnlyOfASaleAtRest(t *testing.T) {
	r := reading()
	if r.Report(nil).Exact() {
		t.Error("claimed of a sale that is on")
	}
	r.rows.status = sale.Suspended
	if r.Report(nil).Exact() {
		t.Error("claimed with an order in flight")
	}
	delete(r.cache.entries, testID(4))
	if !r.Report(nil).Exact() {
		t.Error("not claimed of a suspended sale with nothing in flight")
	}
}

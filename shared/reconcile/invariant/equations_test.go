package invariant

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/shared/sale"
)

var testNow = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// testID is a readable order id: n stands in its last byte.
func testID(n byte) sale.OrderID {
	return sale.OrderID{0, 0, 0, 0, 0, 1, 0x80, 0, 0x80, 0, 0, 0, 0, 0, 0, n}
}

// world is both stores of a small sale in which everything holds: order 1 unpaid, order 2 paid, order 3 cancelled and released,
// order 4 taken in Redis and still on its way, order 5 a tombstone that never held stock. Orders 1 to 3 came from the waitlist, where dan
// waits.
func world() (*rows, *cache, []Promise) {
	deadline, released := testNow.Add(10*time.Minute), testNow.Add(-time.Minute)
	key := bucketKey{"STANDARD", 0}
	order := func(n byte, user, status string, units int) *orderRow {
		o := &orderRow{id: testID(n), userID: user, ticketType: "STANDARD", quantity: max(units, 1), status: status}
		if units > 0 {
			o.allocations = sale.Allocations{{Bucket: 0, Count: units}}
		}
		return o
	}
	unpaid, paid := order(1, "ann", "UNPAID", 2), order(2, "bob", "PAID", 1)
	cancelled, tombstone := order(3, "cat", "CANCELLED", 1), order(5, "eve", "CANCELLED", 0)
	unpaid.deadline = &deadline
	for _, o := range []*orderRow{cancelled, tombstone} {
		o.cancelledAt, o.releasedAt = &released, &released
	}
	r := &rows{now: testNow, status: sale.Published, limit: 2, buckets: map[bucketKey]bucketRow{key: {capacity: 10, adjusted: 2, frozen: 2, sold: 1}},
		orders: make(map[sale.OrderID]*orderRow), routers: make(map[sale.OrderID]string),
		held:        map[string]int{"ann": 2, "bob": 1, "cat": 0},
		taken:       map[sale.OrderID]movement{testID(1): {"FREEZE", -2}, testID(2): {"DEDUCT", -1}, testID(3): {"FREEZE", -1}},
		givenBack:   map[sale.OrderID]movement{testID(3): {"FREEZE_ROLLED_BACK", 1}},
		adjustments: map[string]adjustment{"more": {"STANDARD", sale.Split{{Bucket: 0, Delta: 2}}, "APPLIED", testNow.Add(-time.Hour)}, "none": {"STANDARD", nil, "REFUSED", testNow}}}
	for _, o := range []*orderRow{unpaid, paid, cancelled, tombstone} {
		r.orders[o.id], r.routers[o.id] = o, o.userID
	}
	long := testNow.Add(-time.Hour)
	for n, status := range map[byte]string{1: "OFFERED", 2: "ACCEPTED", 3: "LAPSED"} {
		o := r.orders[testID(n)]
		o.source = "OFFER"
		r.waiters = append(r.waiters, waiterRow{entryID{n}, "STANDARD", o.userID, o.quantity, status, o.id, true, long})
	}
	r.waiters = append(r.waiters, waiterRow{entryID{4}, "STANDARD", "dan", 1, "WAITING", sale.OrderID{}, false, long})
	slices.SortFunc(r.waiters, func(a, b waiterRow) int { return int(a.id[0]) - int(b.id[0]) })
	r.notices = noticeSums{notices: 3, subjects: 3}
	one := sale.Allocations{{Bucket: 0, Count: 1}}
	c := &cache{now: testNow, left: map[bucketKey]int{key: 8}, totals: map[string]int{"STANDARD": 8}, folded: map[bucketKey]int{key: 8},
		entries: map[sale.OrderID]*entry{
			testID(1): {userID: "ann", ticketType: "STANDARD", taken: true, quantity: 2, allocations: unpaid.allocations, at: testNow.Add(-time.Hour)},
			testID(2): {userID: "bob", ticketType: "STANDARD", taken: true, quantity: 1, allocations: one, at: testNow.Add(-time.Hour)},
			testID(3): {userID: "cat", ticketType: "STANDARD", taken: true, quantity: 1, allocations: one, at: testNow.Add(-time.Hour), dead: true, returned: 1},
			testID(4): {userID: "dan", ticketType: "STANDARD", taken: true, quantity: 1, allocations: one, at: testNow.Add(-time.Second)},
			testID(5): {dead: true},
		},
		waiters:     map[entryID]string{{4}: "STANDARD"},
		adjustments: map[string]*logged{"more": {ticketType: "STANDARD", split: sale.Split{{Bucket: 0, Delta: 2}}}},
		held:        map[string]mark{"ann": {units: 2}, "bob": {units: 1}, "dan": {units: 1}}, restless: map[string]bool{}, liveUnits: map[string]int{"ann": 2, "bob": 1, "dan": 1}}
	promises := []Promise{{testID(1), "ann", "STANDARD", 2}, {testID(2), "bob", "STANDARD", 1}, {testID(3), "cat", "STANDARD", 1}}
	return r, c, promises
}

// judge evaluates every equation of a world.
func judge(r *rows, c *cache, promises []Promise) (map[string]Equation, int) {
	report := (&Reading{rows: r, cache: c}).Report(promises)
	all := make(map[string]Equation)
	for _, e := range report.Equations {
		all[e.ID] = e
	}
	return all, report.InFlight
}

func TestEveryEquationHoldsInAWorldWhereAllIsWell(t *testing.T) {
	r, c, promises := world()
	equations, inFlight := judge(r, c, promises)
	for id, e := range equations {
		if !e.Pass {
			t.Errorf("%s fails: %d = %d, first %s", id, e.Left, e.Right, e.FirstOffender)
		}
	}
	if inFlight != 1 {
		t.Errorf("in flight %d, want the one order that Redis alone knows", inFlight)
	}
}

// plants holds one error per equation, and whom the equation must name.
var plants = map[string]struct {
	plant    func(*rows, *cache, *[]Promise)
	offender string
}{
	"O1": {func(r *rows, _ *cache, _ *[]Promise) {
		b := r.buckets[bucketKey{"STANDARD", 0}]
		b.capacity = 0
		r.buckets[bucketKey{"STANDARD", 0}] = b
	}, "bucket STANDARD:0"},
	"O2": {func(r *rows, _ *cache, _ *[]Promise) { r.limit = 1 }, testID(1).String()},
	"L1": {func(_ *rows, _ *cache, p *[]Promise) { *p = append(*p, Promise{testID(9), "zoe", "STANDARD", 1}) }, testID(9).String()},
	"D1": {func(r *rows, _ *cache, _ *[]Promise) { delete(r.taken, testID(2)) }, testID(2).String()},
	"D2": {func(r *rows, _ *cache, _ *[]Promise) { r.givenBack[testID(1)] = movement{"FREEZE_ROLLED_BACK", 2} }, testID(1).String()},
	"D3": {func(r *rows, _ *cache, _ *[]Promise) { r.routers[testID(2)] = "mallory" }, testID(2).String()},
	"D4": {func(r *rows, _ *cache, _ *[]Promise) {
		b := r.buckets[bucketKey{"STANDARD", 0}]
		b.frozen++
		r.buckets[bucketKey{"STANDARD", 0}] = b
	}, "bucket STANDARD:0"},
	"D5": {func(r *rows, _ *cache, _ *[]Promise) {
		b := r.buckets[bucketKey{"STANDARD", 0}]
		b.sold--
		r.buckets[bucketKey{"STANDARD", 0}] = b
	}, "bucket STANDARD:0"},
	"D6": {func(r *rows, _ *cache, _ *[]Promise) { r.held["cat"] = 1 }, "buyer cat"},
	"D7": {func(r *rows, _ *cache, _ *[]Promise) { r.taken[testID(2)] = movement{"FREEZE", -1} }, testID(2).String()},
	"D8": {func(r *rows, _ *cache, _ *[]Promise) {
		r.adjustments["more"] = adjustment{"STANDARD", sale.Split{{Bucket: 0, Delta: 3}}, "APPLIED", testNow}
	}, "bucket STANDARD:0"},
	"C1": {func(_ *rows, c *cache, _ *[]Promise) { c.folded[bucketKey{"STANDARD", 0}]++ }, "bucket STANDARD:0"},
	"C2": {func(_ *rows, c *cache, _ *[]Promise) { c.totals["STANDARD"]++ }, "ticket type STANDARD"},
	"C3": {func(_ *rows, c *cache, _ *[]Promise) { c.entries[testID(2)].dead = true }, testID(2).String()},
	"C4": {func(_ *rows, c *cache, _ *[]Promise) { c.left[bucketKey{"STANDARD", 0}]++ }, "bucket STANDARD:0"},
	"C5": {func(_ *rows, c *cache, _ *[]Promise) { c.held["bob"] = mark{units: 2} }, "buyer bob"},
	"C6": {func(_ *rows, c *cache, _ *[]Promise) { delete(c.adjustments, "more") }, "adjustment more"},
	"C7": {func(_ *rows, c *cache, _ *[]Promise) { c.entries[testID(3)].returned = 2 }, testID(3).String()},
	"S1": {func(r *rows, _ *cache, _ *[]Promise) {
		late := testNow.Add(-Grace)
		r.orders[testID(1)].deadline = &late
	}, testID(1).String()},
	"S2": {func(r *rows, _ *cache, _ *[]Promise) {
		early := testNow.Add(-Grace)
		r.orders[testID(3)].cancelledAt, r.orders[testID(3)].releasedAt = &early, nil
	}, testID(3).String()},
	"S7": {func(r *rows, _ *cache, _ *[]Promise) {
		early := testNow.Add(-Grace)
		r.offSince = &early
	}, testID(1).String()},
	"S8": {func(r *rows, _ *cache, _ *[]Promise) {
		r.adjustments["slow"] = adjustment{"STANDARD", nil, "PENDING", testNow.Add(-Grace)}
	}, "adjustment slow"},
	"W4": {func(r *rows, _ *cache, _ *[]Promise) {
		early := testNow.Add(-Grace)
		r.overSince = &early
	}, "waitlist entry 04" + strings.Repeat("00", 15)},
	"W1": {func(r *rows, _ *cache, _ *[]Promise) { r.waiters[0].status = "LAPSED" }, "waitlist entry 01" + strings.Repeat("00", 15)},
	"W2": {func(r *rows, _ *cache, _ *[]Promise) { r.waiters[3].userID = "ann" }, "waitlist entry 04" + strings.Repeat("00", 15)},
	"W3": {func(_ *rows, c *cache, _ *[]Promise) { delete(c.waiters, entryID{4}) }, "waitlist entry 04" + strings.Repeat("00", 15)},
	"N1": {func(r *rows, _ *cache, _ *[]Promise) { r.notices = noticeSums{notices: 4, subjects: 3, doubled: "x"} }, "notices of x"},
	"N2": {func(r *rows, _ *cache, _ *[]Promise) { r.notices.orphans = []sale.OrderID{testID(9)} }, testID(9).String()},
	"L2": {func(_ *rows, c *cache, _ *[]Promise) { c.entries[testID(4)].at = testNow.Add(-Grace) }, testID(4).String()},
}

func TestEachEquationFindsItsPlantedErrorAndNamesIt(t *testing.T) {
	r, c, promises := world()
	equations, _ := judge(r, c, promises)
	if got, want := slices.Sorted(maps.Keys(equations)), slices.Sorted(maps.Keys(plants)); !slices.Equal(got, want) {
		t.Fatalf("equations %v, planted errors for %v", got, want)
	}
	for id, p := range plants {
		r, c, promises := world()
		p.plant(r, c, &promises)
		equations, _ := judge(r, c, promises)
		if e := equations[id]; e.Pass || e.FirstOffender != p.offender {
			t.Errorf("%s: pass %v, first offender %q, want %q", id, e.Pass, e.FirstOffender, p.offender)
		}
	}
}

func TestPairsThatContradictAreFound(t *testing.T) {
	for name, plant := range map[string]func(*rows, *cache){
		"live row that Redis does not know":    func(_ *rows, c *cache) { delete(c.entries, testID(1)) },
		"dead entry without any row":           func(r *rows, _ *cache) { delete(r.orders, testID(3)) },
		"other buckets on the two sides":       func(_ *rows, c *cache) { c.entries[testID(2)].allocations = sale.Allocations{{Bucket: 1, Count: 1}} },
		"other owner on the two sides":         func(_ *rows, c *cache) { c.entries[testID(2)].userID = "mallory" },
		"dead entry whose row was made live":   func(r *rows, _ *cache) { r.orders[testID(5)].status = "UNPAID" },
		"other ticket type on the two sides":   func(r *rows, _ *cache) { r.orders[testID(2)].ticketType = "GUEST" },
		"taken entry of an order in no bucket": func(_ *rows, c *cache) { c.entries[testID(1)].allocations = nil },
	} {
		r, c, promises := world()
		plant(r, c)
		if equations, _ := judge(r, c, promises); equations["C3"].Pass {
			t.Errorf("%s is not found", name)
		}
	}
}

func TestReportIsReadableAndCountsAsPassedOnlyWithEquations(t *testing.T) {
	if (&Report{}).Pass() {
		t.Error("a report without equations passes")
	}
	r := &Report{InFlight: 3, Equations: []Equation{{ID: "O1", Text: "units", Left: 1, Right: 2, FirstOffender: "bucket A:0"}}}
	var out strings.Builder
	if err := r.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"FAIL", "O1", "first: bucket A:0", "in flight between the stores: 3"} {
		if !strings.Contains(out.String(), words) {
			t.Errorf("the report lacks %q:\n%s", words, out.String())
		}
	}
}

func TestAnEntryOfTheWaitlistStandsAsItsOrder(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(*rows)
		holds bool
	}{
		"offered and paid at once": {func(r *rows) {
			r.waiters[0].orderID = testID(2)
			r.waiters[0].userID = "bob"
			r.waiters[0].quantity = 1
		}, false},
		"accepted without a payment":     {func(r *rows) { r.waiters[0].status = "ACCEPTED" }, false},
		"accepted by freezing a deposit": {func(r *rows) { r.waiters[0].status = "ACCEPTED"; r.money = frozenDeposit(testID(1)) }, true},
		"frozen and still offered":       {func(r *rows) { r.money = frozenDeposit(testID(1)) }, false},
		"paid, and cancelled later":      {func(r *rows) { r.waiters[2].status = "ACCEPTED"; r.orders[testID(3)].paidBy = "p" }, true},
		"of no price, and cancelled later": {func(r *rows) {
			r.waiters[2].status, r.taken[testID(3)] = "ACCEPTED", movement{"DEDUCT", -1}
		}, true},
		"never paid, and cancelled later":    {func(r *rows) { r.waiters[2].status = "ACCEPTED" }, false},
		"lapsed, and its order lives":        {func(r *rows) { r.waiters[0].status = "LAPSED" }, false},
		"an order of another user":           {func(r *rows) { r.waiters[0].userID = "mallory" }, false},
		"an order of another size":           {func(r *rows) { r.waiters[0].quantity = 9 }, false},
		"an order that is none":              {func(r *rows) { r.waiters[0].orderID = testID(9) }, false},
		"an offer to nobody":                 {func(r *rows) { r.waiters = r.waiters[1:] }, false},
		"a tombstone of an offer":            {func(r *rows) { o := r.orders[testID(5)]; o.source, o.createdAt = "OFFER", *o.cancelledAt }, true},
		"an offer that lived and nobody has": {func(r *rows) { r.orders[testID(5)].source = "OFFER" }, false},
	} {
		r, c2, promises := world()
		c.plant(r)
		if equations, _ := judge(r, c2, promises); equations["W1"].Pass != c.holds {
			t.Errorf("%s: %+v", name, equations["W1"])
		}
	}
}

// frozenDeposit is what the checks of money know of an offer that was accepted.
func frozenDeposit(id sale.OrderID) *moneyChecks {
	m := newMoneyChecks(testNow, sale.Test)
	m.offered[id] = &depositRow{status: "FROZEN"}
	return m
}

func TestTheSetOfWaitersAgreesWithTheRowsOrIsOnItsWay(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(*rows, *cache)
		holds bool
	}{
		"a row that has just been written":   {func(r *rows, c *cache) { r.waiters[3].updatedAt = testNow; delete(c.waiters, entryID{4}) }, true},
		"a member that has just left":        {func(r *rows, _ *cache) { r.waiters[3].updatedAt = testNow; r.waiters[3].status = "LEFT" }, true},
		"a member that left long ago":        {func(r *rows, _ *cache) { r.waiters[3].status = "LEFT" }, false},
		"a member that nobody knows":         {func(_ *rows, c *cache) { c.waiters[entryID{9}] = "STANDARD" }, false},
		"a member of another type's set":     {func(_ *rows, c *cache) { c.waiters[entryID{4}] = "GUEST" }, false},
		"an offer whose member is still set": {func(_ *rows, c *cache) { c.waiters[entryID{1}] = "STANDARD" }, false},
	} {
		r, c2, promises := world()
		c.plant(r, c2)
		if equations, _ := judge(r, c2, promises); equations["W3"].Pass != c.holds {
			t.Errorf("%s: %+v", name, equations["W3"])
		}
	}
}

// What a repair or a job is still at is not stuck.
func TestWhatHasItsGraceIsNotStuck(t *testing.T) {
	soon := testNow.Add(-Grace + time.Millisecond)
	for id, plant := range map[string]func(*rows){
		"S7": func(r *rows) { r.offSince = &soon },
		"S8": func(r *rows) { r.adjustments["slow"] = adjustment{"STANDARD", nil, "PENDING", soon} },
		"W4": func(r *rows) { r.overSince = &soon },
	} {
		r, c, promises := world()
		plant(r)
		if equations, _ := judge(r, c, promises); !equations[id].Pass {
			t.Errorf("%s: %+v", id, equations[id])
		}
	}
}

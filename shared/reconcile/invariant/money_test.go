package invariant

import (
	"maps"
	"slices"
	"testing"
	"time"

	"holdfast/shared/sale"
)

// purse is the money of a small sale in which everything holds, and the orders that it belongs to: 1 was paid by the provider, twice, and
// partly given back; 2 is a deposit that is FROZEN; 3 one that was missed, and half of its penalty came back; 4 one that was confirmed;
// 5 was paid late and lives on as 6; of 7 a success is not decided, and giving back a payment of 8 failed.
type purse struct {
	orders map[byte]*orderRow
	page   moneyPage
}

func newPurse() *purse {
	soon, just := testNow.Add(time.Minute), testNow.Add(-time.Minute)
	p := &purse{orders: map[byte]*orderRow{
		1: {status: "PAID", paid: 1250, refunded: 250, paidBy: "p1"}, 2: {status: "UNPAID"}, 3: {status: "CANCELLED"},
		4: {status: "PAID", paid: 3000, paidBy: "DEPOSIT"}, 5: {status: "CANCELLED"}, 6: {status: "PAID", paid: 1250, paidBy: "p5"},
		7: {status: "UNPAID", deadline: &soon}, 8: {status: "CANCELLED"}}}
	for n, o := range p.orders {
		o.id = testID(n)
	}
	entry := func(n byte, kind, reference, from, to string, amount int) entryRow {
		return entryRow{kind, reference, testID(n), amount, from, to}
	}
	p.page = moneyPage{
		entries: []entryRow{
			entry(1, "PAYMENT_RECEIVED", "p1", "PROVIDER", "SUSPENSE", 1250), entry(1, "PAYMENT_APPLIED", "p1", "SUSPENSE", "HOUSE", 1250),
			entry(1, "PAYMENT_RECEIVED", "p2", "PROVIDER", "SUSPENSE", 1250), entry(1, "SURPLUS_REFUND", "f2", "SUSPENSE", "PROVIDER", 1250),
			entry(1, "REFUND", "f1", "HOUSE", "PROVIDER", 250),
			entry(2, "DEPOSIT_FREEZE", "2", "AVAIL", "FROZEN", 1000),
			entry(3, "DEPOSIT_FREEZE", "3", "AVAIL", "FROZEN", 1000), entry(3, "DEPOSIT_PENALTY", "3", "FROZEN", "CLUB:north", 300),
			entry(3, "DEPOSIT_REFUND", "3", "FROZEN", "AVAIL", 700), entry(3, "PENALTY_REVERSAL", "f3", "CLUB:north", "AVAIL", 150),
			entry(4, "DEPOSIT_FREEZE", "4", "AVAIL", "FROZEN", 1000), entry(4, "DEPOSIT_CONSUME", "4", "FROZEN", "HOUSE", 1000),
			entry(4, "DEPOSIT_SUPPLEMENT", "4", "AVAIL", "HOUSE", 2000),
			entry(5, "PAYMENT_RECEIVED", "p5", "PROVIDER", "SUSPENSE", 1250), entry(6, "PAYMENT_APPLIED", "p5", "SUSPENSE", "HOUSE", 1250),
			entry(7, "PAYMENT_RECEIVED", "p7", "PROVIDER", "SUSPENSE", 1250),
			entry(8, "PAYMENT_RECEIVED", "p8", "PROVIDER", "SUSPENSE", 1250), entry(8, "SURPLUS_REFUND", "f8", "SUSPENSE", "PROVIDER", 1250),
			entry(8, "REFUND_FAILED", "f8", "PROVIDER", "SUSPENSE", 1250),
		},
		deposits: map[sale.OrderID]*depositRow{
			testID(2): {status: "FROZEN", club: "north", deposit: 1000, deadline: soon},
			testID(3): {status: "REFUNDED", club: "north", deposit: 1000, penalty: 300, refunded: 700, penaltyReturn: 150},
			testID(4): {status: "DEDUCTED", club: "north", deposit: 1000, consumed: 1000, supplement: 2000},
		},
		payments: []paymentRow{
			{id: "p1", orderID: testID(1), method: "PROVIDER", status: "SUCCEEDED", disposition: "ORDER", amount: 1250, succeededAt: &just},
			{id: "p2", orderID: testID(1), method: "PROVIDER", status: "SUCCEEDED", disposition: "REFUND", amount: 1250, succeededAt: &just},
			{id: "p5", orderID: testID(5), method: "PROVIDER", status: "SUCCEEDED", disposition: "NEW_ORDER", newOrderID: testID(6), amount: 1250,
				succeededAt: &just},
			{id: "p7", orderID: testID(7), method: "PROVIDER", status: "SUCCEEDED", amount: 1250, succeededAt: &just},
			{id: "p8", orderID: testID(8), method: "PROVIDER", status: "SUCCEEDED", disposition: "REFUND", amount: 1250, succeededAt: &just},
			{id: "p9", orderID: testID(7), method: "PROVIDER", status: "PENDING", amount: 1250, expiresAt: &just},
		},
		refunds: []refundRow{
			{id: "f1", paymentID: "p1", orderID: testID(1), target: "PROVIDER", status: "SENT", amount: 250, dueAt: soon},
			{id: "f2", paymentID: "p2", orderID: testID(1), surplus: true, target: "PROVIDER", status: "SUCCEEDED", amount: 1250},
			{id: "f3", orderID: testID(3), penalty: true, target: "WALLET", status: "SUCCEEDED", amount: 150},
			{id: "f8", paymentID: "p8", orderID: testID(8), surplus: true, target: "PROVIDER", status: "FAILED", amount: 1250},
		}}
	return p
}

// checked puts the purse through the checks in pages that end after these orders.
func (p *purse) checked(mode sale.Mode, ends ...byte) map[string]Equation {
	m := newMoneyChecks(testNow, mode)
	first := byte(1)
	for _, last := range append(ends, 255) {
		within := func(id sale.OrderID) bool { return id[15] >= first && id[15] <= last }
		part := &moneyPage{deposits: maps.Clone(p.page.deposits)}
		for _, n := range slices.Sorted(maps.Keys(p.orders)) {
			if n >= first && n <= last {
				part.orders = append(part.orders, p.orders[n])
			}
		}
		maps.DeleteFunc(part.deposits, func(id sale.OrderID, _ *depositRow) bool { return !within(id) })
		part.entries = slices.DeleteFunc(slices.Clone(p.page.entries), func(e entryRow) bool { return !within(e.orderID) })
		part.payments = slices.DeleteFunc(slices.Clone(p.page.payments), func(one paymentRow) bool { return !within(one.orderID) })
		part.refunds = slices.DeleteFunc(slices.Clone(p.page.refunds), func(f refundRow) bool { return !within(f.orderID) })
		m.add(part)
		first = last + 1
	}
	money, effects, states := m.equations()
	all := make(map[string]Equation)
	for _, e := range slices.Concat(money, effects, states) {
		all[e.ID] = e
	}
	return all
}

func (p *purse) entry(kind, reference string) *entryRow {
	i := slices.IndexFunc(p.page.entries, func(e entryRow) bool { return e.kind == kind && e.reference == reference })
	return &p.page.entries[i]
}

func (p *purse) drop(kind, reference string) {
	p.page.entries = slices.DeleteFunc(p.page.entries, func(e entryRow) bool { return e.kind == kind && e.reference == reference })
}

func TestMoneyInOrderHoldsWhereverAPageEnds(t *testing.T) {
	for _, ends := range [][]byte{nil, {5}, {1, 2, 3, 4, 5, 6, 7}} {
		all := newPurse().checked(sale.Live, ends...)
		for id, e := range all {
			if !e.Pass {
				t.Errorf("pages %v: %+v", ends, e)
			}
			if slices.Contains([]string{"M3", "M4", "M5", "M6", "M7", "M8"}, id) && e.Left == 0 {
				t.Errorf("pages %v: nothing was compared by %+v", ends, e)
			}
		}
		if m4 := all["M4"]; m4.Left != 1000+3000+1250 || m4.Right != m4.Left {
			t.Errorf("pages %v: HOUSE %+v", ends, m4)
		}
	}
}

func TestATestSaleHasStatesAndNoSums(t *testing.T) {
	all := newPurse().checked(sale.Test)
	if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, []string{"D9", "S3", "S4", "S5", "S6"}) {
		t.Errorf("equations %v", got)
	}
}

// moneyPlants holds one error each, the equation that must find it, and whom it must name.
var moneyPlants = map[string]struct {
	plant        func(p *purse)
	id, offender string
}{
	"money frozen without a deposit": {func(p *purse) { delete(p.page.deposits, testID(2)) }, "M3", testID(2).String()},
	"a settled deposit holds money":  {func(p *purse) { p.drop("DEPOSIT_REFUND", "3") }, "M3", testID(3).String()},
	"paid without an entry":          {func(p *purse) { p.orders[1].paid++ }, "M4", testID(1).String()},
	"received twice":                 {func(p *purse) { p.page.entries = append(p.page.entries, *p.entry("PAYMENT_APPLIED", "p1")) }, "M4", testID(1).String()},
	"paid and refunded both wrong":   {func(p *purse) { p.orders[1].paid, p.orders[1].refunded = 1300, 300 }, "M4", testID(1).String()},
	"money for no order":             {func(p *purse) { delete(p.orders, 6) }, "M4", testID(6).String()},
	"penalty to HOUSE":               {func(p *purse) { p.entry("DEPOSIT_PENALTY", "3").to = "HOUSE" }, "M4", testID(3).String()},
	"penalty to another club":        {func(p *purse) { p.entry("DEPOSIT_PENALTY", "3").to = "CLUB:south" }, "M5", testID(3).String()},
	"penalty given back, not noted":  {func(p *purse) { p.page.deposits[testID(3)].penaltyReturn = 0 }, "M5", testID(3).String()},
	"a success without its receipt":  {func(p *purse) { p.drop("PAYMENT_RECEIVED", "p7") }, "M6", "payment p7"},
	"a surplus that was kept":        {func(p *purse) { p.drop("SURPLUS_REFUND", "f2") }, "M6", "payment p2"},
	"a late payment applied twice": {func(p *purse) {
		p.page.entries = append(p.page.entries, *p.entry("PAYMENT_APPLIED", "p5"))
	}, "M6", "payment p5"},
	"a failed refund that is not back": {func(p *purse) { p.drop("REFUND_FAILED", "f8") }, "M6", "refund f8"},
	"a cent lost between the parts":    {func(p *purse) { p.page.deposits[testID(3)].refunded-- }, "M7", testID(3).String()},
	"parts swapped":                    {func(p *purse) { d := p.page.deposits[testID(3)]; d.penalty, d.refunded = d.refunded, d.penalty }, "M7", testID(3).String()},
	"supplement of another amount":     {func(p *purse) { p.page.deposits[testID(4)].supplement = 1999 }, "M7", testID(4).String()},
	"a refund without its entry":       {func(p *purse) { p.drop("REFUND", "f1") }, "M8", "refund REFUND f1 to PROVIDER"},
	"a refund to the wrong account":    {func(p *purse) { p.entry("REFUND", "f1").to = "AVAIL" }, "M8", "refund REFUND f1 to AVAIL"},
	"refunded more than its refunds":   {func(p *purse) { p.orders[1].refunded++ }, "M8", testID(1).String()},
	"an entry of no refund":            {func(p *purse) { p.page.refunds = p.page.refunds[1:]; p.orders[1].refunded = 0 }, "M8", "refund REFUND f1 to PROVIDER"},
	"a deposit that nobody settled":    {func(p *purse) { p.page.deposits[testID(2)].deadline = testNow.Add(-Grace) }, "S3", testID(2).String()},
	"a paid order that holds money":    {func(p *purse) { p.orders[2].status = "PAID" }, "S4", testID(2).String()},
	"a forfeited seat that is kept":    {func(p *purse) { p.orders[3].status = "UNPAID" }, "S4", testID(3).String()},
	"an unpaid order without an end":   {func(p *purse) { p.orders[7].deadline = nil }, "S4", testID(7).String()},
	"a payment that stays pending": {func(p *purse) {
		at := testNow.Add(-Grace)
		p.page.payments[5].expiresAt = &at
	}, "S5", "payment p9"},
	"a success that nobody decides": {func(p *purse) {
		at := testNow.Add(-Grace)
		p.page.payments[3].succeededAt = &at
	}, "S5", "payment p7"},
	"a refund that nobody sends":          {func(p *purse) { p.page.refunds[0].dueAt = testNow.Add(-Grace) }, "S6", "refund f1"},
	"two payments of one order":           {func(p *purse) { p.page.payments[1].disposition = "ORDER" }, "D9", testID(1).String()},
	"paid by another payment":             {func(p *purse) { p.orders[1].paidBy = "p2" }, "D9", testID(1).String()},
	"paid by a payment that there is not": {func(p *purse) { p.page.payments = p.page.payments[1:] }, "D9", testID(1).String()},
	"paid late by a payment that there is not": {func(p *purse) {
		p.page.payments = slices.DeleteFunc(p.page.payments, func(one paymentRow) bool { return one.id == "p5" })
	}, "D9", testID(6).String()},
	"paid by nothing":                          {func(p *purse) { p.orders[1].paidBy, p.page.payments = "", p.page.payments[1:] }, "D9", testID(1).String()},
	"a late payment without the order it made": {func(p *purse) { delete(p.orders, 6) }, "D9", testID(6).String()},
}

func TestEachErrorInMoneyIsFoundAndNamed(t *testing.T) {
	found := make(map[string]bool)
	for name, c := range moneyPlants {
		p := newPurse()
		c.plant(p)
		e := p.checked(sale.Live, 4)[c.id]
		if e.Pass || e.FirstOffender != c.offender {
			t.Errorf("%s: pass %v, first offender %q, want %q", name, e.Pass, e.FirstOffender, c.offender)
		}
		found[c.id] = true
	}
	if want := slices.Sorted(maps.Keys(newPurse().checked(sale.Live))); !slices.Equal(slices.Sorted(maps.Keys(found)), want) {
		t.Errorf("errors for %v, equations %v", slices.Sorted(maps.Keys(found)), want)
	}
}

func TestWalletsAreHeldAgainstEveryEntry(t *testing.T) {
	ann := walletKey{"ann", "CNY"}
	entry := func(version, available, frozen int, after walletRow) walletEntry {
		return walletEntry{ann, available, frozen, version, after}
	}
	for name, c := range map[string]struct {
		entries    []walletEntry
		wallet     walletRow
		sums, next string // the offenders; "" passes
	}{
		"all is well":                        {[]walletEntry{entry(1, 500, 0, walletRow{500, 0, 1}), entry(2, -200, 200, walletRow{300, 200, 2})}, walletRow{300, 200, 2}, "", ""},
		"a balance without an entry":         {[]walletEntry{entry(1, 500, 0, walletRow{500, 0, 1})}, walletRow{501, 0, 1}, "wallet ann CNY", ""},
		"available counted as frozen":        {[]walletEntry{entry(1, 500, 0, walletRow{500, 0, 1})}, walletRow{300, 200, 1}, "wallet ann CNY", ""},
		"a version left out":                 {[]walletEntry{entry(1, 500, 0, walletRow{500, 0, 1}), entry(3, 1, 0, walletRow{501, 0, 3})}, walletRow{501, 0, 3}, "", "wallet ann CNY, version 3"},
		"an entry that says another balance": {[]walletEntry{entry(1, 500, 0, walletRow{400, 0, 1})}, walletRow{500, 0, 1}, "", "wallet ann CNY, version 1"},
		"a movement without a version":       {[]walletEntry{entry(1, 500, 0, walletRow{500, 0, 1})}, walletRow{500, 0, 2}, "", "wallet ann CNY"},
		"entries and no wallet":              {[]walletEntry{entry(1, 500, 0, walletRow{500, 0, 1})}, walletRow{}, "wallet ann CNY", "wallet ann CNY"},
	} {
		w := newWalletChecks("M1", "M2")
		reckoned := make(map[walletKey]walletRow)
		for _, e := range c.entries {
			w.follow(reckoned, e)
		}
		wallets := map[walletKey]walletRow{ann: c.wallet}
		if c.wallet == (walletRow{}) {
			wallets = map[walletKey]walletRow{}
		}
		w.compare(wallets, reckoned)
		if w.sums.FirstOffender != c.sums || w.chain.FirstOffender != c.next {
			t.Errorf("%s: %+v, %+v", name, w.sums, w.chain)
		}
	}
}

func TestAccountsAreHeldAgainstEntriesAndEachOther(t *testing.T) {
	newBooks := func() *accountChecks {
		c := newAccountChecks()
		for account, amount := range map[string]int{"AVAIL": 300, "FROZEN": 200, "OUTSIDE": -500} {
			c.balances[accountKey{account, "CNY"}], c.logged[accountKey{account, "CNY"}] = amount, amount
		}
		return c
	}
	for name, c := range map[string]struct {
		plant         func(*accountChecks)
		zero, entries string
	}{
		"all is well":             {func(*accountChecks) {}, "", ""},
		"a row of the inbox lost": {func(c *accountChecks) { c.balances[accountKey{"OUTSIDE", "CNY"}] = -499 }, "CNY", "account OUTSIDE CNY"},
		"an account without entries": {func(c *accountChecks) {
			c.balances[accountKey{"HOUSE", "CNY"}], c.balances[accountKey{"OUTSIDE", "CNY"}] = 1, -501
		}, "", "account HOUSE CNY"},
		"two currencies that cancel out": {func(c *accountChecks) {
			for k, amount := range map[accountKey]int{{"AVAIL", "CNY"}: 301, {"AVAIL", "EUR"}: -1} {
				c.balances[k], c.logged[k] = amount, amount
			}
		}, "CNY", ""},
	} {
		books := newBooks()
		c.plant(books)
		if e := books.equations(); e[0].FirstOffender != c.zero || e[1].FirstOffender != c.entries {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

package invariant

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/shared/order"
	"holdfast/shared/sale"
)

// entryRow is one row of wallet_log, in hundredths of its currency.
type entryRow struct {
	kind, reference string
	orderID         sale.OrderID
	amount          int
	from, to        string
}

// into is what an entry brings to an account; negative for what it takes away.
func (e *entryRow) into(account string) int {
	switch account {
	case e.to:
		return e.amount
	case e.from:
		return -e.amount
	}
	return 0
}

// depositRow is one row of deposit_record, money in hundredths.
type depositRow struct {
	status, club                                                    string
	deposit, consumed, supplement, penalty, refunded, penaltyReturn int
	deadline                                                        time.Time
}

// frozen is what the deposit still holds.
func (d *depositRow) frozen() int {
	if d.status == "FROZEN" {
		return d.deposit
	}
	return 0
}

// paymentRow is one row of payment, money in hundredths.
type paymentRow struct {
	id                          string
	orderID                     sale.OrderID
	method, status, disposition string
	newOrderID                  sale.OrderID // that a late one made; zero: none
	amount                      int
	expiresAt, succeededAt      *time.Time
}

// paid is the order that the payment paid; the zero id when it paid none.
func (p *paymentRow) paid() sale.OrderID {
	switch p.disposition {
	case "ORDER":
		return p.orderID
	case "NEW_ORDER":
		return p.newOrderID
	}
	return sale.OrderID{}
}

// undecided is what was received of a provider and belongs to nobody yet.
func (p *paymentRow) undecided() int {
	if p.status == "SUCCEEDED" && p.method == "PROVIDER" && p.disposition == "" {
		return p.amount
	}
	return 0
}

// refundRow is one row of refund, money in hundredths.
type refundRow struct {
	id, paymentID    string
	orderID          sale.OrderID
	surplus, penalty bool
	target, status   string
	amount           int
	dueAt            time.Time
}

// kind is the type of the entry that a refund makes.
func (f *refundRow) kind() string {
	switch {
	case f.surplus:
		return "SURPLUS_REFUND"
	case f.penalty:
		return "PENALTY_REVERSAL"
	}
	return "REFUND"
}

// account is where the refund goes.
func (f *refundRow) account() string {
	if f.target == "WALLET" {
		return "AVAIL"
	}
	return f.target
}

// returned is what came back to SUSPENSE because the provider could not give it back.
func (f *refundRow) returned() int {
	if f.status == "FAILED" && f.target == "PROVIDER" {
		return f.amount
	}
	return 0
}

// moneyPage is all that belongs to the orders of one range of ids.
type moneyPage struct {
	orders   []*orderRow // by id
	entries  []entryRow
	deposits map[sale.OrderID]*depositRow
	payments []paymentRow
	refunds  []refundRow
}

// moneyChecks goes over an activity page by page and keeps sums alone, and what is not in balance yet.
type moneyChecks struct {
	now  time.Time
	live bool // a TEST sale moves no money, so that it has states and no sums

	frozen, house, club, suspense, parts, refunds *tally // M3 to M8
	overdue, fit, payments, sent, decided         *tally // S3 to S6, D9

	kept    map[string]int               // by payment, what its entries and its row leave in SUSPENSE: 0 when they agree
	payers  map[payer]int                // 1: a payment says that it paid an order, -1: the order alone says so; 0 when both do
	owed    map[string]int               // by refund, what its entry has more than its row
	offered map[sale.OrderID]*depositRow // deposits of orders that the waitlist offered
}

// payer is a payment and an order that it paid.
type payer struct {
	order   sale.OrderID
	payment string
}

func newMoneyChecks(now time.Time, mode sale.Mode) *moneyChecks {
	return &moneyChecks{now: now, live: mode == sale.Live,
		frozen:   newTally("M3", "frozen by the entries of the orders = deposits that are FROZEN, in hundredths"),
		house:    newTally("M4", "received for the orders by entries of HOUSE = paid and not refunded, in hundredths"),
		club:     newTally("M5", "kept by clubs, by their entries = penalties without those given back, in hundredths"),
		suspense: newTally("M6", "held in SUSPENSE by entries = successes that are not decided and refunds that failed, in hundredths"),
		parts:    newTally("M7", "consumed, penalty, refunded and frozen of the deposits = what was frozen by entries, in hundredths"),
		refunds:  newTally("M8", "given back by entries = refunds, in hundredths"),
		overdue:  newTally("S3", "deposits FROZEN past their deadline and the grace"),
		fit:      newTally("S4", "orders whose deposit stands as the order does"),
		payments: newTally("S5", "payments PENDING past their end and the grace, and successes not decided after it"),
		sent:     newTally("S6", "refunds that are not final and overdue by the grace"),
		decided:  newTally("D9", "payments that paid an order = orders that say so of that payment"),
		kept:     make(map[string]int), payers: make(map[payer]int), owed: make(map[string]int), offered: make(map[sale.OrderID]*depositRow)}
}

// add checks one page.
func (m *moneyChecks) add(p *moneyPage) {
	entries := make(map[sale.OrderID][]*entryRow)
	for i := range p.entries {
		e := &p.entries[i]
		entries[e.orderID] = append(entries[e.orderID], e)
	}
	payments := make(map[sale.OrderID]bool)
	for i := range p.payments {
		payments[p.payments[i].orderID] = true
		m.ofPayment(&p.payments[i])
	}
	refunded := make(map[sale.OrderID]int)
	for i := range p.refunds {
		f := &p.refunds[i]
		if !f.surplus && !f.penalty {
			refunded[f.orderID] += f.amount
		}
		m.ofRefund(f)
	}
	known := make(map[sale.OrderID]bool, len(p.orders))
	for _, o := range p.orders {
		known[o.id] = true
		d := p.deposits[o.id]
		m.ofState(o, d)
		m.ofPayer(o)
		m.ofOrder(o, d, entries[o.id])
		m.refunds.compare(refunded[o.id], o.refunded, o.id.String()) // a refund of a penalty or a surplus is none of what was paid
	}
	for _, id := range strangers(known, entries, payments, p.deposits) {
		m.ofOrder(&orderRow{id: id}, p.deposits[id], entries[id])
	}
	m.ofSuspense(p)
	maps.DeleteFunc(m.kept, func(_ string, left int) bool { return left == 0 })
	maps.DeleteFunc(m.payers, func(_ payer, left int) bool { return left == 0 })
	maps.DeleteFunc(m.owed, func(_ string, left int) bool { return left == 0 })
}

// strangers lists ids of rows that have no order, sorted.
func strangers(known map[sale.OrderID]bool, entries map[sale.OrderID][]*entryRow, payments map[sale.OrderID]bool,
	deposits map[sale.OrderID]*depositRow) []sale.OrderID {
	found := make(map[sale.OrderID]bool)
	for id := range entries {
		found[id] = !known[id]
	}
	for id := range payments {
		found[id] = !known[id]
	}
	for id := range deposits {
		found[id] = !known[id]
	}
	maps.DeleteFunc(found, func(_ sale.OrderID, strange bool) bool { return !strange })
	return slices.SortedFunc(maps.Keys(found), func(a, b sale.OrderID) int { return strings.Compare(string(a[:]), string(b[:])) })
}

// ofOrder holds the entries of one order against its row and its deposit.
func (m *moneyChecks) ofOrder(o *orderRow, d *depositRow, entries []*entryRow) {
	if !m.live {
		return
	}
	if d == nil {
		d = &depositRow{}
	}
	sums := make(map[string]int)
	received, given, frozen := 0, 0, 0
	for _, e := range entries {
		sums[e.kind] += e.amount
		frozen += e.into("FROZEN")
		received += max(0, e.into("HOUSE"))
		given += max(0, -e.into("HOUSE"))
		for _, account := range []string{e.from, e.to} {
			if club, is := strings.CutPrefix(account, "CLUB:"); is && club != d.club {
				m.club.breaks(o.id.String())
			}
		}
	}
	name := o.id.String()
	m.frozen.compare(frozen, d.frozen(), name)
	m.house.compare(received-given, o.paid-o.refunded, name)
	if received != o.paid {
		m.house.breaks(name)
	}
	m.club.compare(sums["DEPOSIT_PENALTY"]-sums["PENALTY_REVERSAL"], d.penalty-d.penaltyReturn, name)
	m.parts.compare(d.consumed+d.penalty+d.refunded+d.frozen(), sums["DEPOSIT_FREEZE"], name)
	for kind, want := range map[string]int{"DEPOSIT_FREEZE": d.deposit, "DEPOSIT_CONSUME": d.consumed, "DEPOSIT_SUPPLEMENT": d.supplement,
		"DEPOSIT_PENALTY": d.penalty, "DEPOSIT_REFUND": d.refunded, "PENALTY_REVERSAL": d.penaltyReturn} {
		if sums[kind] != want {
			m.parts.breaks(name)
		}
	}
}

// ofSuspense goes over the entries that pass through SUSPENSE, and those of refunds. A payment's entries may name two orders: the one
// that it was for, and the one that it made. So each is held against its row when all pages are through.
func (m *moneyChecks) ofSuspense(p *moneyPage) {
	if !m.live {
		return
	}
	payment := make(map[string]string)
	for i := range p.refunds {
		payment[p.refunds[i].id] = p.refunds[i].paymentID
	}
	for i := range p.entries {
		e := &p.entries[i]
		m.suspense.Left += e.into("SUSPENSE")
		switch e.kind {
		case "PAYMENT_RECEIVED", "PAYMENT_APPLIED":
			m.kept["payment "+e.reference] += e.into("SUSPENSE")
		case "SURPLUS_REFUND":
			m.kept["payment "+payment[e.reference]] += e.into("SUSPENSE")
		case "REFUND_FAILED":
			m.kept["refund "+e.reference] += e.into("SUSPENSE")
		}
		switch e.kind {
		case "REFUND", "SURPLUS_REFUND", "PENALTY_REVERSAL":
			m.owed[e.kind+" "+e.reference+" to "+e.to] += e.amount
		}
	}
}

func (m *moneyChecks) ofPayment(p *paymentRow) {
	if m.live {
		m.suspense.Right += p.undecided()
		m.kept["payment "+p.id] -= p.undecided()
	}
	if id := p.paid(); id != (sale.OrderID{}) {
		m.decided.Left++
		m.payers[payer{id, p.id}]++
	}
	late := p.status == "PENDING" && p.expiresAt != nil && !m.now.Before(p.expiresAt.Add(Grace)) ||
		p.status == "SUCCEEDED" && p.disposition == "" && p.succeededAt != nil && !m.now.Before(p.succeededAt.Add(Grace))
	if late {
		m.payments.Left++
		m.payments.breaks("payment " + p.id)
	}
}

func (m *moneyChecks) ofRefund(f *refundRow) {
	if m.live {
		m.suspense.Right += f.returned()
		m.kept["refund "+f.id] -= f.returned()
		m.owed[f.kind()+" "+f.id+" to "+f.account()] -= f.amount
	}
	if (f.status == "REQUESTED" || f.status == "SENT") && !m.now.Before(f.dueAt.Add(Grace)) {
		m.sent.Left++
		m.sent.breaks("refund " + f.id)
	}
}

// ofPayer is that whatever paid an order is one payment that says so, too. A late payment stands with the order that it was for, and the
// order that it made comes on another page perhaps, so each is held against the other when all pages are through.
func (m *moneyChecks) ofPayer(o *orderRow) {
	switch {
	case o.paidBy == order.PaidByDeposit, strings.HasPrefix(o.paidBy, order.PaidByManual("")):
	case o.paidBy != "":
		m.decided.Right++
		m.payers[payer{o.id, o.paidBy}]--
	case o.paid > 0:
		m.decided.breaks(o.id.String())
	}
}

// ofState is that order and deposit stand alike, and that no deposit is left FROZEN.
func (m *moneyChecks) ofState(o *orderRow, d *depositRow) {
	if d == nil {
		// Without a deposit an order that is not paid must have a deadline: nothing else would ever end it.
		if o.status == "UNPAID" && o.deadline == nil {
			m.fit.Right++
			m.fit.breaks(o.id.String())
		}
		return
	}
	if o.source == "OFFER" {
		m.offered[o.id] = d
	}
	alike := 0
	switch d.status {
	case "FROZEN":
		if o.status == "UNPAID" && o.deadline == nil {
			alike = 1
		}
		if !m.now.Before(d.deadline.Add(Grace)) {
			m.overdue.Left++
			m.overdue.breaks(o.id.String())
		}
	case "CONFIRMED", "DEDUCTED":
		if o.status == "PAID" || o.status == "CANCELLED" { // cancelled after it was paid
			alike = 1
		}
	case "PENALTY", "REFUNDED":
		if o.status == "CANCELLED" && o.paid == 0 {
			alike = 1
		}
	}
	m.fit.compare(alike, 1, o.id.String())
}

// equations are all that were checked.
func (m *moneyChecks) equations() (money, effects, states []Equation) {
	for _, one := range slices.SortedFunc(maps.Keys(m.payers), func(a, b payer) int {
		return cmp.Or(bytes.Compare(a.order[:], b.order[:]), strings.Compare(a.payment, b.payment))
	}) {
		m.decided.breaks(one.order.String())
	}
	if m.live {
		for _, what := range slices.Sorted(maps.Keys(m.kept)) {
			m.suspense.breaks(what)
		}
		if m.suspense.Left != m.suspense.Right {
			m.suspense.breaks("SUSPENSE")
		}
		for _, what := range slices.Sorted(maps.Keys(m.owed)) {
			m.refunds.breaks("refund " + what)
		}
		money = []Equation{m.frozen.Equation, m.house.Equation, m.club.Equation, m.suspense.Equation, m.parts.Equation, m.refunds.Equation}
	}
	return money, []Equation{m.decided.Equation}, []Equation{m.overdue.Equation, m.fit.Equation, m.payments.Equation, m.sent.Equation}
}

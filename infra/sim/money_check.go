package sim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/payment"
	"holdfast/shared/reconcile/invariant"
	daily "holdfast/shared/reconcile/money"
	"holdfast/shared/sale"
	"holdfast/shared/wallet"
)

// takeDeposits makes a sale one of deposit seats.
func (p *profile) takeDeposits(draft *sale.Activity) {
	deadline := epoch.Add(p.deadlineAfter).Truncate(time.Second)
	d := &sale.DepositPolicy{PenaltyRatio: decimal.RequireFromString(p.penaltyRatio), ConfirmDeadline: deadline,
		RemindAt: deadline.Add(-p.deadlineAfter / 2).Truncate(time.Second), Cancellation: p.cancellation, ClubID: "north", OfferLead: sale.MinOfferLead}
	if p.fixedDeposit != "" {
		each := money.Of(decimal.RequireFromString(p.fixedDeposit), draft.Currency)
		d.Amount = &each
	} else {
		ratio := decimal.RequireFromString(p.depositRatio)
		d.Ratio = &ratio
	}
	draft.Kind, draft.Deposit, draft.ClosesAt = sale.Deposit, d, deadline.Add(-d.OfferLead)
}

// noteOthers adds to the journal the orders that nobody asked for under an id of their own: offers of the waitlist, and those that late
// payments make. Whether one comes to exist nobody was promised.
func (r *run) noteOthers() {
	known := make(map[sale.OrderID]bool, len(r.journal))
	for _, w := range r.journal {
		known[w.id] = true
	}
	add := func(id sale.OrderID, user string, quantity int) {
		if !known[id] {
			known[id] = true
			r.journal = append(r.journal, &wish{id: id, user: user, key: id.Reference(), quantity: quantity, unclear: 1, known: true})
		}
	}
	r.each(`SELECT entry_id, user_id, quantity, attempt FROM waitlist_entry ORDER BY joined_at, user_id`, func(scan func(...any) error) {
		var entry []byte
		var user string
		var quantity, attempt int
		r.check(scan(&entry, &user, &quantity, &attempt))
		for n := range attempt + 1 {
			add(r.facts.OfferID(sale.EntryID(entry), n), user, quantity)
		}
	})
	r.each(`SELECT p.payment_id, p.order_id, p.user_id, o.quantity FROM payment p JOIN trade_order o ON o.id = p.order_id
 ORDER BY p.created_at, p.payment_id`, func(scan func(...any) error) {
		var payment, user string
		var id []byte
		var quantity int
		r.check(scan(&payment, &id, &user, &quantity))
		old, err := sale.OrderIDFromBytes(id)
		r.check(err)
		add(r.activity.LateOrderID(old, payment), user, quantity)
	})
}

// each hands every row of a query to do.
func (r *run) each(query string, do func(scan func(...any) error)) {
	rows, err := r.plain.QueryContext(r.ctx, query)
	if err != nil {
		r.check(err)
		return
	}
	defer rows.Close()
	for rows.Next() {
		do(rows.Scan)
	}
	r.check(rows.Err())
}

// settleOutside lets everybody outside do what is left: the provider brings its news until they are taken, workflows whose time has come
// go on, and the sender of notices is woken.
func (r *run) settleOutside() {
	for n := 0; len(r.outside.news) > 0; n++ {
		if n > 1000 {
			r.check(fmt.Errorf("%d news of the provider are never taken", len(r.outside.news)))
			return
		}
		r.complete(r.notify(r.process[0], r.outside.news[0]))
	}
	for _, e := range r.outside.executions {
		if !e.ended && !r.clock.now().Before(e.Deadline) {
			r.complete(r.tick(r.process[0], e))
		}
	}
	for r.outside.bells > 0 {
		r.complete(r.sendNotices(r.process[0]))
	}
}

// moneyWrong checks the ledger of everything, and holds it against the provider's own list.
func (r *run) moneyWrong(on *instance) (wrong []string, err error) {
	report, err := invariant.CheckLedger(r.ctx, on.DB)
	if err != nil {
		return nil, fmt.Errorf("checking the ledger: %w", err)
	}
	for _, e := range report.Equations {
		if !e.Pass {
			wrong = append(wrong, fmt.Sprintf("%s %s: %d and %d, first: %s", e.ID, e.Text, e.Left, e.Right, e.FirstOffender))
		}
	}
	balance, err := wallet.AccountBalance(r.ctx, r.plain, wallet.Provider, "CNY")
	if err != nil {
		return nil, err
	}
	listed, returned, err := r.providersList()
	if err != nil {
		return nil, err
	}
	// What is asked for and not final yet has left the account and is still at the provider, or was given back already.
	var waiting decimal.Decimal
	r.each(`SELECT refund_id, amount FROM refund WHERE target = 'PROVIDER' AND status IN ('REQUESTED', 'SENT')`, func(scan func(...any) error) {
		var id string
		var amount decimal.Decimal
		if r.check(scan(&id, &amount)); !returned[id] {
			waiting = waiting.Add(amount)
		}
	})
	if want := listed.Sub(waiting); !balance.Value.Neg().Equal(want) {
		wrong = append(wrong, fmt.Sprintf("the provider holds %s of buyers by its own list, and %s by the ledger", want, balance.Value.Neg()))
	}
	more, err := r.roundWrong(on)
	if err != nil {
		return nil, err
	}
	wrong = append(wrong, more...)
	return append(wrong, r.noticesWrong()...), nil
}

// providersList adds up, by the call that the daily round makes, what the provider holds of all buyers, and names the refunds that it made.
func (r *run) providersList() (holds decimal.Decimal, returned map[string]bool, err error) {
	returned = make(map[string]bool)
	w := payment.Listing{To: r.clock.now().Add(time.Millisecond), Limit: 3}
	for more := true; more; more = w.After != "" {
		page, err := r.outside.List(r.ctx, w)
		if err != nil {
			return holds, nil, err
		}
		for _, s := range page.Successes {
			if s.RefundID != "" {
				holds, returned[s.RefundID] = holds.Sub(s.Amount.Value), true
			} else {
				holds = holds.Add(s.Amount.Value)
			}
		}
		w.After = page.Next
	}
	return holds, returned, nil
}

// roundWrong runs the daily round an hour later, when nothing is under way any more: it must find no difference between the provider's list
// and ours, and forget those that earlier rounds saw while news were on their way. The first run may only end a round that a dead
// function has left behind.
func (r *run) roundWrong(on *instance) (wrong []string, err error) {
	r.pass(time.Hour)
	for range 2 {
		sum, err := daily.Run(r.ctx, on.DB, nil, daily.Config{PageSize: 20, Provider: r.outside})
		if err != nil || sum.Status != "SUCCEEDED" || sum.Provider != "ASKED" {
			return nil, fmt.Errorf("the daily round: %+v, %w", sum, err)
		}
	}
	r.each(`SELECT subject, evidence FROM difference WHERE status = 'OPEN' AND kind = 'PROVIDER_DIFFERS' ORDER BY difference_id`,
		func(scan func(...any) error) {
			var subject, evidence string
			r.check(scan(&subject, &evidence))
			wrong = append(wrong, "the daily round and the provider differ about "+subject+": "+evidence)
		})
	return wrong, nil
}

// noticesWrong holds what was published against the outbox.
func (r *run) noticesWrong() (wrong []string) {
	kept := make(map[string]bool)
	r.each(`SELECT notice_id, status FROM notice ORDER BY notice_id`, func(scan func(...any) error) {
		var id, status string
		r.check(scan(&id, &status))
		kept[id] = true
		if status == "SENT" && r.outside.published[id] == 0 {
			wrong = append(wrong, "a notice counts as sent and was never published: "+id)
		}
	})
	for _, id := range slices.Sorted(maps.Keys(r.outside.published)) {
		if !kept[id] {
			wrong = append(wrong, "somebody was told what was rolled back, by notice "+id)
		}
	}
	return wrong
}

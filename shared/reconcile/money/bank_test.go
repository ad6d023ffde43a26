package money_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/shared/payment"
	"holdfast/shared/reconcile"
	"holdfast/shared/sale"
)

// bank is a provider that lists what a test says it did.
type bank struct {
	list   []payment.Success
	hidden func() time.Time // what succeeded from then on does not show in the list yet; nil: nothing is hidden
	calls  int
	before func(call int, w payment.Listing) error // runs before each call, whose error is its answer; nil: nothing does
}

func (*bank) Begin(context.Context, payment.Charge) (payment.Action, error) {
	panic("a round begins no charge")
}

func (*bank) Refund(context.Context, payment.RefundOrder) (payment.RefundState, error) {
	panic("a round sends no refund")
}

func (b *bank) List(ctx context.Context, w payment.Listing) (payment.ListPage, error) {
	b.calls++
	if b.before != nil {
		if err := b.before(b.calls, w); err != nil {
			return payment.ListPage{}, err
		}
	}
	until := w.To
	if b.hidden != nil && b.hidden().Before(until) {
		until = b.hidden()
	}
	within := slices.DeleteFunc(slices.Clone(b.list), func(s payment.Success) bool { return s.At.Before(w.From) || !s.At.Before(until) })
	slices.SortStableFunc(within, func(a, b payment.Success) int { return a.At.Compare(b.At) })
	from, _ := strconv.Atoi(w.After)
	end := min(from+w.Limit, len(within))
	page := payment.ListPage{Successes: within[from:end]}
	if end < len(within) {
		page.Next = strconv.Itoa(end)
	}
	return page, ctx.Err()
}

// charged has the bank list a charge of 100.00, so long before now.
func (w *world) charged(id string, ago time.Duration) {
	w.bank.list = append(w.bank.list, payment.Success{PaymentID: id, Amount: yuan("100.00"), At: w.ago(ago), Reference: "ch_" + id})
}

// returned has the bank list a refund of 100.00, so long before now.
func (w *world) returned(id string, ago time.Duration) {
	w.bank.list = append(w.bank.list, payment.Success{RefundID: id, Amount: yuan("100.00"), At: w.ago(ago)})
}

func (w *world) ago(d time.Duration) time.Time {
	w.t.Helper()
	now, err := w.db.Now(w.t.Context(), w.db)
	if err != nil {
		w.t.Fatal(err)
	}
	return now.Add(-d)
}

// began inserts a payment by the provider of 100.00 that stands so, begun so long before now and learnt so long.
func (w *world) began(name, status, mode, method string, begun, learnt time.Duration) {
	w.t.Helper()
	var succeeded, disposition, expires any
	if status == "SUCCEEDED" {
		succeeded, disposition = w.ago(learnt), "REFUND"
	}
	w.exec(`INSERT INTO payment (payment_id, order_id, activity_id, user_id, mode, method, amount, currency, status, disposition, provider_reference,
 expires_at, created_at, updated_at, succeeded_at) VALUES (?, ?, 'a', 'dan', ?, ?, 100, 'CNY', ?, ?, ?, ?, ?, ?, ?)`,
		name, idOf(w.ofPayments(name)), mode, method, status, disposition, "ch_"+name, expires, w.ago(begun), w.ago(begun), succeeded)
}

// ofPayments is an order of its own for each payment, of which one may be pending.
func (w *world) ofPayments(name string) sale.OrderID {
	id := sale.OrderID{0, 0, 0, 0, 0, 2, 0x80, 0, 0x80}
	copy(id[9:], name)
	return id
}

// went inserts a refund of 100.00 that stands so, asked for so long before now and ended so long.
func (w *world) went(name string, of sale.OrderID, status, target string, asked, ended time.Duration) {
	w.t.Helper()
	var finished any
	if status == "SUCCEEDED" || status == "FAILED" {
		finished = w.ago(ended)
	}
	w.exec(`INSERT INTO refund (refund_id, order_id, activity_id, user_id, target, amount, currency, status, reason, due_at, created_at, updated_at,
 finished_at) VALUES (?, ?, 'a', 'dan', ?, 100, 'CNY', ?, 'r', ?, ?, ?, ?)`,
		name, idOf(of), target, status, w.ago(asked), w.ago(asked), w.ago(asked), finished)
}

// ofProvider reads the differences with the provider of a status as "CODES subject action".
func (w *world) ofProvider(status reconcile.DifferenceStatus) []string {
	w.t.Helper()
	list, err := reconcile.ListDifferences(w.t.Context(), w.db, reconcile.DifferenceFilter{Status: status}, 1<<40, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	out := []string{}
	for _, d := range list {
		if d.Kind != reconcile.ProviderDiffers {
			continue
		}
		var e reconcile.ProviderEvidence
		if err := json.Unmarshal(d.Evidence, &e); err != nil {
			w.t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %s %s", strings.Join(e.Differs, "+"), d.Subject, d.Proposed))
	}
	slices.Sort(out)
	return out
}

// newBank is a world with a bank, and with an order of each mode for refunds.
func newBank(t *testing.T) (w *world, live, rehearsal sale.OrderID) {
	t.Helper()
	w = newWorld(t)
	w.bank = &bank{}
	return w, w.order("dan", "CANCELLED", "100", "100", "LIVE"), w.order("dan", "CANCELLED", "100", "100", "TEST")
}

// same fails unless the differences with the provider that stand open are these.
func (w *world) same(want ...string) {
	w.t.Helper()
	if got := w.ofProvider(reconcile.DifferenceOpen); !slices.Equal(got, want) && len(got)+len(want) > 0 {
		w.t.Errorf("found %q\nwant  %q", got, want)
	}
}

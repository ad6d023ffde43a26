package invariant

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"holdfast/shared/deposit"
	"holdfast/shared/order"
	"holdfast/shared/payment"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/waitlist"
)

// States records the states in which orders, deposits, payments and entries of the waitlist were seen and finds the steps that the diagrams
// of their packages do not have. Between two sightings one may have gone several steps. The zero value is ready for use, by many goroutines;
// whoever reads a store and calls an Observe for what it read must not let an older reading come after a newer one of the same thing.
type States struct {
	mu       sync.Mutex
	orders   map[string]order.Status
	deposits map[string]deposit.Status
	payments map[string]payment.Status
	entries  map[string]waitlist.Status
	broken   []string
}

// Observe notes a state of an order; "" is that no row was found. RESERVED and "" mean the same here: Redis may forget a reservation that
// MySQL has never heard of, while a row stays for ever.
func (s *States) Observe(id sale.OrderID, status order.Status) {
	if status == "" {
		status = order.Reserved
	}
	observe(s, &s.orders, "order "+id.String(), status, order.Reserved, order.Unpaid, order.Paid, order.Cancelled)
}

// ObserveDeposit notes a state of an order's deposit.
func (s *States) ObserveDeposit(id sale.OrderID, status deposit.Status) {
	observe(s, &s.deposits, "deposit "+id.String(), status, deposit.Frozen, deposit.Confirmed, deposit.Deducted, deposit.Penalty, deposit.Refunded)
}

// ObservePayment notes a state of a payment.
func (s *States) ObservePayment(id string, status payment.Status) {
	observe(s, &s.payments, "payment "+id, status, payment.Pending, payment.Succeeded, payment.Failed, payment.Expired)
}

// ObserveEntry notes a state of an entry of the waitlist.
func (s *States) ObserveEntry(id waitlist.EntryID, status waitlist.Status) {
	observe(s, &s.entries, "waitlist entry "+id.String(), status, waitlist.Waiting, waitlist.Offered, waitlist.Accepted, waitlist.Lapsed,
		waitlist.Left, waitlist.Closed)
}

// Look reads all rows of an activity, and notes their states. It returns the errors of the driver.
func (s *States) Look(ctx context.Context, q sqltx.Querier, activityID string) error {
	err := each(ctx, q, func(scan func(...any) error) error {
		var kind, status string
		var id []byte
		if err := scan(&kind, &id, &status); err != nil {
			return err
		}
		switch kind {
		case "order":
			s.Observe(sale.OrderID(id), order.Status(status))
		case "deposit":
			s.ObserveDeposit(sale.OrderID(id), deposit.Status(status))
		case "payment":
			s.ObservePayment(string(id), payment.Status(status))
		case "entry":
			s.ObserveEntry(waitlist.EntryID(id), waitlist.Status(status))
		}
		return nil
	}, `SELECT 'order', id, status FROM trade_order WHERE activity_id = ?
 UNION ALL SELECT 'deposit', order_id, status FROM deposit_record WHERE activity_id = ?
 UNION ALL SELECT 'payment', payment_id, status FROM payment WHERE activity_id = ?
 UNION ALL SELECT 'entry', entry_id, status FROM waitlist_entry WHERE activity_id = ?`, activityID, activityID, activityID, activityID)
	if err != nil {
		return fmt.Errorf("invariant: read states: %w", err)
	}
	return nil
}

// state is a status with a diagram.
type state[S any] interface {
	~string
	CanBecome(next S) bool
}

// observe notes a state of one thing of a kind, whose diagram begins with first. What was never seen is taken to have been there.
func observe[S state[S]](s *States, last *map[string]S, what string, status, first S, others ...S) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if *last == nil {
		*last = make(map[string]S)
	}
	before, seen := (*last)[what]
	if !seen {
		before = first
	}
	if status != before && !reaches(before, status, others) {
		s.broken = append(s.broken, fmt.Sprintf("%s was %s and then %s", what, before, status))
		return // one step is reported once, and what follows is judged by the last lawful state
	}
	(*last)[what] = status
}

// reaches says whether some steps of a diagram, which goes in no circle, lead from one state to another one of these.
func reaches[S state[S]](from, to S, states []S) bool {
	return slices.ContainsFunc(states, func(next S) bool { return from.CanBecome(next) && (next == to || reaches(next, to, states)) })
}

// Broken lists the steps that should not be, a sentence each, in the order in which they were seen.
func (s *States) Broken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.broken...)
}

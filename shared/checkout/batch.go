package checkout

import (
	"slices"
	"strings"

	"holdfast/shared/order"
	"holdfast/shared/sale"
)

// The reasons of poison.
const (
	poisonActivity    = "the activity does not exist"
	poisonDraft       = "the activity was never published"
	poisonType        = "the activity has no such ticket type"
	poisonNumber      = "the order id belongs to another activity"
	poisonUser        = "the user id is empty or too long"
	poisonQuantity    = "the quantity is out of range"
	poisonAllocations = "the allocations do not fit the quantity or the buckets"
	poisonPolicy      = "the activity sells deposit seats without a policy that says for how much"
	poisonForeign     = "the order id is known with another user, ticket type or quantity"
)

// batch is the work of one transaction: messages in order of their ids, each wish once. Messages that use one id for different wishes
// follow each other as Redis took them.
type batch struct{ messages []Message }

// newBatch sorts messages and folds those that say the same into one.
func newBatch(messages []Message) *batch {
	list := slices.Clone(messages)
	slices.SortStableFunc(list, func(a, b Message) int {
		if c := order.CompareIDs(a.OrderID, b.OrderID); c != 0 {
			return c
		}
		return int(min(1, max(-1, a.Seq-b.Seq)))
	})
	b := &batch{}
	first := 0 // of those with the id at hand
	for _, m := range list {
		if n := len(b.messages); n > 0 && b.messages[n-1].OrderID != m.OrderID {
			first = n
		}
		if !slices.ContainsFunc(b.messages[first:], func(before Message) bool { return sameWish(before, m) }) {
			b.messages = append(b.messages, m)
		}
	}
	return b
}

func sameWish(a, b Message) bool {
	return a.ActivityID == b.ActivityID && a.UserID == b.UserID && a.TicketType == b.TicketType && a.Quantity == b.Quantity
}

func (b *batch) activities() []string {
	var ids []string
	for _, m := range b.messages {
		ids = append(ids, m.ActivityID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// maxQuantity is far above any limit per user; beyond it a quantity can only be a mistake.
const maxQuantity = 1_000_000

// unfit says why a message can never become an order of the activity (nil: unknown); "" when it can.
func unfit(m Message, a *sale.Activity) string {
	if a == nil {
		return poisonActivity
	}
	if a.Status == sale.Draft {
		return poisonDraft
	}
	if m.OrderID.Number() != a.Number {
		return poisonNumber
	}
	t, found := a.Type(m.TicketType)
	switch {
	case !found:
		return poisonType
	case m.UserID == "" || len(m.UserID) > 128 || strings.TrimSpace(m.UserID) == "":
		return poisonUser
	case m.Quantity < 1 || m.Quantity > maxQuantity:
		return poisonQuantity
	case m.Allocations.Units() != m.Quantity || !fits(m.Allocations, t.Buckets):
		return poisonAllocations
	case a.Kind == sale.Deposit && !holdsSomething(a.Deposit, t, m.Quantity):
		return poisonPolicy
	}
	return ""
}

// holdsSomething says whether a policy asks for a deposit above nothing for so many units.
func holdsSomething(p *sale.DepositPolicy, t sale.TicketType, quantity int) bool {
	if p == nil {
		return false
	}
	d := p.Terms(t.Price.Times(quantity), quantity).Deposit
	return !d.IsZero() && !d.IsNegative()
}

// fits says whether allocations are in order, each bucket once, and of existing buckets.
func fits(list sale.Allocations, buckets int) bool {
	last := -1
	for _, a := range list {
		if a.Bucket <= last || a.Bucket >= buckets || a.Count < 1 {
			return false
		}
		last = a.Bucket
	}
	return true
}

package invariant

import (
	"bytes"
	"slices"

	"holdfast/shared/sale"
)

// Answer is what a buyer was told about a wish in the end.
type Answer int

// The answers there are. Unclear is also that of a caller who died or never heard anything.
const (
	Unclear  Answer = iota // 503 RESERVATION_UNCONFIRMED, or no answer at all: the order may come to exist, or not
	Promised               // 202
	Refused                // an answer that says that nothing is held
)

// Wish is one order id in a journal of everything that buyers asked for. A wish that was answered several times stands there with
// its strongest answer: Promised before Unclear before Refused.
type Wish struct {
	OrderID  sale.OrderID
	UserID   string
	Type     string
	Quantity int
	Answer   Answer
}

// Fates says what became of wishes, each list by id.
type Fates struct {
	Lost      []sale.OrderID // promised, and neither store knows it; or one knows it as another wish
	Phantom   []sale.OrderID // an order or a live reservation that nobody wished for, or whose wish was refused
	Recovered []sale.OrderID // not promised, and yet it became an order: repair or a retry finished it
	Kept      int            // promised, and known to a store
	Dropped   int            // neither promised nor known to a store
}

// Broken says whether something was lost or came from nowhere.
func (f Fates) Broken() bool { return len(f.Lost) > 0 || len(f.Phantom) > 0 }

// Fates holds a journal against both stores. The journal must be whole: every id that a store knows and the journal does not is a
// phantom. A CANCELLED row or a dead marker is no phantom of a refused wish: it holds nothing.
func (r *Reading) Fates(journal []Wish) Fates {
	var f Fates
	wished := make(map[sale.OrderID]Answer, len(journal))
	for i := range journal {
		w := &journal[i]
		wished[w.OrderID] = w.Answer
		row, logged := r.rows.orders[w.OrderID], r.cache.entries[w.OrderID]
		known := row != nil || logged != nil
		switch {
		case w.Answer == Promised && (!known || !w.is(row, logged)):
			f.Lost = append(f.Lost, w.OrderID)
		case w.Answer == Promised:
			f.Kept++
		case row != nil && w.Answer == Unclear:
			f.Recovered = append(f.Recovered, w.OrderID)
		case !known:
			f.Dropped++
		}
	}
	holds := func(id sale.OrderID) {
		if answer, known := wished[id]; !known || answer == Refused {
			f.Phantom = append(f.Phantom, id)
		}
	}
	for id, o := range r.rows.orders {
		if o.live() {
			holds(id)
		}
	}
	for id, e := range r.cache.entries {
		if o := r.rows.orders[id]; e.taken && !e.dead && (o == nil || !o.live()) {
			holds(id)
		}
	}
	for _, list := range [][]sale.OrderID{f.Lost, f.Phantom, f.Recovered} {
		slices.SortFunc(list, func(a, b sale.OrderID) int { return bytes.Compare(a[:], b[:]) })
	}
	return f
}

// is says whether what a store knows under the wish's id is this wish. A dead marker knows no particulars and contradicts nothing.
func (w *Wish) is(row *orderRow, logged *entry) bool {
	if row != nil {
		return row.userID == w.UserID && row.ticketType == w.Type && row.quantity == w.Quantity
	}
	return !logged.taken || logged.userID == w.UserID && logged.ticketType == w.Type && logged.quantity == w.Quantity
}

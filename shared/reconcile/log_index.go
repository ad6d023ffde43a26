package reconcile

import (
	"context"
	"strings"

	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// scanCount is how many entries one call of HSCAN goes over: few enough for Redis to be back within a few milliseconds, for it serves
// nobody else meanwhile.
const scanCount = 1000

// What the log says of an id. late means: by an entry behind the seq that the log is folded up to.
const (
	isTaken uint8 = 1 << iota
	takenLate
	isDead
	deadLate
	hasRow // an order of MySQL was found for it
)

// logEntry is what the log says of one id, in little memory: a sale has millions of them.
type logEntry struct {
	id    sale.OrderID
	seq   int64  // of the taking; of the dead marker of an id that was never taken
	user  uint32 // index into buyers
	form  uint32 // index into forms: the type and allocations that hold
	units int32
	flags uint8
}

// form is a ticket type with allocations; few differ.
type form struct {
	ticketType  string
	allocations string // compact
}

// buyer is what is known of one user.
type buyer struct {
	id      string
	log     int32 // units of live reservations in the log, late ones too
	rows    int32 // units of live orders in MySQL
	seen    bool  // has a mark
	counted bool  // has a row in purchase_limit
}

// move is where MySQL put an order instead.
type move struct {
	allocations string
	late        bool
}

// adjustmentEntry is what the log says of an adjustment.
type adjustmentEntry struct {
	ticketType string
	split      sale.Split
	late       bool
	known      bool // it was made, not only taken back
	undone     bool
	undoneLate bool
}

// logIndex is the log of an activity, each field once, with what it adds up to at a seq.
type logIndex struct {
	upTo        int64
	entries     []logEntry
	entryOf     map[sale.OrderID]uint32
	moves       map[sale.OrderID]move
	adjustments map[string]adjustmentEntry
	buyers      []buyer
	buyerOf     map[string]uint32
	forms       []form
	formOf      map[form]uint32
}

// newLogIndex makes an empty one.
func newLogIndex(upTo int64) *logIndex {
	return &logIndex{upTo: upTo, entryOf: make(map[sale.OrderID]uint32), moves: make(map[sale.OrderID]move),
		adjustments: make(map[string]adjustmentEntry), buyerOf: make(map[string]uint32), formOf: make(map[form]uint32)}
}

// grow makes room for so many entries in an empty one, which spares much copying when it is about right.
func (x *logIndex) grow(size int) {
	x.entries, x.entryOf, x.buyerOf = make([]logEntry, 0, size), make(map[sale.OrderID]uint32, size), make(map[string]uint32, size)
}

// readLog scans the whole log, of about so many entries. Entries behind upTo that happen to be seen are kept too, and marked late.
func (p *pass) readLog(ctx context.Context, upTo int64, size int) (*logIndex, error) {
	x := newLogIndex(upTo)
	x.grow(size)
	cursor, pages := uint64(0), 0
	read := func(ctx context.Context) (page stock.LogPage, more bool, err error) {
		page, err = p.r.stock.Log(ctx, p.a.ID, cursor, scanCount)
		cursor = page.Next
		return page, cursor != 0, err
	}
	err := eachPage(ctx, p.r.ahead(), read, func(page stock.LogPage) error {
		for i := range page.Movements {
			x.add(&page.Movements[i])
		}
		pages++
		return p.alive(ctx, pages)
	})
	if err != nil {
		return nil, err
	}
	x.settle()
	return x, nil
}

// add takes one movement in; a scan may give it twice.
func (x *logIndex) add(m *stock.Movement) {
	late := m.Seq > x.upTo
	switch m.Kind {
	case stock.KindTaken:
		e := x.entry(m.OrderID)
		e.seq, e.user, e.units = m.Seq, x.buyer(m.UserID), int32(m.Quantity)
		e.form = x.form(form{m.Type, m.Allocations.Compact()})
		e.flags |= flag(isTaken, true) | flag(takenLate, late)
	case stock.KindMarked:
		e := x.entry(m.OrderID)
		e.seq, e.user = m.Seq, x.buyer(m.UserID)
		e.flags |= flag(isDead, true) | flag(deadLate, late)
	case stock.KindDead:
		e := x.entry(m.OrderID)
		e.flags |= flag(isDead, true) | flag(deadLate, late)
	case stock.KindMoved:
		x.moves[m.OrderID] = move{m.Allocations.Compact(), late}
	case stock.KindAdjusted:
		a := x.adjustments[m.AdjustmentID]
		a.ticketType, a.split, a.late, a.known = m.Type, m.Split, late, true
		x.adjustments[m.AdjustmentID] = a
	case stock.KindUndone:
		a := x.adjustments[m.AdjustmentID]
		a.undone, a.undoneLate = true, late
		x.adjustments[m.AdjustmentID] = a
	}
}

// entry gives the entry of an id, a new one if need be; it holds until the next call.
func (x *logIndex) entry(id sale.OrderID) *logEntry {
	at, known := x.entryOf[id]
	if !known {
		at = uint32(len(x.entries))
		x.entries = append(x.entries, logEntry{id: id})
		x.entryOf[id] = at
	}
	return &x.entries[at]
}

// find gives the entry of an id, or nil.
func (x *logIndex) find(id sale.OrderID) *logEntry {
	if at, known := x.entryOf[id]; known {
		return &x.entries[at]
	}
	return nil
}

func flag(f uint8, on bool) uint8 {
	if on {
		return f
	}
	return 0
}

// buyer gives the index of a user. The id is copied: it is a part of the whole value that came from Redis.
func (x *logIndex) buyer(id string) uint32 {
	at, known := x.buyerOf[id]
	if !known {
		id = strings.Clone(id)
		at = uint32(len(x.buyers))
		x.buyers = append(x.buyers, buyer{id: id})
		x.buyerOf[id] = at
	}
	return at
}

func (x *logIndex) form(f form) uint32 {
	at, known := x.formOf[f]
	if !known {
		f = form{strings.Clone(f.ticketType), f.allocations}
		at = uint32(len(x.forms))
		x.forms = append(x.forms, f)
		x.formOf[f] = at
	}
	return at
}

// owned says whether the entry names its user: a dead entry whose taking is missing does not.
func (e *logEntry) owned() bool { return e.seq != 0 }

// live says whether the id holds units by all that was seen, and settled by what lies up to the seq.
func (e *logEntry) live() bool { return e.flags&isTaken != 0 && e.flags&isDead == 0 }

func (e *logEntry) liveAtSeq() bool {
	return e.flags&isTaken != 0 && e.flags&takenLate == 0 && (e.flags&isDead == 0 || e.flags&deadLate != 0)
}

// settle counts what buyers hold, once all fields are in.
func (x *logIndex) settle() {
	for i := range x.entries {
		if e := &x.entries[i]; e.live() {
			x.buyers[e.user].log += e.units
		}
	}
}

// fold gives what the counters must have been at the seq: original capacity, plus adjustments, less the units of live reservations.
// Nothing is clamped. A bucket that the facts do not know shows as one more, in the red.
func (x *logIndex) fold(f *sale.Facts) map[string]stock.TypeSnapshot {
	types := make(map[string]stock.TypeSnapshot, len(f.Types))
	for _, t := range f.Types {
		s := stock.TypeSnapshot{Buckets: append([]int(nil), t.Capacities...)}
		for _, units := range t.Capacities {
			s.Left += units
		}
		types[t.ID] = s
	}
	shift := func(ticketType string, bucket, units int) {
		t := types[ticketType]
		for len(t.Buckets) <= bucket {
			t.Buckets = append(t.Buckets, 0)
		}
		t.Buckets[bucket] += units
		t.Left += units
		types[ticketType] = t
	}
	held := make([]int, len(x.forms))
	for i := range x.entries {
		e := &x.entries[i]
		if !e.liveAtSeq() {
			continue
		}
		at := e.form
		if m, moved := x.moves[e.id]; moved && !m.late {
			at = x.form(form{x.forms[at].ticketType, m.allocations})
		}
		for len(held) < len(x.forms) {
			held = append(held, 0)
		}
		held[at]++
	}
	for i, count := range held {
		allocations, _ := sale.ParseAllocations(x.forms[i].allocations) // made by Compact
		for _, a := range allocations {
			shift(x.forms[i].ticketType, a.Bucket, -a.Count*count)
		}
	}
	for _, a := range x.adjustments {
		if a.known && !a.late && (!a.undone || a.undoneLate) {
			for _, share := range a.split {
				shift(a.ticketType, share.Bucket, share.Delta)
			}
		}
	}
	return types
}

// now gives the entry's type and the allocations that hold by all that was seen.
func (x *logIndex) now(e *logEntry) form {
	f := x.forms[e.form]
	if m, moved := x.moves[e.id]; moved {
		f.allocations = m.allocations
	}
	return f
}

package stock

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"holdfast/shared/sale"
)

// Kind is the kind of a movement: what happened to stock by one entry of the log.
type Kind int

// The kinds there are, with what Movement holds of them besides Seq.
const (
	KindTaken    Kind = iota + 1 // OrderID, UserID, Type, Quantity, Before, Allocations
	KindMarked                   // OrderID, UserID, Reason: a dead marker of an id that had not been taken
	KindDead                     // OrderID, Before, Quantity, Reason: units of the taken entry went back
	KindMoved                    // OrderID, Allocations: what holds instead of the taken entry's
	KindAdjusted                 // AdjustmentID, Type, Split
	KindUndone                   // AdjustmentID, Type, Split of the adjustment taken back; both empty if it never was
	KindSent                     // OrderID: its buyer was promised an order; moves no units
)

// Movement is one entry of the log.
type Movement struct {
	Kind         Kind
	Seq          int64 // us; rises with every movement of an activity
	OrderID      sale.OrderID
	UserID       string
	Type         string
	Quantity     int // units
	Before       int // units of the type left before it; -1 of a taken entry: adopted, not known
	Allocations  sale.Allocations
	Reason       string
	AdjustmentID string
	Split        sale.Split
}

// At is the instant of the movement by the clock of Redis, in milliseconds.
func (m Movement) At() time.Time { return instant(m.Seq) }

// instant is the millisecond of a seq.
func instant(seq int64) time.Time { return time.UnixMilli(seq / 1000).UTC() }

// ErrBadEntry: a field of the log that this version cannot read.
var ErrBadEntry = errors.New("stock: unreadable entry in the log")

// parseMovement reads one field of the log; the forms stand in keys.go. It returns ErrBadEntry, without the content.
func parseMovement(field, value string) (Movement, error) {
	m, err := parseField(field)
	if err != nil {
		return Movement{}, err
	}
	columns := columnsOf[m.Kind]
	parts := strings.SplitN(value, " ", columns)
	if len(parts) != columns {
		return Movement{}, badEntry(m)
	}
	if m.Seq, err = strconv.ParseInt(parts[0], 10, 64); err != nil {
		return Movement{}, badEntry(m)
	}
	switch m.Kind {
	case KindTaken:
		err = parseTaken(&m, parts)
	case KindDead:
		m.Reason = parts[3]
		err = errors.Join(atoi(parts[1], &m.Before), atoi(parts[2], &m.Quantity))
	case KindMoved:
		m.Allocations, err = sale.ParseAllocations(parts[1])
	case KindAdjusted, KindUndone:
		if parts[1] == "-" {
			break
		}
		m.Type = parts[1]
		m.Split, err = sale.ParseSplit(parts[2])
	}
	if err != nil {
		return Movement{}, badEntry(m)
	}
	return m, nil
}

// columnsOf is how many words a value of each kind has.
var columnsOf = [...]int{KindTaken: 6, KindDead: 4, KindMoved: 2, KindAdjusted: 3, KindUndone: 3, KindSent: 1}

// prefixes tell the kind by a field's name.
var prefixes = [...]struct {
	prefix string
	kind   Kind
}{{"t", KindTaken}, {"xt", KindDead}, {"mt", KindMoved}, {"a", KindAdjusted}, {"ia", KindUndone}, {"st", KindSent}}

// parseField reads kind and id out of a field's name.
func parseField(field string) (m Movement, err error) {
	for _, k := range prefixes {
		id, found := strings.CutPrefix(field, k.prefix)
		if !found {
			continue
		}
		m.Kind = k.kind
		if k.kind == KindAdjusted || k.kind == KindUndone {
			m.AdjustmentID = id
		} else if m.OrderID, err = sale.OrderIDFromBytes([]byte(id)); err != nil {
			return Movement{}, badEntry(m)
		}
		return m, nil
	}
	return Movement{}, badEntry(m)
}

func parseTaken(m *Movement, parts []string) error {
	user, found := strings.CutPrefix(parts[5], "u")
	if !found {
		return ErrBadEntry
	}
	m.UserID = user
	if err := errors.Join(atoi(parts[1], &m.Quantity), atoi(parts[2], &m.Before)); err != nil {
		return err
	}
	if m.Quantity == 0 {
		m.Kind, m.Reason = KindMarked, parts[3]
		return nil
	}
	m.Type = parts[3]
	var err error
	m.Allocations, err = sale.ParseAllocations(parts[4])
	if err == nil && m.Allocations.Units() != m.Quantity {
		err = ErrBadEntry
	}
	return err
}

// figure is a number of units left, or -1, not known, where MySQL has no room for it: nothing may fail for a figure that only tells.
func figure(units int) int {
	if units > math.MaxInt32 {
		return -1
	}
	return units
}

func atoi(text string, into *int) (err error) {
	*into, err = strconv.Atoi(text)
	return err
}

func badEntry(m Movement) error {
	return fmt.Errorf("%w: kind %d, order %s", ErrBadEntry, m.Kind, m.OrderID)
}

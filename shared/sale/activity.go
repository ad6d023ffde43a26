package sale

import (
	"encoding/json"
	"time"

	"holdfast/shared/money"
)

// Kind says how units are sold.
type Kind string

// The kinds there are. A voucher is one unit per user of one type; tickets may be several per order.
const (
	Voucher Kind = "VOUCHER"
	Ticket  Kind = "TICKET"
	Deposit Kind = "DEPOSIT"
)

// Mode keeps rehearsals apart: a TEST sale runs like a live one but is left out of ledger, exports and metrics.
type Mode string

// The modes there are; a sale keeps its mode for life.
const (
	Live Mode = "LIVE"
	Test Mode = "TEST"
)

// Status is what operators have decided about an activity. The diagram stands in the package comment.
type Status string

// The states of an activity.
const (
	Draft     Status = "DRAFT"
	Published Status = "PUBLISHED"
	Suspended Status = "SUSPENDED"
	Closed    Status = "CLOSED"
	Cancelled Status = "CANCELLED" // closed and called off: every order is given back
)

// edges of the state diagram, from -> to.
var edges = map[Status][]Status{
	Draft:     {Published},
	Published: {Suspended, Closed},
	Suspended: {Published, Closed},
}

// CanBecome says whether an operator may take the activity from this state to the next.
func (s Status) CanBecome(next Status) bool {
	for _, to := range edges[s] {
		if to == next {
			return true
		}
	}
	return false
}

// Phase is what a buyer sees of window and status together, by the deciding clock.
type Phase string

// The phases of a published activity.
const (
	Upcoming       Phase = "UPCOMING"
	Open           Phase = "OPEN"
	PhaseSuspended Phase = "SUSPENDED"
	Ended          Phase = "ENDED"
	PhaseCancelled Phase = "CANCELLED"
)

// TicketType is what is counted: a price, a capacity, and the buckets that the capacity is spread over.
type TicketType struct {
	ID       string       // ^[A-Za-z0-9_-]{1,64}$, unique in its activity
	Title    string       // for people, 1..200 characters
	Price    money.Amount // per unit, never negative
	Capacity int          // units as first set, >= 1
	Buckets  int          // 1..64, at most Capacity
}

// Activity is one sale with everything operators set.
type Activity struct {
	ID                string
	Number            int64  // unique; the first 48 bits of its order ids
	Salt              []byte // 32 random bytes, secret: whoever has it can compute order ids
	Kind              Kind
	Mode              Mode
	Title             string
	Lang              string // BCP 47, may be empty
	TimeZone          string // IANA name for display, may be empty
	Metadata          json.RawMessage
	Status            Status
	OpensAt           time.Time // inclusive
	ClosesAt          time.Time // exclusive
	PerUserLimit      int
	PayWindow         time.Duration // how long an unpaid order is held; whole seconds
	Currency          string
	RefundRule        json.RawMessage // what of a paid order comes back on cancellation; absent: nothing
	SaleTokenRequired bool
	TicketTypes       []TicketType
	Deposit           *DepositPolicy // of kind DEPOSIT only
	Epoch             int64          // how often Redis was loaded from MySQL
	RulesVersion      int64          // rises with every change of window, limit or status
	Revision          int64          // rises with every change; the ETag
	CancelledAt       *time.Time
	CreatedAt         time.Time
	UpdatedAt         time.Time
}

// PhaseAt is the phase at an instant of the deciding clock. opensAt is inclusive, closesAt exclusive.
func (a *Activity) PhaseAt(now time.Time) Phase {
	switch {
	case a.Status == Cancelled || a.CancelledAt != nil:
		return PhaseCancelled
	case a.Status == Closed || !now.Before(a.ClosesAt):
		return Ended
	case a.Status == Suspended:
		return PhaseSuspended
	case now.Before(a.OpensAt):
		return Upcoming
	}
	return Open
}

// Type finds a ticket type by its id.
func (a *Activity) Type(id string) (TicketType, bool) {
	for _, t := range a.TicketTypes {
		if t.ID == id {
			return t, true
		}
	}
	return TicketType{}, false
}

// Rules is the part of an activity that the reserve script decides by and that may change while it sells. Redis applies a
// Rules only if its version is higher than the one it has.
type Rules struct {
	Version  int64
	Status   Status
	OpensAt  time.Time
	ClosesAt time.Time
	Limit    int
}

// Rules gives the activity's present rules.
func (a *Activity) Rules() Rules {
	return Rules{Version: a.RulesVersion, Status: a.Status, OpensAt: a.OpensAt, ClosesAt: a.ClosesAt, Limit: a.PerUserLimit}
}

// Spread divides a capacity over n buckets as evenly as whole units allow; the first buckets get the odd ones.
func Spread(capacity, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = capacity / n
		if i < capacity%n {
			out[i]++
		}
	}
	return out
}

package waitlist

import (
	"errors"
	"time"

	"holdfast/shared/sale"
)

// How long an entry that wants more than comes free is passed over before units are saved up for it, and for how long they are.
const (
	SaveAfter = 10 * time.Minute
	SaveFor   = 30 * time.Minute
)

// ErrNotFound: the user has no entry in this activity, or none that is active.
var ErrNotFound = errors.New("waitlist: no such entry")

// EntryID names an entry; it is a member of the set of waiters.
type EntryID = sale.EntryID

// Status is where an entry stands. The diagram is in the package comment.
type Status string

// The states of an entry.
const (
	Waiting  Status = "WAITING"
	Offered  Status = "OFFERED"
	Accepted Status = "ACCEPTED"
	Lapsed   Status = "LAPSED"
	Left     Status = "LEFT"
	Closed   Status = "CLOSED"
)

// edges of the state diagram, from -> to.
var edges = map[Status][]Status{
	Waiting: {Offered, Left, Closed},
	Offered: {Accepted, Lapsed},
}

// CanBecome says whether an entry may go from this state to the next one.
func (s Status) CanBecome(next Status) bool {
	for _, to := range edges[s] {
		if to == next {
			return true
		}
	}
	return false
}

// Active says whether the entry still has something to expect.
func (s Status) Active() bool { return s == Waiting || s == Offered }

// Reason says why an entry is CLOSED; it is empty in every other state.
type Reason string

// The reasons there are.
const (
	SaleClosed    Reason = "SALE_CLOSED"
	SaleCancelled Reason = "SALE_CANCELLED"
	TooLate       Reason = "TOO_LATE"       // an offer could not be accepted before the sale or the deposit's deadline ends
	NotSoldOut    Reason = "NOT_SOLD_OUT"   // the units were there when the user wanted to join
	PurchaseLimit Reason = "PURCHASE_LIMIT" // with these units the user would hold more than one may
)

// Entry is one row of waitlist_entry.
type Entry struct {
	ID          EntryID
	ActivityID  string
	TicketType  string
	UserID      string
	Quantity    int
	Status      Status
	Reason      Reason       // of CLOSED only
	Attempt     int          // n of the next order's id
	OrderID     sale.OrderID // of the offer; zero: none
	AcceptBy    *time.Time   // first instant of being too late to accept, whole seconds; nil: no offer
	PolicyHash  sale.PolicyHash
	PassedSince *time.Time // since when others are served before it; nil: not
	SavingSince *time.Time // since when units are saved up for it, or were; nil: never
	JoinedAt    time.Time
	UpdatedAt   time.Time
}

// Saves says whether units are being saved up for the entry at an instant of the database's clock.
func (e *Entry) Saves(now time.Time) bool {
	return e.SavingSince != nil && now.Before(e.SavingSince.Add(SaveFor))
}

// MaySave says whether the entry has been passed over for long enough to have units saved up for it, which happens once.
func (e *Entry) MaySave(now time.Time) bool {
	return e.SavingSince == nil && e.PassedSince != nil && !now.Before(e.PassedSince.Add(SaveAfter))
}

// Why is the reason that an entry is not served though units may be free: a stable code, and words for developers.
type Why struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// The reasons there are.
var (
	suspended = Why{"SALE_SUSPENDED", "The sale is suspended, and nothing is offered until it goes on."}
	savingUp  = Why{"SAVING_UP", "Units that come free are being saved up until there are as many as this entry wants."}
	behind    = Why{"SAVING_FOR_ANOTHER", "Units that come free are being saved up for an entry that came before."}
	passed    = Why{"PASSED_OVER", "Fewer units came free than this entry wants, so others were served; it keeps its place."}
)

// Why says why a WAITING entry with this place is not served though units may be free; nil when it is simply not its turn.
func (e *Entry) Why(a *sale.Activity, p Place, now time.Time) *Why {
	switch {
	case e.Status != Waiting:
		return nil
	case a.Status == sale.Suspended:
		return &suspended
	case e.Saves(now):
		return &savingUp
	case p.Behind:
		return &behind
	case e.PassedSince != nil:
		return &passed
	}
	return nil
}

// Ends is the first instant that an offer's window may not reach beyond: the end of the sale, and for deposits the instant from which on
// nothing is offered before the deadline.
func Ends(a *sale.Activity) time.Time {
	ends := a.ClosesAt
	if a.Deposit != nil && a.Deposit.SellsUntil().Before(ends) {
		ends = a.Deposit.SellsUntil()
	}
	return ends
}

// AcceptBy is the deadline of an offer that is made at an instant of the database's clock: the activity's window for paying, in whole
// seconds. ok is false when it would lie beyond what Ends allows.
func AcceptBy(a *sale.Activity, now time.Time) (at time.Time, ok bool) {
	at = now.Add(a.PayWindow)
	return at.UTC().Truncate(time.Second), !at.After(Ends(a))
}

// Over says why nobody of an activity can be offered anything any more at an instant of the database's clock; "" while somebody can, now or
// once the sale goes on.
func Over(a *sale.Activity, now time.Time) Reason {
	switch _, ok := AcceptBy(a, now); {
	case a.Status == sale.Cancelled || a.CancelledAt != nil:
		return SaleCancelled
	case a.Status == sale.Closed:
		return SaleClosed
	case !ok:
		return TooLate
	}
	return ""
}

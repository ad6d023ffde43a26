package timeline

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"holdfast/shared/sale"
)

// Source is who knows of an event.
type Source string

// The sources there are.
const (
	Redis    Source = "REDIS"    // the log of the stock in Redis
	Queue    Source = "QUEUE"    // a message, and what became of it
	MySQL    Source = "MYSQL"    // rows of the database
	Repair   Source = "REPAIR"   // what a layer of repair did, could not do, or found
	Operator Source = "OPERATOR" // the audit log
)

// Event is one thing that happened.
type Event struct {
	At     time.Time // UTC; zero: not known
	Source Source
	Text   string // one sentence
}

// OrderStory is what happened to one order.
type OrderStory struct {
	OrderID    sale.OrderID
	ActivityID string
	UserID     string // "" when no store knows whose it is
	Status     string // as an order is shown, RESERVED, UNPAID, PAID, CANCELLED; "" when no store knows the order
	Events     []Event
	Verdict    string
	Next       string // what happens next by itself, or that nothing does
}

// BuyerStory is what happened to one user in one sale.
type BuyerStory struct {
	ActivityID  string
	UserID      string
	Held        int // units in live orders, by MySQL
	Limit       int
	Orders      []sale.OrderID // newest first, at most maxOrders
	Events      []Event
	Verdict     string
	Next        string
	NotProvable []string // what the stores cannot tell, a sentence each
}

// Unknown is returned for an order of which there is no trace.
type Unknown struct {
	OrderID  sale.OrderID
	LookedAt []string // what was read, each with its outcome
}

// ErrUnknown is the sentinel of Unknown.
var ErrUnknown = errors.New("timeline: no trace of the order")

// Error says what was looked at.
func (u *Unknown) Error() string {
	return "There is no trace of order " + u.OrderID.String() + ". Looked at: " + strings.Join(u.LookedAt, "; ") + "."
}

// Unwrap gives the sentinel.
func (u *Unknown) Unwrap() error { return ErrUnknown }

// rank puts events of one instant into the order in which they cause each other.
var rank = map[Source]int{Redis: 0, Queue: 1, Operator: 2, MySQL: 3, Repair: 4}

// merge sorts events by time; those without one come last.
func merge(events []Event) []Event {
	slices.SortStableFunc(events, func(a, b Event) int {
		if a.At.IsZero() != b.At.IsZero() {
			if a.At.IsZero() {
				return 1
			}
			return -1
		}
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(rank[a.Source], rank[b.Source]))
	})
	return events
}

// when writes an instant into a sentence.
func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

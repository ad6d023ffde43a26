package invariant

import (
	"fmt"
	"io"
	"time"

	"holdfast/shared/sale"
)

// Equation is one thing that must hold: Left and Right are its two sides as found: units, numbers
// of orders and the like, or hundredths of a currency.
type Equation struct {
	ID            string `json:"id"`   // the invariant's letter and a number, e.g. "D2"
	Text          string `json:"text"` // what is compared
	Left          int    `json:"left"`
	Right         int    `json:"right"`
	AtMost        bool   `json:"atMost,omitempty"` // Left need not equal Right, only not exceed it
	Pass          bool   `json:"pass"`
	FirstOffender string `json:"firstOffender,omitempty"` // an order id, a user, a bucket, a wallet, an account, and the like
}

// Report is the outcome for one activity.
type Report struct {
	ActivityID string      `json:"activityId"`
	At         time.Time   `json:"at"`  // MySQL's clock
	Seq        int64       `json:"seq"` // of the log in Redis
	InFlight   int         `json:"inFlight"`
	Status     sale.Status `json:"status"` // of the activity in MySQL
	Equations  []Equation  `json:"equations"`
}

// Exact says whether the report claims that both stores are exactly equal: the sale takes no orders and nothing is in flight. Otherwise
// the equations between the stores hold up to what is in flight, and those within a store exactly.
func (r *Report) Exact() bool { return atRest(r.Status, r.InFlight) }

// Pass says whether every equation holds.
func (r *Report) Pass() bool {
	for _, e := range r.Equations {
		if !e.Pass {
			return false
		}
	}
	return len(r.Equations) > 0
}

// Write prints the report for people, a line per equation.
func (r *Report) Write(w io.Writer) error {
	for _, e := range r.Equations {
		verdict, offender := "PASS", ""
		if !e.Pass {
			verdict, offender = "FAIL", "  first: "+e.FirstOffender
		}
		sign := "="
		if e.AtMost {
			sign = "<="
		}
		if _, err := fmt.Fprintf(w, "  %s  %-3s %-74s %9d %s %d%s\n", verdict, e.ID, e.Text, e.Left, sign, e.Right, offender); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "  in flight between the stores: %d\n", r.InFlight)
	return err
}

// Promise is one 202 as a buyer saw it.
type Promise struct {
	OrderID  sale.OrderID
	UserID   string
	Type     string
	Quantity int
}

// tally collects one equation while its parts are walked through: both sides, and the first thing that breaks it.
type tally struct {
	Equation
}

func newTally(id, text string) *tally { return &tally{Equation{ID: id, Text: text, Pass: true}} }

// breaks notes an offender; the first one stays.
func (t *tally) breaks(offender string) {
	if t.Pass {
		t.Pass, t.FirstOffender = false, offender
	}
}

// compare adds to both sides and notes the offender when they differ.
func (t *tally) compare(left, right int, offender string) {
	t.Left += left
	t.Right += right
	if left != right {
		t.breaks(offender)
	}
}

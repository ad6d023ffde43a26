package timeline_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/sale"
)

// callOff calls the sale off, and leaves the job to be run that cancels its orders.
func (w *world) callOff() (jobID string) {
	w.t.Helper()
	_, jobID, err := w.checkout.CallOff(w.t.Context(), w.id, operator("activity.call-off"))
	if err != nil {
		w.t.Fatal(err)
	}
	return jobID
}

// untrue are words about what happens next that are true of no order whose sale was called off.
var untrue = []string{"waits for its payment", "If it is not paid", "can confirm", "club keeps", "makes a new order", "next who waits", "becomes an order",
	"makes it an order", "complete and paid"}

func tickets(*sale.Activity) {}

func reserved(w *world) sale.OrderID { return w.mustReserve("ann", "k", 1).OrderID }

func bought(w *world) sale.OrderID { return w.buy("ann", "k", 1).ID }

func seat(w *world) sale.OrderID {
	w.topUp("ann", "100.00")
	return w.buy("ann", "k", 2).ID
}

// calledOff holds orders as they stand when their sale is called off, and what is told of them then.
var calledOff = map[string]struct {
	of                    func(*sale.Activity)
	make                  func(w *world) sale.OrderID
	after                 time.Duration
	status, verdict, next string
}{
	"a reservation":       {tickets, reserved, 0, "RESERVED", "takes no orders any more", "becomes a CANCELLED row"},
	"an old one":          {tickets, reserved, 5 * time.Minute, "RESERVED", "takes no orders any more", "becomes a CANCELLED row"},
	"unpaid":              {tickets, bought, 0, "UNPAID", "cannot be paid any more", "is cancelled"},
	"unpaid and too late": {tickets, bought, 20 * time.Minute, "UNPAID", "called off", "is cancelled"},
	"paid": {tickets, func(w *world) sale.OrderID {
		w.topUp("ann", "100.00")
		id := w.buy("ann", "k", 1).ID
		if _, err := w.checkout.PayByWallet(w.t.Context(), checkout.Paying{OrderID: id, UserID: "ann", Key: "p"}); err != nil {
			w.t.Fatal(err)
		}
		return id
	}, 0, "PAID", "is paid, and the whole sale was called off", "everything that was paid for it goes back"},
	"lost by Redis": {tickets, func(w *world) sale.OrderID {
		id := w.buy("ann", "k", 1).ID
		w.redis("HDEL", "log", "t"+string(id[:]))
		return id
	}, 0, "UNPAID", "Redis has lost it", "is cancelled"},
	"a payment is under way": {tickets, func(w *world) sale.OrderID {
		w.checkout.ChargeBy(company{})
		id := w.buy("ann", "k", 1).ID
		w.begin(id, "ann", "p")
		return id
	}, 0, "UNPAID", "A payment is pending at the provider until", "A success that comes later goes back"},
	"a seat":               {seats, seat, 0, "UNPAID", "cannot be confirmed any more", "the whole deposit of 5.00 CNY comes back"},
	"a seat, and too late": {seats, seat, 3 * time.Hour, "UNPAID", "cannot be confirmed any more", "the whole deposit of 5.00 CNY comes back"},
	"an offer": {tickets, func(w *world) sale.OrderID {
		w.buy("ann", "k", 4)
		w.buy("bob", "k", 2)
		wish := checkout.WaitlistWish{ActivityID: w.id, UserID: "cat", TicketType: ticket, Quantity: 2}
		if _, _, err := w.checkout.JoinWaitlist(w.t.Context(), wish); err != nil {
			w.t.Fatal(err)
		}
		w.cancel(w.facts.OrderID("bob", "k"), "bob")
		return w.buyer("cat").Orders[0]
	}, 0, "UNPAID", "an offer from the waitlist that the buyer has not accepted", "is cancelled"},
}

func TestAnOrderWhoseSaleWasCalledOffIsToldWithWhatBecomesOfIt(t *testing.T) {
	t.Parallel()
	for name, c := range calledOff {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorldOf(t, c.of)
			id := c.make(w)
			job := w.callOff()
			w.clock.Add(int64(c.after))
			story := w.order(id)
			says(t, story, c.status, c.verdict, c.next)
			for _, words := range untrue {
				if strings.Contains(story.Verdict+" "+story.Next, words) {
					t.Errorf("%q is said in: %s Next: %s", words, story.Verdict, story.Next)
				}
			}
			telling(t, story.Events, "MYSQL The whole sale was called off")
			if err := w.checkout.RunBulkJob(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			if c.status != "RESERVED" {
				ended := w.order(id)
				says(t, ended, "CANCELLED", "the whole sale was called off", "")
				telling(t, ended.Events, "MYSQL The whole sale was called off", "MYSQL It was CANCELLED: the whole sale was called off")
			}
		})
	}
}

func TestAReservationOfAClosedSaleIsNotToldToBecomeAnOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.mustReserve("ann", "k", 1).OrderID
	if _, _, err := w.catalog.Transition(t.Context(), w.id, sale.Closed, operator("activity.close")); err != nil {
		t.Fatal(err)
	}
	says(t, w.order(id), "RESERVED", "takes no orders any more", "becomes a CANCELLED row")
}

func TestAnOrderThatEndedBeforeItsSaleWasCalledOffIsToldAsBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.buy("ann", "k", 1).ID
	w.cancel(id, "ann")
	time.Sleep(2 * time.Millisecond) // the server stamps in milliseconds
	w.callOff()
	story := w.order(id)
	says(t, story, "CANCELLED", "the buyer took it back", "Nothing happens")
	for _, e := range story.Events {
		if strings.Contains(e.Text, "called off") {
			t.Errorf("told of an order that was over: %s", e.Text)
		}
	}
}

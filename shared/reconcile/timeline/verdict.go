package timeline

import (
	"fmt"
	"time"

	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/stock"
)

// sweepGrace is how old a pending reservation must be before the minute pass takes it up.
const sweepGrace = time.Minute

// Sentences about what happens next.
const (
	nothing    = "Nothing happens by itself any more."
	aPerson    = "No repair decides this: a person must look at the difference that the full reconcile finds."
	byCallOff  = "It is cancelled within minutes by the job that calls the sale off"
	inAMinute  = "The minute pass does it within a minute or two."
	inFiveMore = "The full reconcile does it within five and a half minutes."
)

// verdict says how things stand, and what happens next.
func (s *teller) verdict() (verdict, next string) {
	switch {
	case s.row == nil:
		return s.withoutRow()
	case s.row.Status.Live():
		return s.live()
	}
	return s.cancelled()
}

// withoutRow is of a reservation that MySQL does not know.
func (s *teller) withoutRow() (string, string) {
	switch e := s.entry; {
	case e == nil && s.letters > 0:
		return "A message speaks of this order, and neither store knows it: Redis has lost the reservation and the message was given up.",
			"Nothing happens by itself. Sent to the queue again, the message becomes an order if units and limit allow it, and a CANCELLED row otherwise."
	case e == nil:
		return "Neither store knows the order; only what is listed speaks of it.", nothing
	case e.Standing == stock.Dead:
		return "Redis has the reservation dead and MySQL has no row, which must not be: units come free only after a CANCELLED row.", aPerson
	case e.Standing == stock.Acknowledged:
		return "Redis has the order as committed and MySQL has no row, which must not be.", aPerson
	}
	verdict := "It is a reservation that has not become an order yet; its units are held."
	if !s.takesOrders() {
		return verdict + " The sale takes no orders any more.",
			"It becomes a CANCELLED row by its message or by the minute pass, within a minute or two, and its units come free."
	}
	due := s.entry.Reservation.At.Add(sweepGrace)
	if s.now.Before(due) {
		return verdict, "Its message becomes an order within seconds. Otherwise the minute pass makes it one from the log, from " + when(due) + " on."
	}
	if s.letters > s.redriven {
		return verdict + " Its message was given up.", "The minute pass makes it an order, or a CANCELLED row, from the log in Redis, within a minute or two. The message is not needed for that."
	}
	return verdict, "The minute pass makes it an order, or a CANCELLED row, from the log in Redis, within a minute or two."
}

// takesOrders says whether a reservation may still become an order, as create-orders and the minute pass decide it.
func (s *teller) takesOrders() bool {
	a := s.activity
	over := a.Status == sale.Closed || a.Status == sale.Cancelled || s.calledOff()
	return !over && (a.Deposit == nil || a.Deposit.FreezesAt(s.now))
}

// calledOff says whether the whole sale was called off: then nothing of it is paid or confirmed any more, and all money goes back.
func (s *teller) calledOff() bool { return s.activity.CancelledAt != nil }

// holding says what is to come of an order that holds its units, apart from what Redis knows of it.
func (s *teller) holding() (verdict, next string) {
	switch {
	case s.calledOff() && s.row.Status == order.Unpaid:
		return "The order is made, and the whole sale was called off: it cannot be paid any more.", byCallOff + ", and its units come free."
	case s.calledOff():
		return "The order is paid, and the whole sale was called off.",
			byCallOff + ": everything that was paid for it goes back, and its units come free."
	}
	verdict, next = "The order is complete and paid.", nothing
	if s.row.Status == order.Unpaid {
		verdict, next = "The order is made and waits for its payment.", "It stays so until it is paid or cancelled."
		if d := s.row.PayDeadline; d != nil && s.row.ExpiredAt(s.now) {
			verdict, next = fmt.Sprintf("The order was not paid by %s.", when(*d)), "It is cancelled within a minute or two, and its units come free."
		} else if d != nil {
			next = fmt.Sprintf("If it is not paid by %s it is cancelled within a minute or two, and its units come free.", when(*d))
		}
	}
	return verdict, next
}

// live is of an order that holds its units.
func (s *teller) live() (string, string) {
	verdict, next := s.holding()
	switch {
	case s.redisDown != nil:
		return verdict + " Redis could not be asked about it now.", next
	case s.entry == nil && s.calledOff():
		return verdict + " Redis has lost it.", next
	case s.entry == nil:
		return verdict + " Redis has lost it and offers its units again; MySQL does not sell them twice.", "Redis is taught the order. " + inFiveMore
	case s.entry.Standing == stock.Dead:
		return verdict + " Redis has it dead, which must not be: its units are offered again there.", aPerson
	case s.entry.Standing == stock.Pending:
		return verdict + " Redis has not been told yet that it is committed.", next + " Redis is told. " + inAMinute
	}
	return verdict, next
}

// cancelled is of an order that is over.
func (s *teller) cancelled() (string, string) {
	verdict := fmt.Sprintf("The order is CANCELLED: %s.", reasons[s.row.Reason])
	switch {
	case s.redisDown != nil && s.row.ReleasedAt == nil:
		return verdict + " Redis could not be asked whether its units are free.", "They are given back as soon as Redis can be reached. " + inAMinute
	case s.redisDown != nil:
		return verdict + " Its units were given back.", nothing
	case s.entry != nil && s.entry.Standing != stock.Dead:
		return verdict + " Redis still holds its units.", s.backAt()
	case s.row.ReleasedAt == nil:
		return verdict + " Its units are free in Redis, which has not been noted.", "It is noted. " + inAMinute
	case s.entry == nil:
		return verdict + " Redis does not know the order, and holds nothing for it.", nothing
	case !s.entry.HasTaken:
		return verdict + " It held no units in Redis when it ended.", nothing
	}
	return verdict + " Its units are free again.", nothing
}

func (s *teller) backAt() string {
	if s.due != nil && s.due.After(s.now) {
		return fmt.Sprintf("The minute pass gives them back; the next try is due at %s.", when(*s.due))
	}
	return "They are given back. " + inAMinute
}

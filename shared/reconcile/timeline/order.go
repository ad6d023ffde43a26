package timeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
)

// teller gathers what is known of one order.
type teller struct {
	db       *sqltx.DB
	stock    *stock.Store
	activity *sale.Activity
	events   []Event

	now         time.Time    // MySQL's clock
	row         *order.Order // nil: there is none
	entry       *stock.Entry // nil: the log has none, or could not be asked
	redisDown   error        // why the log could not be asked
	letters     int          // messages that were given up
	redriven    int          // of these, sent again
	differences int          // that are open
	due         *time.Time   // when a failed compensation is tried next
	purse       purse
}

func (s *teller) add(at time.Time, source Source, format string, args ...any) {
	s.events = append(s.events, Event{At: at, Source: source, Text: fmt.Sprintf(format, args...)})
}

// OfOrder tells an order's story. It returns an *Unknown when no store has a trace of it, stock.ErrNotLoaded, stock.ErrUnavailable or
// stock.ErrNoAnswer when there is no row and Redis, which may know more, cannot tell now, and the errors of the database.
func OfOrder(ctx context.Context, db *sqltx.DB, st *stock.Store, id sale.OrderID) (*OrderStory, error) {
	activity, err := catalog.ByNumber(ctx, db, id.Number())
	if errors.Is(err, catalog.ErrNotFound) {
		return nil, &Unknown{OrderID: id, LookedAt: []string{"the activities, none of which has the number that the id begins with"}}
	}
	if err != nil {
		return nil, err
	}
	s := &teller{db: db, stock: st, activity: activity}
	if s.now, err = db.Now(ctx, db); err != nil {
		return nil, err
	}
	if err := s.gather(ctx, id); err != nil {
		return nil, err
	}
	if s.row == nil && s.redisDown != nil {
		return nil, s.redisDown
	}
	if s.row == nil && s.entry == nil && len(s.events) == 0 {
		return nil, s.unknown(id)
	}
	s.ofCallOff()
	story := &OrderStory{OrderID: id, ActivityID: activity.ID, Events: merge(s.events)}
	switch {
	case s.row != nil:
		story.UserID, story.Status = s.row.UserID, string(s.row.Status)
	case s.entry != nil && s.entry.Standing == stock.Dead:
		story.UserID, story.Status = s.entry.Reservation.UserID, string(order.Cancelled)
	case s.entry != nil:
		story.UserID, story.Status = s.entry.Reservation.UserID, string(order.Reserved)
	}
	story.Verdict, story.Next = s.verdict()
	story.Verdict, story.Next = s.purse.standing(story.Verdict, story.Next, s.now)
	return story, nil
}

// gather reads everything, the log before the row: what is found in the log alone may become a row, and never the other way.
func (s *teller) gather(ctx context.Context, id sale.OrderID) error {
	if err := s.ofLog(ctx, id); err != nil {
		return err
	}
	row, err := order.Get(ctx, s.db, id)
	switch {
	case err == nil:
		s.row = row
		if err := s.ofRow(ctx); err != nil {
			return err
		}
	case !errors.Is(err, order.ErrNotFound):
		return err
	}
	for _, read := range []func(context.Context, sale.OrderID) error{s.ofWaitlist, s.ofDeposit, s.ofPayments, s.ofRefunds, s.ofNotices,
		s.ofDeadLetters, s.ofFailures, s.ofRepairs, s.ofDifferences, s.ofAlerts, s.ofOperators} {
		if err := read(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// ofLog adds what the log in Redis has. A Redis that cannot tell is no failure yet: the row may say enough.
func (s *teller) ofLog(ctx context.Context, id sale.OrderID) error {
	entry, err := s.stock.Entry(ctx, s.activity.ID, id)
	switch {
	case errors.Is(err, stock.ErrNoEntry):
		return nil
	case errors.Is(err, stock.ErrNotLoaded), errors.Is(err, stock.ErrUnavailable), errors.Is(err, stock.ErrNoAnswer):
		s.redisDown = err
		return nil
	case err != nil:
		return err
	}
	s.entry = &entry
	movements, err := s.stock.Movements(ctx, s.activity.ID, id)
	if err != nil {
		s.redisDown = err
		return nil
	}
	for _, m := range movements {
		switch m.Kind {
		case stock.KindTaken:
			left := fmt.Sprintf("left before: %d", m.Before)
			if m.Before < 0 {
				left = "Redis learned of it from MySQL at this moment"
			}
			s.add(m.At(), Redis, "Taken: %s of %s, by bucket %s; %s.", units(m.Quantity), m.Type, m.Allocations.Compact(), left)
		case stock.KindMoved:
			s.add(m.At(), Redis, "The units were moved to buckets %s, as MySQL had decided.", m.Allocations.Compact())
		case stock.KindDead:
			s.add(m.At(), Redis, "Given back: %s, because of %s; left before: %d.", units(m.Quantity), m.Reason, m.Before)
		case stock.KindMarked:
			s.add(m.At(), Redis, "The id was marked dead, because of %s; nothing had been taken under it.", m.Reason)
		}
	}
	return nil
}

// ofRow adds what the row says.
func (s *teller) ofRow(ctx context.Context) error {
	o := s.row
	if o.MessageID != "" {
		s.add(o.CreatedAt, Queue, "Its message %s reached create-orders.", o.MessageID)
	}
	if s.entry == nil {
		s.add(o.ReservedAt, MySQL, "Reserved, by what the row keeps of it: %s of %s.", units(o.Quantity), o.TicketType)
	}
	born := o.Status != order.Cancelled || o.CancelledAt == nil || o.CancelledAt.After(o.CreatedAt)
	how := map[order.Source]string{order.FromSale: "from its message", order.FromSweep: "by the minute pass, from the log in Redis",
		order.FromCancel: "as the tombstone of a reservation that was cancelled before it became an order",
		order.FromLate:   "of a payment that came too late for another order", "OFFER": "as an offer to the waitlist",
		"DEAD_LETTER": "as the tombstone of a message that could not be delivered"}[o.Source]
	if how == "" {
		how = "by " + string(o.Source)
	}
	if born {
		s.add(o.CreatedAt, MySQL, "The order was written %s.", how)
	} else {
		s.add(o.CreatedAt, MySQL, "The row was written %s, CANCELLED from the beginning: %s.", how, reasons[o.Reason])
	}
	paid, err := paidAt(ctx, s.db, o.ID)
	if err != nil {
		return err
	}
	switch {
	case !paid.IsZero() && o.PaidBy == order.PaidByDeposit:
		s.add(paid, MySQL, "It is PAID, by its deposit.")
	case !paid.IsZero():
		s.add(paid, MySQL, "It was paid: %s.", o.PaidBy)
	case o.Replaces != nil && o.PaidBy != "":
		s.add(o.CreatedAt, MySQL, "It stands in for order %s, whose payment %s came too late.", o.Replaces, o.PaidBy)
	case o.Amount.IsZero() && born:
		s.add(o.CreatedAt, MySQL, "Nothing was owed, so it was PAID at once.")
	}
	if born && o.CancelledAt != nil {
		s.add(*o.CancelledAt, MySQL, "It was CANCELLED: %s.", reasons[o.Reason])
	}
	if o.ReplacedBy != nil {
		s.add(o.UpdatedAt, MySQL, "It lives on as order %s, since a payment for it came late.", o.ReplacedBy)
	}
	if o.ReleasedAt != nil {
		s.add(*o.ReleasedAt, MySQL, "It was noted that Redis has the units back.")
	}
	return nil
}

// ofCallOff adds that the whole sale was called off, unless the order was over by then.
func (s *teller) ofCallOff() {
	if at := s.activity.CancelledAt; at != nil && (s.row == nil || s.row.CancelledAt == nil || !s.row.CancelledAt.Before(*at)) {
		s.purse.calledOff = true
		s.add(*at, MySQL, "The whole sale was called off: nothing of it can be paid or confirmed any more.")
	}
}

// unknown says what was looked at.
func (s *teller) unknown(id sale.OrderID) *Unknown {
	return &Unknown{OrderID: id, LookedAt: []string{
		"the row in MySQL, there is none",
		fmt.Sprintf("the log of activity %s in Redis, which is whole and does not have the id", s.activity.ID),
		"dead letters, failed compensations, repairs, differences, alerts and the audit log, none of which names it"}}
}

// reasons says in words why an order is CANCELLED.
var reasons = map[order.Reason]string{
	order.InsufficientStock: "MySQL had fewer units left than Redis had given away",
	order.PurchaseLimit:     "MySQL knew of more live orders of the buyer than the limit allows",
	order.ByUser:            "the buyer took it back",
	order.PayTimeout:        "it was not paid in time",
	order.SaleClosed:        "the sale was closed before it became an order",
	order.ByOperator:        "an operator took it back",

	order.InsufficientBalance: "the buyer's wallet held less than the deposit",
	order.DepositForfeited:    "the buyer did not confirm it before the deadline, and forfeited the penalty",
	order.SaleCancelled:       "the whole sale was called off",
	"UNDELIVERABLE":           "its message could not be delivered",
}

// acts says in words what the audit log has about orders; see act.
var acts = map[string]string{
	"order.pay": "It was marked as paid", "order.cancel": "It was cancelled", "dead-letter.redrive": "Its message was sent again",
}

// act is an action in words, or by its name when nobody has put it into words.
func act(action string) string {
	if words := acts[action]; words != "" {
		return words
	}
	return action
}

func units(n int) string {
	if n == 1 {
		return "1 unit"
	}
	return fmt.Sprintf("%d units", n)
}

package timeline

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
)

// maxOrders is how many of a buyer's orders are told.
const maxOrders = 20

// OfBuyer tells what happened to a user in a sale, whether they have orders or none. It returns catalog.ErrNotFound for an unknown
// activity, stock.ErrNotLoaded, stock.ErrUnavailable or stock.ErrNoAnswer while Redis cannot tell, and the errors of the database.
func OfBuyer(ctx context.Context, db *sqltx.DB, st *stock.Store, activityID, userID string) (*BuyerStory, error) {
	activity, err := catalog.Get(ctx, db, activityID)
	if err != nil {
		return nil, err
	}
	story := &BuyerStory{ActivityID: activityID, UserID: userID, Limit: activity.PerUserLimit}
	if activity.Status == sale.Draft {
		story.Verdict, story.Next = "The sale is a DRAFT: nobody could buy anything.", nothing
		return story, nil
	}
	s := &stockHistory{activity: activity}
	if err := s.read(ctx, st); err != nil {
		return nil, err
	}
	holding, err := st.Holding(ctx, activityID, userID)
	if err != nil {
		return nil, err
	}
	if story.Held, err = order.Held(ctx, db, order.Holder{ActivityID: activityID, UserID: userID}); err != nil {
		return nil, err
	}
	if story.Orders, err = ordersOf(ctx, db, activityID, userID, holding.LastOrderID); err != nil {
		return nil, err
	}
	told, err := story.tellOrders(ctx, db, st)
	if err != nil {
		return nil, err
	}
	waits, err := story.tellWaits(ctx, db)
	if err != nil {
		return nil, err
	}
	story.Events = merge(append(story.Events, s.events()...))
	story.judge(s, told)
	if waits != "" {
		story.Verdict += " " + waits
	}
	return story, nil
}

// ordersOf lists the user's orders, newest first: those with a row, and the last one that Redis knows of.
func ordersOf(ctx context.Context, db *sqltx.DB, activityID, userID string, last sale.OrderID) ([]sale.OrderID, error) {
	rows, _, err := order.List(ctx, db, order.Filter{UserID: userID, ActivityID: activityID}, "", maxOrders)
	if err != nil {
		return nil, err
	}
	var ids []sale.OrderID
	for i := range rows {
		ids = append(ids, rows[i].ID)
	}
	if last != (sale.OrderID{}) && !slices.Contains(ids, last) {
		ids = slices.Insert(ids, 0, last)
	}
	return ids, nil
}

// tellOrders adds the story of each of the user's orders.
func (b *BuyerStory) tellOrders(ctx context.Context, db *sqltx.DB, st *stock.Store) ([]*OrderStory, error) {
	var told []*OrderStory
	for _, id := range b.Orders {
		one, err := OfOrder(ctx, db, st, id)
		if errors.Is(err, ErrUnknown) {
			continue // Redis was loaded anew since the mark was read
		}
		if err != nil {
			return nil, err
		}
		told = append(told, one)
		for _, e := range one.Events {
			e.Text = fmt.Sprintf("Order %s: %s", id, e.Text)
			b.Events = append(b.Events, e)
		}
	}
	return told, nil
}

// tellWaits adds how the user waited, and says how that stands now; "" when they never did.
func (b *BuyerStory) tellWaits(ctx context.Context, db *sqltx.DB) (stands string, err error) {
	err = collect(ctx, db, "the waitlist", func(scan func(...any) error) error {
		var ticketType, status string
		var quantity int
		var reason sql.NullString
		var joined, changed time.Time
		var passed, until sql.NullTime
		if err := scan(&ticketType, &quantity, &status, &reason, &joined, &changed, &passed, &until); err != nil {
			return err
		}
		if status == "WAITING" || status == "LEFT" || status == "CLOSED" { // of the others the story of their order tells
			b.Events = append(b.Events, Event{joined, MySQL, fmt.Sprintf("The user joined the waitlist for %s of %s.", units(quantity), ticketType)})
		}
		switch status {
		case "WAITING":
			stands = fmt.Sprintf("The user waits for %s of %s.", units(quantity), ticketType)
			if passed.Valid {
				stands += " Fewer units came free than that, so others were served; the user keeps the place."
			}
			return nil
		case "OFFERED":
			stands = fmt.Sprintf("The user was offered %s of %s and has until %s to accept.", units(quantity), ticketType, when(until.Time))
			return nil
		}
		ended := map[string]string{"ACCEPTED": "accepted what was offered", "LAPSED": "let the offer lapse", "LEFT": "left the waitlist"}[status]
		if status == "CLOSED" {
			ended = "was taken off the waitlist: " + closings[reason.String]
		}
		if status == "LEFT" || status == "CLOSED" {
			b.Events = append(b.Events, Event{changed, MySQL, "The user " + ended + "."})
		}
		stands = "The user waited for " + units(quantity) + " and " + ended + "."
		return nil
	}, `SELECT ticket_type, quantity, status, reason, joined_at, updated_at, passed_since, accept_by FROM waitlist_entry
 WHERE user_id = ? AND activity_id = ? ORDER BY joined_at, entry_id LIMIT ?`, b.UserID, b.ActivityID, most)
	return stands, err
}

// closings says in words why an entry of the waitlist was closed.
var closings = map[string]string{
	"SALE_CLOSED": "the sale was closed", "SALE_CANCELLED": "the sale was called off", "NOT_SOLD_OUT": "units were there to be bought",
	"TOO_LATE": "an offer could not have been accepted in time", "PURCHASE_LIMIT": "with these units they would hold more than one may",
}

// judge says what the user has, and what everybody was told.
func (b *BuyerStory) judge(s *stockHistory, told []*OrderStory) {
	live, waiting := 0, 0
	var refused *OrderStory
	for _, one := range told {
		switch order.Status(one.Status) {
		case order.Unpaid, order.Paid:
			live++
		case order.Reserved:
			waiting++
		case order.Cancelled:
			if refused == nil {
				refused = one
			}
		}
	}
	switch {
	case live+waiting > 0:
		b.Verdict = fmt.Sprintf("The user has %d of %d units that one user may hold, in %d orders and %d reservations on their way.", b.Held, b.Limit, live, waiting)
	case refused != nil:
		b.Verdict = "The user has nothing. Of the last order: " + refused.Verdict
	default:
		b.Verdict = "The user has nothing, and no order of theirs is known to either store."
	}
	if b.Held >= b.Limit {
		b.Verdict += " The limit is used up: a further reservation is refused whatever is left."
	}
	b.Verdict += " " + s.summary()
	b.Next = nothing
	if waiting > 0 {
		b.Next = "The reservations on their way become orders or CANCELLED rows within minutes."
	}
	b.NotProvable = append(b.NotProvable,
		"Whether and when the user asked and was refused: a refusal leaves no trace in the stores. The function's own log has requests, by their request id and without users.")
	switch {
	case !s.since.IsZero():
		b.NotProvable = append(b.NotProvable,
			fmt.Sprintf("What was left before %s: Redis was loaded anew then, and its log begins there.", when(s.since)))
	case s.rebuilt:
		b.NotProvable = append(b.NotProvable, "What was left before Redis was last loaded anew, when no order was known: its log begins there.")
	}
}

package timeline

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
	story.Events = merge(append(story.Events, s.events()...))
	story.judge(s, told)
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
		b.Verdict = "The user has nothing. The last order: " + refused.Verdict
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

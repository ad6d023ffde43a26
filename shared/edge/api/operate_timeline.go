package api

import (
	"context"
	"errors"
	"net/http"

	"holdfast/shared/catalog"
	"holdfast/shared/fault"
	"holdfast/shared/reconcile/timeline"
)

// eventView is one thing that happened; at is absent where no store knows when.
type eventView struct {
	At     string `json:"at,omitempty"`
	Source string `json:"source"`
	Text   string `json:"text"`
}

// orderTimeline is the story of one order.
type orderTimeline struct {
	OrderID    string      `json:"orderId"`
	ActivityID string      `json:"activityId"`
	UserID     string      `json:"userId,omitempty"`
	Status     string      `json:"status,omitempty"`
	Events     []eventView `json:"events"`
	Verdict    string      `json:"verdict"`
	Next       string      `json:"next"`
}

// buyerTimeline is the story of one user in one sale.
type buyerTimeline struct {
	ActivityID  string      `json:"activityId"`
	UserID      string      `json:"userId"`
	Held        int         `json:"held"`
	Limit       int         `json:"limit"`
	OrderIDs    []string    `json:"orderIds"`
	Events      []eventView `json:"events"`
	Verdict     string      `json:"verdict"`
	Next        string      `json:"next"`
	NotProvable []string    `json:"notProvable"`
}

func viewEvents(events []timeline.Event) []eventView {
	views := make([]eventView, len(events))
	for i, e := range events {
		views[i] = eventView{Source: string(e.Source), Text: e.Text}
		if !e.At.IsZero() {
			views[i].At = stamp(e.At)
		}
	}
	return views
}

// tellOrder answers GET /ops/v1/orders/{orderId}/timeline. Of an order without a trace it says what was looked at.
func (o *operate) tellOrder(ctx context.Context, r *Request, _ caller) (*Response, error) {
	id, err := pathOrder(r)
	if err != nil {
		return nil, err
	}
	story, err := timeline.OfOrder(ctx, o.DB, o.Stock, id)
	var unknown *timeline.Unknown
	if errors.As(err, &unknown) {
		return nil, fault.Wrap(fault.OrderNotFound, err, unknown.Error())
	}
	if err != nil {
		return nil, err
	}
	return JSON(http.StatusOK, orderTimeline{OrderID: story.OrderID.String(), ActivityID: story.ActivityID, UserID: story.UserID,
		Status: story.Status, Events: viewEvents(story.Events), Verdict: story.Verdict, Next: story.Next})
}

// tellBuyer answers GET …/{activityId}/timeline?userId=, of anybody: the stores do not know who is a user. The id stands in the query since
// some gateways decode a slash in a path.
func (o *operate) tellBuyer(ctx context.Context, r *Request, _ caller) (*Response, error) {
	id, err := pathActivity(r)
	if err != nil {
		return nil, err
	}
	q := r.Query()
	user := q.Text("userId")
	if len(user) > 128 || !isPrintable(user) {
		q.Break("userId", "BAD_FORMAT", "1 to 128 printable ASCII characters, without outer spaces")
	}
	if _, err := catalog.Get(ctx, o.DB, id); err != nil {
		return nil, err
	}
	if err := q.Finish(); err != nil {
		return nil, err
	}
	story, err := timeline.OfBuyer(ctx, o.DB, o.Stock, id, user)
	if err != nil {
		return nil, err
	}
	v := buyerTimeline{ActivityID: id, UserID: user, Held: story.Held, Limit: story.Limit, OrderIDs: make([]string, len(story.Orders)),
		Events: viewEvents(story.Events), Verdict: story.Verdict, Next: story.Next, NotProvable: append([]string{}, story.NotProvable...)}
	for i, one := range story.Orders {
		v.OrderIDs[i] = one.String()
	}
	return JSON(http.StatusOK, v)
}

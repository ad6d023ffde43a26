package api

import (
	"context"
	"net/http"

	"holdfast/shared/catalog"
	"holdfast/shared/waitlist"
)

// operatorEntryView is an entry as operators see it.
type operatorEntryView struct {
	EntryID     string          `json:"entryId"`
	UserID      string          `json:"userId"`
	TicketType  string          `json:"ticketType"`
	Quantity    int             `json:"quantity"`
	Status      waitlist.Status `json:"status"`
	Reason      waitlist.Reason `json:"reason,omitempty"`
	Place       int             `json:"place,omitempty"`
	Why         *waitlist.Why   `json:"why,omitempty"`
	Attempt     int             `json:"attempt"`
	Offer       *offerView      `json:"offer,omitempty"`
	PassedSince string          `json:"passedSince,omitempty"`
	SavingSince string          `json:"savingSince,omitempty"`
	JoinedAt    string          `json:"joinedAt"`
}

// listWaitlist answers GET /ops/v1/activities/{activityId}/waitlist: entries in the order of joining, of one status and type if asked for.
func (o *operate) listWaitlist(ctx context.Context, r *Request, _ caller) (*Response, error) {
	id, err := pathActivity(r)
	if err != nil {
		return nil, err
	}
	q := r.Query()
	filter := waitlist.Filter{TicketType: q.Text("ticketType"), Status: waitlist.Status(q.OneOf("status", "WAITING", "OFFERED", "ACCEPTED",
		"LAPSED", "LEFT", "CLOSED"))}
	after, err := waitlist.ParseTurn(q.Text("cursor"))
	if err != nil {
		q.Break("cursor", "BAD_FORMAT", "nextCursor of the page before, unchanged")
	}
	limit := q.Limit()
	if err := q.Finish(); err != nil {
		return nil, err
	}
	a, err := catalog.Get(ctx, o.DB, id)
	if err != nil {
		return nil, err
	}
	list, err := waitlist.List(ctx, o.DB, id, filter, after, limit+1)
	if err != nil {
		return nil, err
	}
	now, err := o.DB.Now(ctx, o.DB)
	if err != nil {
		return nil, err
	}
	answer := page[operatorEntryView]{Items: []operatorEntryView{}}
	if len(list) > limit {
		list = list[:limit]
		answer.NextCursor = list[limit-1].Turn().String()
	}
	places, err := waitlist.Places(ctx, o.DB, list, now)
	if err != nil {
		return nil, err
	}
	for i := range list {
		e := &list[i]
		place := places[e.ID]
		answer.Items = append(answer.Items, operatorEntryView{EntryID: e.ID.String(), UserID: e.UserID, TicketType: e.TicketType,
			Quantity: e.Quantity, Status: e.Status, Reason: e.Reason, Place: place.Position, Why: e.Why(a, place, now), Attempt: e.Attempt,
			Offer: offerOf(e), PassedSince: optStamp(e.PassedSince), SavingSince: optStamp(e.SavingSince), JoinedAt: stamp(e.JoinedAt)})
	}
	return JSON(http.StatusOK, answer)
}

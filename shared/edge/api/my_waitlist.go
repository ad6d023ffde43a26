package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/checkout"
	"holdfast/shared/edge"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/waitlist"
)

// waitlistView is where a user stands on a sale's waitlist.
type waitlistView struct {
	TicketType string          `json:"ticketType"`
	Quantity   int             `json:"quantity"`
	Status     waitlist.Status `json:"status"`
	Reason     waitlist.Reason `json:"reason,omitempty"`   // of CLOSED
	Position   int             `json:"position,omitempty"` // of WAITING, from 1
	Why        *waitlist.Why   `json:"why,omitempty"`      // of WAITING, when units come free and others get them
	Offer      *offerView      `json:"offer,omitempty"`
	JoinedAt   string          `json:"joinedAt"`
	Now        string          `json:"now"`
}

// offerView is what is, or was, offered.
type offerView struct {
	OrderID  string `json:"orderId"`
	AcceptBy string `json:"acceptBy"`
}

// viewWaiting makes the view of an entry, with its place if it waits.
func viewWaiting(ctx context.Context, q sqltx.Querier, a *sale.Activity, e *waitlist.Entry, now time.Time) (waitlistView, error) {
	places, err := waitlist.Places(ctx, q, []waitlist.Entry{*e}, now)
	place := places[e.ID]
	return waitlistView{TicketType: e.TicketType, Quantity: e.Quantity, Status: e.Status, Reason: e.Reason, Offer: offerOf(e),
		Position: place.Position, Why: e.Why(a, place, now), JoinedAt: stamp(e.JoinedAt), Now: stamp(now)}, err
}

func offerOf(e *waitlist.Entry) *offerView {
	if e.AcceptBy == nil {
		return nil
	}
	return &offerView{OrderID: e.OrderID.String(), AcceptBy: stamp(*e.AcceptBy)}
}

// standingOf reads where a user stands on a sale's waitlist. It returns waitlist.ErrNotFound for one who never waited, and the errors of
// the database.
func standingOf(ctx context.Context, d edge.Deps, a *sale.Activity, user string) (waitlistView, error) {
	e, err := waitlist.Latest(ctx, d.DB, a.ID, user)
	if err != nil {
		return waitlistView{}, err
	}
	now, err := d.DB.Now(ctx, d.DB)
	if err != nil {
		return waitlistView{}, err
	}
	return viewWaiting(ctx, d.DB, a, e, now)
}

// myWaitlist answers /v1/activities/{activityId}/waitlist/me.
type myWaitlist struct {
	edge.Deps
	rows *activities
}

// NewMyWaitlist builds PUT, GET and DELETE /v1/activities/{activityId}/waitlist/me: joining, looking, leaving. All three may be repeated
// without a key: they say what shall be, not what shall be done once more. It takes DB, Stock, Checkout, Claims and Log.
func NewMyWaitlist(d edge.Deps) lambda.Handler {
	h := &myWaitlist{Deps: d, rows: newActivities(d)}
	return serve(d, "my-waitlist", cancelBudget, h.answer)
}

func (h *myWaitlist) answer(ctx context.Context, r *Request) (*Response, error) {
	user, err := r.userID(h.Claims)
	if err != nil {
		return nil, err
	}
	id, err := pathActivity(r)
	if err != nil {
		return nil, err
	}
	switch r.Method {
	case http.MethodPut:
		return h.join(ctx, r, id, user)
	case http.MethodDelete:
		return h.leave(ctx, id, user)
	}
	a, err := h.rows.get(ctx, id)
	if err != nil {
		return nil, err
	}
	v, err := standingOf(ctx, h.Deps, a, user)
	if err != nil {
		return nil, err
	}
	return JSON(http.StatusOK, v)
}

func (h *myWaitlist) join(ctx context.Context, r *Request, activityID, user string) (*Response, error) {
	body, err := r.Fields()
	if err != nil {
		return nil, err
	}
	wish := checkout.WaitlistWish{ActivityID: activityID, UserID: user, TicketType: body.String("ticketType"),
		Quantity: int(body.Int("quantity", 1, maxQuantity))}
	if text := body.OptString("policyHash"); text != nil {
		if wish.PolicyHash, err = sale.ParsePolicyHash(*text); err != nil {
			body.Break("policyHash", "BAD_FORMAT", "64 hexadecimal digits, as the sale shows them")
		}
	}
	if err := body.Finish(); err != nil {
		return nil, err
	}
	e, joined, err := h.Checkout.JoinWaitlist(ctx, wish)
	if err != nil {
		return nil, err
	}
	a, err := h.rows.get(ctx, activityID)
	if err != nil {
		return nil, err
	}
	now, err := h.DB.Now(ctx, h.DB)
	if err != nil {
		return nil, err
	}
	v, err := viewWaiting(ctx, h.DB, a, e, now)
	if err != nil {
		return nil, err
	}
	return JSON(statusOr(joined), v)
}

func (h *myWaitlist) leave(ctx context.Context, activityID, user string) (*Response, error) {
	if _, err := h.rows.get(ctx, activityID); err != nil {
		return nil, err
	}
	if err := h.Checkout.LeaveWaitlist(ctx, activityID, user); err != nil {
		return nil, err
	}
	return &Response{Status: http.StatusNoContent, Header: map[string]string{"Cache-Control": "no-store"}}, nil
}

// waitingAs is the part of GET .../me that tells of the waitlist: nil for a user whose last entry expects nothing any more, and while MySQL
// cannot be asked, for the rest is told without it.
func waitingAs(ctx context.Context, d edge.Deps, a *sale.Activity, user string) *waitlistView {
	ctx, cancel := context.WithTimeout(ctx, rowBudget)
	defer cancel()
	v, err := standingOf(ctx, d, a, user)
	if errors.Is(err, waitlist.ErrNotFound) || err == nil && !v.Status.Active() {
		return nil
	}
	if err != nil {
		d.Log.WarnContext(ctx, "what a user holds is told without the waitlist", "activityId", a.ID, "error", edge.Loggable(err))
		return nil
	}
	return &v
}

package api

import (
	"context"
	"errors"
	"net/http"

	"holdfast/shared/checkout"
	"holdfast/shared/deposit"
	"holdfast/shared/money"
	"holdfast/shared/sale"
)

// operatorDeposit is a deposit as operators see it.
type operatorDeposit struct {
	OrderID    string `json:"orderId"`
	ActivityID string `json:"activityId"`
	UserID     string `json:"userId"`
	heldView
	Mode            sale.Mode     `json:"mode"`
	Revision        int64         `json:"revision"`
	ETag            string        `json:"etag"` // what an extension sends as If-Match
	ClubID          string        `json:"clubId"`
	PenaltyDue      money.Amount  `json:"penaltyDue"`
	Consumed        *money.Amount `json:"consumed,omitempty"` // of one that was confirmed
	PenaltyReversed *money.Amount `json:"penaltyReversed,omitempty"`
	RemindAt        string        `json:"remindAt"`
	RemindedAt      string        `json:"remindedAt,omitempty"`
	StartedAt       string        `json:"startedAt,omitempty"` // of its workflow
	SettledAt       string        `json:"settledAt,omitempty"`
	CreatedAt       string        `json:"createdAt"`
	UpdatedAt       string        `json:"updatedAt"`
}

func viewDepositForOperator(d *deposit.Record) operatorDeposit {
	v := operatorDeposit{OrderID: d.OrderID.String(), ActivityID: d.ActivityID, UserID: d.UserID, heldView: *viewHeld(d), Mode: d.Mode,
		Revision: d.Revision, ETag: revisionTag(d.Revision), ClubID: d.ClubID, PenaltyDue: d.PenaltyDue, RemindAt: stamp(d.RemindAt),
		RemindedAt: optStamp(d.RemindedAt), StartedAt: optStamp(d.StartedAt), SettledAt: optStamp(d.SettledAt),
		CreatedAt: stamp(d.CreatedAt), UpdatedAt: stamp(d.UpdatedAt)}
	if d.Status == deposit.Confirmed || d.Status == deposit.Deducted {
		v.Consumed = &d.Consumed
	}
	if !d.PenaltyReversed.IsZero() {
		v.PenaltyReversed = &d.PenaltyReversed
	}
	return v
}

// listDeposits answers GET /ops/v1/deposits, the earliest deadline first. Each item carries the entity tag that its extension must bring.
func (o *operate) listDeposits(ctx context.Context, r *Request, _ caller) (*Response, error) {
	q := r.Query()
	filter := deposit.Filter{ActivityID: q.Text("activityId"), Status: deposit.Status(q.OneOf("status", string(deposit.Frozen),
		string(deposit.Confirmed), string(deposit.Deducted), string(deposit.Penalty), string(deposit.Refunded)))}
	if filter.ActivityID != "" && !isID(filter.ActivityID) {
		q.Break("activityId", "BAD_FORMAT", "1 to 64 letters, digits, - and _")
	}
	filter.DueBefore, _ = q.instant("dueBefore")
	cursor, limit := q.Text("cursor"), q.Limit()
	if err := q.Finish(); err != nil {
		return nil, err
	}
	list, next, err := deposit.List(ctx, o.DB, filter, cursor, limit)
	if errors.Is(err, deposit.ErrBadCursor) {
		return nil, badCursor(q)
	}
	if err != nil {
		return nil, err
	}
	views := make([]operatorDeposit, len(list))
	for i := range list {
		views[i] = viewDepositForOperator(&list[i])
	}
	return JSON(http.StatusOK, page[operatorDeposit]{views, next})
}

// extendDeposit answers POST /ops/v1/deposits/{orderId}/extension: a later deadline, for who has read the deposit as it is.
func (o *operate) extendDeposit(ctx context.Context, r *Request, by caller) (*Response, error) {
	id, err := pathOrder(r)
	if err != nil {
		return nil, err
	}
	revision, err := r.ifMatch()
	if err != nil {
		return nil, err
	}
	f, err := r.Fields()
	if err != nil {
		return nil, err
	}
	deadline := f.wholeSecond("confirmDeadline")
	if err := f.Finish(); err != nil {
		return nil, err
	}
	d, err := o.Checkout.ExtendDeposit(ctx, id, deadline, revision,
		by.entry("deposit.extend", id.String(), map[string]any{"confirmDeadline": stamp(deadline)}))
	if errors.Is(err, checkout.ErrDeadlineNotLater) {
		f.Break("confirmDeadline", "OUT_OF_RANGE", "later than it is, and than now")
		return nil, f.Finish()
	}
	if err != nil {
		return nil, err
	}
	return taggedDeposit(d)
}

// waiveDeposit answers POST /ops/v1/deposits/{orderId}/waiver: everything goes back, and the order is CANCELLED; also when it was waived
// before.
func (o *operate) waiveDeposit(ctx context.Context, r *Request, by caller) (*Response, error) {
	id, err := pathOrder(r)
	if err != nil {
		return nil, err
	}
	f, err := r.optionalFields()
	if err != nil {
		return nil, err
	}
	reason := f.OptText("reason", 1, maxReason)
	if err := f.Finish(); err != nil {
		return nil, err
	}
	_, d, err := o.Checkout.WaiveDeposit(ctx, id, by.entry("deposit.waive", id.String(), map[string]any{"reason": value(reason)}))
	if err != nil {
		return nil, err
	}
	return taggedDeposit(d)
}

// taggedDeposit is an answer of one deposit with its entity tag.
func taggedDeposit(d *deposit.Record) (*Response, error) {
	response, err := JSON(http.StatusOK, viewDepositForOperator(d))
	if err != nil {
		return nil, err
	}
	response.Header["ETag"] = revisionTag(d.Revision)
	return response, nil
}

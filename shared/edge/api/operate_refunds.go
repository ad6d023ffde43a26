package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/fault"
	"holdfast/shared/money"
	"holdfast/shared/reconcile"
	"holdfast/shared/sale"
)

// longestExtension is the most that deadlines are moved by at once.
const longestExtension = 30 * 24 * time.Hour

// refundOrder answers POST /ops/v1/orders/{orderId}/refunds: idempotent by refundId.
func (o *operate) refundOrder(ctx context.Context, r *Request, by caller) (*Response, error) {
	id, err := pathOrder(r)
	if err != nil {
		return nil, err
	}
	f, err := r.Fields()
	if err != nil {
		return nil, err
	}
	in := checkout.RefundRequest{OrderID: id, RefundID: readID(f, "refundId"), Reason: f.Text("reason", 1, maxReason)}
	if strings.HasPrefix(in.RefundID, "rf_") {
		f.Break("refundId", "NOT_ALLOWED", "rf_ begins the ids of refunds that are made without an operator")
	}
	if f.Has("amount") {
		amount := f.Money("amount")
		if f.OK() && (amount.IsZero() || amount.IsNegative()) {
			f.Break("amount", "OUT_OF_RANGE", "above zero")
		}
		in.Amount = &amount
	}
	if err := f.Finish(); err != nil {
		return nil, err
	}
	_, refund, err := o.Checkout.Refund(ctx, in, by.entry("order.refund", id.String(), map[string]any{"refundId": in.RefundID,
		"amount": optAmount(in.Amount), "reason": in.Reason}))
	switch {
	case errors.Is(err, checkout.ErrRefundExists):
		return nil, fault.Wrap(fault.RefundExists, err, "This refundId was used for something else.")
	case errors.Is(err, checkout.ErrRefundTooMuch):
		return nil, fault.New(fault.RefundTooMuch, "Less than that is left of what was paid: %w", err)
	case err != nil:
		return nil, err
	}
	return JSON(http.StatusOK, viewRefund(refund))
}

func optAmount(a *money.Amount) string {
	if a == nil {
		return ""
	}
	return a.String()
}

// callActivityOff answers POST …/cancellation of an activity: the sale is closed at once, and a job gives every order back.
func (o *operate) callActivityOff(ctx context.Context, r *Request, by caller) (*Response, error) {
	id, err := pathActivity(r)
	if err != nil {
		return nil, err
	}
	f, err := r.optionalFields()
	if err != nil {
		return nil, err
	}
	var reason string
	if f.Has("reason") {
		reason = f.Text("reason", 1, maxReason)
	}
	if err := f.Finish(); err != nil {
		return nil, err
	}
	a, job, err := o.Checkout.CallOff(ctx, id, by.entry("activity.call-off", id, map[string]any{"reason": reason}))
	if err != nil {
		return nil, err
	}
	if err := o.applyRules(ctx, a); err != nil {
		o.Log.WarnContext(ctx, "a sale that was called off is closed in the stock by the minute pass", "activityId", id, "requestId", r.ID)
	}
	return o.runAtOnce(ctx, job)
}

// extendDeadlines answers POST …/deadline-extensions: idempotent by extensionId.
func (o *operate) extendDeadlines(ctx context.Context, r *Request, by caller) (*Response, error) {
	id, err := pathActivity(r)
	if err != nil {
		return nil, err
	}
	f, err := r.Fields()
	if err != nil {
		return nil, err
	}
	in := checkout.Extension{ID: readID(f, "extensionId"), Reason: f.Text("reason", 1, maxReason),
		What: checkout.ExtendWhat(f.OneOf("what", string(checkout.ExtendPayments), string(checkout.ExtendDeposits)))}
	length := f.Text("by", 1, 32)
	if in.By, err = sale.ParseDuration(length); length != "" && (err != nil || in.By <= 0 || in.By > longestExtension) {
		f.Break("by", "BAD_FORMAT", `a duration of ISO 8601 such as "PT30M", above zero and at most 30 days`)
	}
	if err := f.Finish(); err != nil {
		return nil, err
	}
	job, err := o.Checkout.ExtendDeadlines(ctx, id, in, by.entry("activity.extend-deadlines", id, map[string]any{"extensionId": in.ID,
		"by": length, "what": in.What, "reason": in.Reason}))
	switch {
	case errors.Is(err, checkout.ErrExtensionExists):
		return nil, fault.Wrap(fault.ExtensionExists, err, "This extensionId was used for something else.")
	case errors.Is(err, checkout.ErrExtensionRunning):
		return nil, fault.Wrap(fault.ActionNotPossible, err, "Another extension of the sale is under way; its job tells how far it is.")
	case err != nil:
		return nil, err
	}
	return o.runAtOnce(ctx, job)
}

// jobBudget is how long a job may run within the request that asked for it; the minute pass goes on with it.
const jobBudget = 3 * time.Second

// runAtOnce begins a job, and answers how far it has come.
func (o *operate) runAtOnce(ctx context.Context, id string) (*Response, error) {
	within, cancel := context.WithTimeout(ctx, jobBudget)
	defer cancel()
	if err := o.Checkout.RunBulkJob(within, id); err != nil && within.Err() == nil {
		o.Log.WarnContext(ctx, "a job is left to the minute pass", "jobId", id, "error", err)
	}
	j, err := reconcile.GetJob(ctx, o.DB, id)
	if err != nil {
		return nil, err
	}
	return acceptedJob(j)
}

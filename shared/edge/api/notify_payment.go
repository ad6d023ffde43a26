package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/shared/checkout"
	"holdfast/shared/edge"
	"holdfast/shared/edge/provider"
	"holdfast/shared/fault"
	"holdfast/shared/payment"
)

// notify answers POST /v1/payments/notifications.
type notify struct{ edge.Deps }

// NewNotifyPayment builds POST /v1/payments/notifications, where the payment provider tells what became of payments and refunds. Nobody
// is logged in: the signature says who calls. It takes DB, Checkout, WebhookSecret and Log.
func NewNotifyPayment(d edge.Deps) lambda.Handler {
	return serve(d, "notify-payment", notifyBudget, (&notify{d}).answer)
}

func (h *notify) answer(ctx context.Context, r *Request) (*Response, error) {
	if len(r.Body) > maxBody {
		return nil, fault.New(fault.BodyTooLarge, "A body holds at most %d bytes.", maxBody)
	}
	if err := h.authentic(ctx, r); err != nil {
		return nil, err
	}
	f, err := r.Fields()
	if err != nil {
		return nil, err
	}
	paymentID, refundID := f.OptString("paymentId"), f.OptString("refundId")
	if (paymentID == nil) == (refundID == nil) {
		f.Break("paymentId", "NOT_ALLOWED", "exactly one of paymentId and refundId")
	}
	succeeded := f.OneOf("status", "SUCCEEDED", "FAILED") == "SUCCEEDED"
	amount, reference, failure := f.Money("amount"), f.OptString("reference"), provider.Code(value(f.OptString("failure")))
	if reference != nil && (len(*reference) > 191 || !isPrintable(*reference)) {
		f.Break("reference", "BAD_FORMAT", "1 to 191 printable ASCII characters")
	}
	if err := f.Finish(); err != nil {
		return nil, err
	}
	if refundID != nil {
		state := payment.RefundState{Status: payment.RefundSucceeded}
		if !succeeded {
			state = payment.RefundState{Status: payment.RefundFailed, Failure: failure}
		}
		err = h.Checkout.LearnRefund(ctx, checkout.RefundNews{RefundID: *refundID, State: state, Amount: amount})
	} else {
		err = h.Checkout.LearnPayment(ctx, checkout.PaymentNews{PaymentID: *paymentID, Succeeded: succeeded, Failure: failure,
			Amount: amount, Reference: value(reference)})
	}
	if err != nil {
		return nil, newsFault(err)
	}
	return &Response{Status: http.StatusNoContent, Header: map[string]string{"Cache-Control": "no-store"}}, nil
}

// authentic says whether the provider sent this, and lately. Only what is signed well asks the database for its clock.
func (h *notify) authentic(ctx context.Context, r *Request) error {
	refused := fault.New(fault.Unauthenticated, "The call is not signed by the payment provider, or was signed more than five minutes from now.")
	timestamp, signature := r.Header(provider.TimestampHeader), r.Header(provider.SignatureHeader)
	if h.WebhookSecret == nil {
		return refused
	}
	key, err := h.WebhookSecret(ctx)
	if err != nil {
		return fault.Wrap(fault.ProviderUnavailable, err, "The key of the payment provider cannot be read at the moment.")
	}
	if err := provider.CheckSignature(key, r.Body, timestamp, signature); err != nil {
		return refused
	}
	now, err := h.DB.Now(ctx, h.DB)
	if err != nil {
		return err
	}
	if err := provider.CheckAge(timestamp, now); err != nil {
		return refused
	}
	return nil
}

func newsFault(err error) error {
	switch {
	case errors.Is(err, payment.ErrNotFound):
		return fault.Wrap(fault.PaymentNotFound, err, "No payment or refund of this id was ever asked for.")
	case errors.Is(err, checkout.ErrAmountDiffers):
		return fault.Wrap(fault.AmountDiffers, err, "The amount is not the one that was asked for; nothing was done.")
	}
	return err
}

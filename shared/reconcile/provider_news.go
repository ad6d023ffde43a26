package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/money"
	"holdfast/shared/order"
	"holdfast/shared/payment"
)

// What PROVIDER_DIFFERS can be about, as its evidence says it.
const (
	NewsLost    = "NEWS_LOST"    // the provider lists the success, and here it is none yet
	NotAsked    = "NOT_ASKED"    // the provider lists what it was never asked for
	NotListed   = "NOT_LISTED"   // here it is a success, and the provider does not list it
	FailedHere  = "FAILED_HERE"  // the provider lists a refund that counts as failed here
	OtherAmount = "OTHER_AMOUNT" // of another amount or currency
	OtherCharge = "OTHER_CHARGE" // another charge than the one that was begun, under the same id
)

// ProviderEvidence is the evidence of PROVIDER_DIFFERS.
type ProviderEvidence struct {
	Differs  []string      `json:"differs"`
	Provider ProviderSays  `json:"provider"`
	MySQL    *PaymentFacts `json:"mysql,omitempty"` // nil: there is no row
}

// ProviderSays is what the provider lists.
type ProviderSays struct {
	PaymentID string        `json:"paymentId,omitempty"`
	RefundID  string        `json:"refundId,omitempty"`
	Listed    bool          `json:"listed"`
	Amount    *money.Amount `json:"amount,omitempty"`
	At        time.Time     `json:"at,omitzero"`
	Reference string        `json:"reference,omitempty"`
	From      time.Time     `json:"from,omitzero"`  // where it was looked for, when it is not listed
	Until     time.Time     `json:"until,omitzero"` // up to where
}

// PaymentFacts is what the row of a payment or refund says.
type PaymentFacts struct {
	Status    string       `json:"status"`
	Amount    money.Amount `json:"amount"`
	Reference string       `json:"reference,omitempty"`
	CreatedAt time.Time    `json:"createdAt"`
	EndedAt   *time.Time   `json:"endedAt,omitempty"` // when its success was learnt
}

// actLearn takes a success that the provider lists for news, by the very way that a notification goes: it is decided once, however often
// and by whomever it is told. Money that was taken in goes back by the operators' calls for refunds.
func (r *Reconciler) actLearn(ctx context.Context, d Difference) (effect, error) {
	var e ProviderEvidence
	if err := json.Unmarshal(d.Evidence, &e); err != nil {
		return nil, impossible("the difference does not say what the provider lists")
	}
	p := e.Provider
	if !p.Listed || p.Amount == nil || !slices.Contains(e.Differs, NewsLost) {
		return nil, impossible("only news that was lost can be taken in, and this is something else")
	}
	var err error
	if p.RefundID != "" {
		err = r.learnRefund(ctx, p)
	} else {
		err = r.checkout.LearnPayment(ctx, checkout.PaymentNews{PaymentID: p.PaymentID, Succeeded: true, Amount: *p.Amount, Reference: p.Reference})
	}
	switch {
	case errors.Is(err, payment.ErrNotFound), errors.Is(err, order.ErrNotFound):
		return nil, impossible("no provider was ever asked for it; what it took goes back there")
	case errors.Is(err, checkout.ErrAmountDiffers):
		return nil, impossible("the provider lists another amount than was asked for")
	case err != nil:
		return nil, err
	}
	return effect{"undo": "NOT_POSSIBLE", "did": "the success is taken in, as if the provider had notified it"}, nil
}

// learnRefund takes in that a refund succeeded. What has failed for good stays so.
func (r *Reconciler) learnRefund(ctx context.Context, p ProviderSays) error {
	err := r.checkout.LearnRefund(ctx, checkout.RefundNews{RefundID: p.RefundID, Amount: *p.Amount,
		State: payment.RefundState{Status: payment.RefundSucceeded}})
	if err != nil {
		return err
	}
	row, err := payment.GetRefund(ctx, r.db, p.RefundID)
	if err == nil && row.Status == payment.RefundFailed {
		return impossible("the refund counts as failed by now, and its money waits in SUSPENSE")
	}
	return err
}

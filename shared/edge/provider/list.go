package provider

import (
	"context"
	"fmt"
	"time"

	"holdfast/shared/money"
	"holdfast/shared/payment"
)

// maxListedID is how long an id or a reference of the list may be.
const maxListedID = 191

type listCall struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	After string    `json:"after,omitempty"`
	Limit int       `json:"limit"`
}

// listed is one success on the wire.
type listed struct {
	PaymentID string       `json:"paymentId"`
	RefundID  string       `json:"refundId"`
	Amount    money.Amount `json:"amount"`
	At        time.Time    `json:"at"`
	Reference string       `json:"reference"`
}

// List gives a page of what succeeded, as payment.Provider says. A page that breaks a promise of the protocol is no answer: whoever goes
// through the list could skip something by it, or never come to its end.
func (c *Client) List(ctx context.Context, w payment.Listing) (payment.ListPage, error) {
	var answer struct {
		Entries []listed `json:"entries"`
		Next    string   `json:"next"`
	}
	call := listCall{From: w.From.UTC(), To: w.To.UTC(), After: w.After, Limit: w.Limit}
	if err := c.call(ctx, "/list", call, &answer); err != nil {
		return payment.ListPage{}, err
	}
	page := payment.ListPage{Next: answer.Next, Successes: make([]payment.Success, 0, len(answer.Entries))}
	senseless := len(answer.Entries) > w.Limit || answer.Next != "" && (len(answer.Entries) == 0 || answer.Next == w.After)
	last := w.From
	for i := range answer.Entries {
		e := &answer.Entries[i]
		at := e.At.UTC().Truncate(time.Millisecond)
		senseless = senseless || !e.sound() || at.Before(last) || !at.Before(w.To)
		last = at
		page.Successes = append(page.Successes, payment.Success{PaymentID: e.PaymentID, RefundID: e.RefundID, Amount: e.Amount, At: at,
			Reference: e.Reference})
	}
	if senseless {
		return payment.ListPage{}, fmt.Errorf("%w: its list makes no sense", payment.ErrNoProvider)
	}
	return page, nil
}

// sound says whether an entry names one thing, and money.
func (e *listed) sound() bool {
	return (e.PaymentID == "") != (e.RefundID == "") && len(e.PaymentID+e.RefundID) <= maxListedID && len(e.Reference) <= maxListedID &&
		e.Amount.Currency != "" && !e.Amount.IsZero() && !e.Amount.IsNegative()
}

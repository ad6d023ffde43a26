package api

import (
	"time"

	"holdfast/shared/deposit"
	"holdfast/shared/money"
	"holdfast/shared/sale"
)

// policyView is a deposit policy as everybody may see it: the hash is made of exactly this.
type policyView struct {
	Amount           *money.Amount     `json:"amount,omitempty"` // per unit
	Ratio            string            `json:"ratio,omitempty"`
	PenaltyRatio     string            `json:"penaltyRatio"`
	ConfirmDeadline  string            `json:"confirmDeadline"`
	RemindAt         string            `json:"remindAt"`
	Cancellation     sale.Cancellation `json:"cancellation"`
	ClubID           string            `json:"clubId"`
	OfferLeadSeconds int64             `json:"offerLeadSeconds"`
	PolicyHash       string            `json:"policyHash"`
}

// viewPolicy writes an activity's deposit policy; nil when it has none.
func viewPolicy(a *sale.Activity) *policyView {
	p := a.Deposit
	if p == nil {
		return nil
	}
	v := &policyView{Amount: p.Amount, PenaltyRatio: p.PenaltyRatio.String(), ConfirmDeadline: stamp(p.ConfirmDeadline),
		RemindAt: stamp(p.RemindAt), Cancellation: p.Cancellation, ClubID: p.ClubID, OfferLeadSeconds: int64(p.OfferLead / time.Second),
		PolicyHash: p.Hash().String()}
	if p.Ratio != nil {
		v.Ratio = p.Ratio.String()
	}
	return v
}

// maxOutcomes bounds the quantities whose outcomes are listed.
const maxOutcomes = 20

// outcomeView is what a deposit of so many units comes to, to the cent, before anybody has paid it.
type outcomeView struct {
	Quantity  int          `json:"quantity"`
	Deposit   money.Amount `json:"deposit"`
	OnConfirm confirmView  `json:"onConfirm"`
	OnCancel  *splitView   `json:"onCancel,omitempty"` // absent where the buyer cannot cancel
	OnMiss    splitView    `json:"onMiss"`
}

// confirmView is what confirming costs on top of the deposit, or gives back where the order costs less.
type confirmView struct {
	Supplement money.Amount  `json:"supplement"`
	Refund     *money.Amount `json:"refund,omitempty"`
}

// splitView is what of a deposit the club keeps, and what comes back.
type splitView struct {
	Penalty money.Amount `json:"penalty"`
	Refund  money.Amount `json:"refund"`
}

// viewOutcomes reckons the outcomes of a type for every quantity that a buyer may take, at most maxOutcomes; none without a policy.
func viewOutcomes(a *sale.Activity, t *sale.TicketType) []outcomeView {
	if a.Deposit == nil {
		return nil
	}
	list := make([]outcomeView, min(a.PerUserLimit, maxOutcomes))
	for i := range list {
		terms := a.Deposit.Terms(t.Price.Times(i+1), i+1)
		v := outcomeView{Quantity: i + 1, Deposit: terms.Deposit}
		var surplus money.Amount
		if _, v.OnConfirm.Supplement, surplus = terms.Confirmed(); !surplus.IsZero() {
			v.OnConfirm.Refund = &surplus
		}
		if penalty, refund, possible := terms.CancelledBy(a.Deposit.Cancellation); possible {
			v.OnCancel = &splitView{penalty, refund}
		}
		v.OnMiss.Penalty, v.OnMiss.Refund = terms.Missed()
		list[i] = v
	}
	return list
}

// heldView is the deposit of an order as its buyer sees it. What it came to is absent while it is FROZEN.
type heldView struct {
	Amount          money.Amount      `json:"amount"`
	Status          deposit.Status    `json:"status"`
	ConfirmDeadline string            `json:"confirmDeadline"`
	PenaltyRatio    string            `json:"penaltyRatio"`
	Cancellation    sale.Cancellation `json:"cancellation"`
	PolicyHash      string            `json:"policyHash"`
	Penalty         *money.Amount     `json:"penalty,omitempty"`
	Refund          *money.Amount     `json:"refund,omitempty"`
	Supplement      *money.Amount     `json:"supplement,omitempty"`
}

// viewHeld writes the deposit of an order; nil when it has none.
func viewHeld(d *deposit.Record) *heldView {
	if d == nil {
		return nil
	}
	v := &heldView{Amount: d.Deposit, Status: d.Status, ConfirmDeadline: stamp(d.ConfirmDeadline), PenaltyRatio: d.PenaltyRatio.String(),
		Cancellation: d.Cancellation, PolicyHash: d.PolicyHash.String()}
	switch d.Status {
	case deposit.Frozen:
	case deposit.Confirmed, deposit.Deducted:
		v.Supplement, v.Refund = &d.Supplement, &d.Refunded
	default:
		v.Penalty, v.Refund = &d.Penalty, &d.Refunded
	}
	return v
}

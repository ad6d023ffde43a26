package api

import (
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/sale"
)

// maxOfferLead bounds how long before the deadline selling may end, in seconds.
const maxOfferLead = 30 * 24 * 3600

// readDepositPolicy reads the member deposit, which is replaced as a whole; nil when it is absent or not an object. It checks each field by
// itself; rules between it and the rest of the activity are checkDeposit's.
func readDepositPolicy(f *Fields) *sale.DepositPolicy {
	in := f.OptObject("deposit")
	if in == nil {
		return nil
	}
	p := &sale.DepositPolicy{OfferLead: sale.MinOfferLead}
	switch {
	case in.Has("amount") == in.Has("ratio"):
		in.BreakWhole("ONE_OF", "either amount, per unit, or ratio, of the amount of the order")
		in.OptRaw("amount")
		in.text("ratio", false)
	case in.Has("amount"):
		amount := in.Money("amount")
		if amount.Currency != "" && !amount.IsZero() && !amount.IsNegative() {
			p.Amount = &amount
		} else if amount.Currency != "" {
			in.Break("amount", "OUT_OF_RANGE", "more than nothing")
		}
	default:
		if ratio := in.ratio("ratio"); ratio != nil && ratio.IsPositive() {
			p.Ratio = ratio
		} else if ratio != nil {
			in.Break("ratio", "OUT_OF_RANGE", "more than nothing")
		}
	}
	if ratio := in.ratio("penaltyRatio"); ratio != nil {
		p.PenaltyRatio = *ratio
	}
	p.ConfirmDeadline, p.RemindAt = in.wholeSecond("confirmDeadline"), in.wholeSecond("remindAt")
	p.Cancellation = sale.Cancellation(in.OneOf("cancellation", string(sale.CancelFree), string(sale.CancelPenalty), string(sale.CancelForbidden)))
	p.ClubID = readID(in, "clubId")
	if lead := in.OptInt("offerLeadSeconds", int64(sale.MinOfferLead/time.Second), maxOfferLead); lead != nil {
		p.OfferLead = time.Duration(*lead) * time.Second
	}
	return p
}

// ratio reads a decimal text from "0" to "1"; nil when it is wrong.
func (f *Fields) ratio(name string) *decimal.Decimal {
	text := f.text(name, true)
	if text == nil {
		return nil
	}
	ratio, ok := sale.ParseRatio(*text)
	if !ok {
		f.Break(name, "BAD_RATIO", `a decimal text from "0" to "1" with at most six decimals, such as "0.3"`)
		return nil
	}
	return &ratio
}

// wholeSecond reads an instant that must be there and have no fraction of a second.
func (f *Fields) wholeSecond(name string) time.Time {
	at := f.Time(name)
	if at.Nanosecond() != 0 {
		f.Break(name, "BAD_FORMAT", "an instant in whole seconds")
	}
	return at
}

// checkDeposit checks the rules between a deposit policy and the activity that it belongs to. What a field's own check has left empty is
// passed over.
func checkDeposit(a *sale.Activity, broken note) {
	p := a.Deposit
	switch {
	case a.Kind == sale.Deposit && p == nil:
		broken("/deposit", "REQUIRED", "a sale of kind DEPOSIT says on which terms deposits are held")
	case a.Kind != sale.Deposit && a.Kind != "" && p != nil:
		broken("/deposit", "NOT_ALLOWED", "only sales of kind DEPOSIT hold deposits")
	}
	if a.Kind != sale.Deposit || p == nil {
		return
	}
	if !p.ConfirmDeadline.IsZero() {
		if !p.RemindAt.Before(p.ConfirmDeadline) {
			broken("/deposit/remindAt", "OUT_OF_RANGE", "earlier than confirmDeadline")
		}
		if a.ClosesAt.After(p.SellsUntil()) {
			broken("/closesAt", "OUT_OF_RANGE", "at least "+strconv.Itoa(int(p.OfferLead/time.Second))+
				" seconds (offerLeadSeconds) before deposit.confirmDeadline, so that every buyer has time to confirm")
		}
	}
	if p.Amount != nil && p.Amount.Currency != a.Currency {
		broken("/deposit/amount/currency", "OTHER_CURRENCY", a.Currency+", as the activity says")
		return
	}
	if p.Amount != nil && !fitsColumn(*p.Amount, a.PerUserLimit) {
		broken("/deposit/amount", "OUT_OF_RANGE", "so that the deposit of perUserLimit units is less than 10000000000000000")
		return
	}
	for i, t := range a.TicketTypes {
		if p.Ratio != nil && t.Price.Currency != "" && !t.Price.IsNegative() && t.Price.Part(*p.Ratio).IsZero() {
			broken("/ticketTypes/"+strconv.Itoa(i)+"/price", "OUT_OF_RANGE", "so that the deposit, deposit.ratio of it, is more than nothing")
		}
	}
}

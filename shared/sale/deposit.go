package sale

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
)

// Cancellation says what a buyer gets who gives a deposit seat back before the deadline.
type Cancellation string

// The ways there are.
const (
	CancelFree      Cancellation = "FREE"      // the whole deposit
	CancelPenalty   Cancellation = "PENALTY"   // the deposit without the penalty, as after the deadline
	CancelForbidden Cancellation = "FORBIDDEN" // nothing: the buyer cannot cancel
)

// How long before the confirmation deadline nothing is frozen, and nothing is sold or offered, any more. A buyer whose money is frozen
// must have a moment to confirm. What was reserved in the last moment of the sale may become an order as late as two minutes after,
// by the minute pass, and that must still be early enough to freeze.
const (
	MinLead      = time.Minute
	MinOfferLead = 3 * time.Minute
)

// DepositPolicy says on which terms deposits of an activity are held. A version is never changed, and once the activity is published
// no other follows.
type DepositPolicy struct {
	Amount          *money.Amount    // per unit; exactly one of Amount and Ratio is set
	Ratio           *decimal.Decimal // part of the order's amount, above 0 and at most 1, at most six decimals
	PenaltyRatio    decimal.Decimal  // part of the deposit that the club keeps, 0 to 1, at most six decimals
	ConfirmDeadline time.Time        // first instant of being too late to confirm; whole seconds
	RemindAt        time.Time        // before ConfirmDeadline; whole seconds
	Cancellation    Cancellation
	ClubID          string        // ^[A-Za-z0-9_-]{1,64}$: whom penalties go to
	OfferLead       time.Duration // before the deadline nothing is sold or offered any more; at least MinOfferLead; whole seconds
	Version         int           // from 1; 0: not stored yet
}

// PolicyHash is the SHA-256 of a policy's terms: what a buyer agrees to.
type PolicyHash [sha256.Size]byte

// ErrBadPolicyHash is returned for a text that is no hash.
var ErrBadPolicyHash = errors.New("sale: a policy hash is 64 hexadecimal digits")

// String writes 64 hexadecimal digits.
func (h PolicyHash) String() string { return hex.EncodeToString(h[:]) }

// IsZero says whether there is no hash.
func (h PolicyHash) IsZero() bool { return h == PolicyHash{} }

// MarshalText writes what String does.
func (h PolicyHash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText writes and returns ErrBadPolicyHash for anything else.
func (h *PolicyHash) UnmarshalText(b []byte) (err error) {
	*h, err = ParsePolicyHash(string(b))
	return err
}

// ParsePolicyHash reads 64 hexadecimal digits and returns ErrBadPolicyHash for anything else.
func ParsePolicyHash(s string) (PolicyHash, error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != sha256.Size {
		return PolicyHash{}, ErrBadPolicyHash
	}
	return PolicyHash(b), nil
}

// terms is a policy as JSON: the names of the contract, decimals without trailing zeros, instants in whole seconds.
type terms struct {
	Amount           *money.Amount `json:"amount,omitempty"`
	Cancellation     Cancellation  `json:"cancellation"`
	ClubID           string        `json:"clubId"`
	ConfirmDeadline  string        `json:"confirmDeadline"`
	OfferLeadSeconds int64         `json:"offerLeadSeconds"`
	PenaltyRatio     string        `json:"penaltyRatio"`
	Ratio            string        `json:"ratio,omitempty"`
	RemindAt         string        `json:"remindAt"`
}

const wholeSeconds = "2006-01-02T15:04:05Z"

func (p *DepositPolicy) terms() terms {
	t := terms{Amount: p.Amount, Cancellation: p.Cancellation, ClubID: p.ClubID,
		ConfirmDeadline: p.ConfirmDeadline.UTC().Format(wholeSeconds), OfferLeadSeconds: int64(p.OfferLead / time.Second),
		PenaltyRatio: p.PenaltyRatio.String(), RemindAt: p.RemindAt.UTC().Format(wholeSeconds)}
	if p.Ratio != nil {
		t.Ratio = p.Ratio.String()
	}
	return t
}

// Hash is the SHA-256 over the terms as canonical JSON: names in alphabetical order, no space, one way to write each value. The
// version is no part of it, so that going back to earlier terms is agreeing to the same.
func (p *DepositPolicy) Hash() PolicyHash {
	text, err := json.Marshal(p.terms())
	if err != nil { // strings and numbers can always be written
		panic(fmt.Sprintf("sale: writing a policy: %v", err))
	}
	return sha256.Sum256(text)
}

// MarshalJSON writes the policy as the facts keep it.
func (p DepositPolicy) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		terms
		Version int `json:"version"`
	}{p.terms(), p.Version})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (p *DepositPolicy) UnmarshalJSON(b []byte) error {
	var w struct {
		terms
		Version int `json:"version"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	out := DepositPolicy{Amount: w.Amount, Cancellation: w.Cancellation, ClubID: w.ClubID,
		OfferLead: time.Duration(w.OfferLeadSeconds) * time.Second, Version: w.Version}
	var errs [4]error
	out.ConfirmDeadline, errs[0] = time.Parse(wholeSeconds, w.ConfirmDeadline)
	out.RemindAt, errs[1] = time.Parse(wholeSeconds, w.RemindAt)
	out.PenaltyRatio, errs[2] = decimal.NewFromString(w.PenaltyRatio)
	if w.Ratio != "" {
		ratio, err := decimal.NewFromString(w.Ratio)
		out.Ratio, errs[3] = &ratio, err
	}
	if err := errors.Join(errs[:]...); err != nil {
		return fmt.Errorf("sale: reading a policy: %w", err)
	}
	*p = out
	return nil
}

// FreezesAt says whether money may still be frozen at an instant of the database's clock.
func (p *DepositPolicy) FreezesAt(now time.Time) bool {
	return now.Before(p.ConfirmDeadline.Add(-MinLead))
}

// SellsUntil is the first instant at which nothing may be sold or offered any more.
func (p *DepositPolicy) SellsUntil() time.Time { return p.ConfirmDeadline.Add(-p.OfferLead) }

// DepositTerms is what a deposit comes to for one order. All amounts are of the activity's currency and none is negative.
type DepositTerms struct {
	Amount  money.Amount // of the order
	Deposit money.Amount // what is frozen, above 0
	Penalty money.Amount // what of the deposit the club keeps
}

// Terms reckons a deposit, once per order: of amount, the price of all its units, or a fixed amount for each of them; rounded half up
// to the cent. The penalty is rounded in the same way, and everything else is reckoned by subtraction.
func (p *DepositPolicy) Terms(amount money.Amount, quantity int) DepositTerms {
	t := DepositTerms{Amount: amount}
	if p.Amount != nil {
		t.Deposit = p.Amount.Times(quantity)
	} else {
		t.Deposit = amount.Part(*p.Ratio)
	}
	t.Penalty = t.Deposit.Part(p.PenaltyRatio)
	return t
}

// Confirmed says what becomes of the deposit when the buyer confirms: what of it pays for the order, what the buyer adds, and what of
// it comes back because the order costs less. At most one of supplement and surplus is above 0.
func (t DepositTerms) Confirmed() (consumed, supplement, surplus money.Amount) {
	consumed = t.Deposit.Min(t.Amount)
	return consumed, t.Amount.Minus(consumed), t.Deposit.Minus(consumed)
}

// Missed says what becomes of the deposit when the buyer lets the deadline pass.
func (t DepositTerms) Missed() (penalty, refund money.Amount) {
	return t.Penalty, t.Deposit.Minus(t.Penalty)
}

// CancelledBy says what becomes of the deposit when the buyer cancels in time; possible is false where that is not allowed.
func (t DepositTerms) CancelledBy(c Cancellation) (penalty, refund money.Amount, possible bool) {
	switch c {
	case CancelPenalty:
		penalty, refund = t.Missed()
		return penalty, refund, true
	case CancelFree:
		return money.Zero(t.Deposit.Currency), t.Deposit, true
	}
	return money.Zero(t.Deposit.Currency), money.Zero(t.Deposit.Currency), false
}

package sale

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
)

func cny(text string) money.Amount { return money.Of(decimal.RequireFromString(text), "CNY") }

func policyOf(ratio, penalty string) *DepositPolicy {
	r := decimal.RequireFromString(ratio)
	at := time.Date(2026, 11, 13, 12, 0, 0, 0, time.UTC)
	return &DepositPolicy{Ratio: &r, PenaltyRatio: decimal.RequireFromString(penalty), ConfirmDeadline: at, RemindAt: at.Add(-time.Hour),
		Cancellation: CancelPenalty, ClubID: "club", OfferLead: MinOfferLead}
}

func TestDepositIsRoundedOnceAndTheRestIsSubtracted(t *testing.T) {
	for _, c := range []struct{ ratio, penalty, amount, deposit, kept, back, consumed, supplement, surplus string }{
		{"0.3", "0.5", "0.05", "0.02", "0.01", "0.01", "0.02", "0.03", "0.00"}, // 0.015 and 0.01
		{"0.5", "0.5", "0.01", "0.01", "0.01", "0.00", "0.01", "0.00", "0.00"}, // 0.005 twice, each half up
		{"0.333333", "0.333333", "100.00", "33.33", "11.11", "22.22", "33.33", "66.67", "0.00"},
		{"1", "1", "9999999999999999.99", "9999999999999999.99", "9999999999999999.99", "0.00", "9999999999999999.99", "0.00", "0.00"},
		{"0.2", "0", "12.50", "2.50", "0.00", "2.50", "2.50", "10.00", "0.00"},
	} {
		terms := policyOf(c.ratio, c.penalty).Terms(cny(c.amount), 1)
		kept, back := terms.Missed()
		consumed, supplement, surplus := terms.Confirmed()
		got := [6]string{terms.Deposit.String(), kept.String(), back.String(), consumed.String(), supplement.String(), surplus.String()}
		if want := [6]string{c.deposit, c.kept, c.back, c.consumed, c.supplement, c.surplus}; got != want {
			t.Errorf("%s of %s: %v, want %v", c.ratio, c.amount, got, want)
		}
	}
}

func TestFixedDepositIsPerUnitAndMayBeMoreThanThePrice(t *testing.T) {
	each := cny("30.00")
	p := policyOf("1", "0.2")
	p.Amount, p.Ratio = &each, nil
	terms := p.Terms(cny("40.00"), 2)
	consumed, supplement, surplus := terms.Confirmed()
	if terms.Deposit.String() != "60.00" || consumed.String() != "40.00" || !supplement.IsZero() || surplus.String() != "20.00" {
		t.Errorf("%s: %s, %s, %s", terms.Deposit, consumed, supplement, surplus)
	}
	if penalty, refund, may := terms.CancelledBy(CancelFree); !may || !penalty.IsZero() || refund.String() != "60.00" {
		t.Errorf("cancelled freely: %s, %s", penalty, refund)
	}
	if _, _, may := terms.CancelledBy(CancelForbidden); may {
		t.Error("cancelled though it is forbidden")
	}
}

func TestHashIsOfTheTermsAndNothingElse(t *testing.T) {
	p := policyOf("0.3", "0.2")
	same := policyOf("0.300000", "0.20")
	same.Version = 7
	same.ConfirmDeadline = same.ConfirmDeadline.In(time.FixedZone("", 8*3600))
	if p.Hash() != same.Hash() {
		t.Error("the same terms have two hashes")
	}
	for name, change := range map[string]func(p *DepositPolicy){
		"penalty":      func(p *DepositPolicy) { p.PenaltyRatio = decimal.RequireFromString("0.21") },
		"deadline":     func(p *DepositPolicy) { p.ConfirmDeadline = p.ConfirmDeadline.Add(time.Second) },
		"reminder":     func(p *DepositPolicy) { p.RemindAt = p.RemindAt.Add(time.Second) },
		"cancellation": func(p *DepositPolicy) { p.Cancellation = CancelFree },
		"club":         func(p *DepositPolicy) { p.ClubID = "other" },
		"lead":         func(p *DepositPolicy) { p.OfferLead += time.Second },
		"form":         func(p *DepositPolicy) { each := cny("0.30"); p.Amount, p.Ratio = &each, nil },
	} {
		other := policyOf("0.3", "0.2")
		if change(other); other.Hash() == p.Hash() {
			t.Errorf("another %s has the same hash", name)
		}
	}
	text, err := json.Marshal(same)
	if err != nil {
		t.Fatal(err)
	}
	var read DepositPolicy
	if err := json.Unmarshal(text, &read); err != nil || read.Hash() != p.Hash() || read.Version != 7 {
		t.Errorf("read back as %+v: %v", read, err)
	}
	if h, err := ParsePolicyHash(p.Hash().String()); err != nil || h != p.Hash() {
		t.Errorf("the hash is read as %s: %v", h, err)
	}
}

func TestNothingIsFrozenFromTheLeadOn(t *testing.T) {
	p := policyOf("0.3", "0.2")
	last := p.ConfirmDeadline.Add(-MinLead)
	if !p.FreezesAt(last.Add(-time.Millisecond)) || p.FreezesAt(last) {
		t.Error("the lead begins at another instant")
	}
}

package deposit

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/sale"
)

// Of two parts that are rounded each by itself a cent is lost or made wherever the ratio cuts one in half.
func TestPenaltyAndTheRestMakeTheDepositToTheCent(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for _, ratio := range []string{"0", "0.3", "0.333333", "0.5", "1"} {
		policy := &sale.DepositPolicy{PenaltyRatio: decimal.RequireFromString(ratio), ConfirmDeadline: now, RemindAt: now.Add(-time.Hour),
			Cancellation: sale.CancelFree, ClubID: "north"}
		for cents := int64(1); cents <= 1000; cents++ {
			held := money.Of(decimal.New(cents, -2), "CNY")
			r := New(Buyer{Mode: sale.Live}, policy, sale.DepositTerms{Deposit: held, Penalty: held.Part(policy.PenaltyRatio)}, now)
			r.penalise(now)
			if got := r.Penalty.Plus(r.Refunded); got.Cmp(held) != 0 || r.Refunded.IsNegative() {
				t.Fatalf("of %s by %s: %s and %s", held, ratio, r.Penalty, r.Refunded)
			}
		}
	}
}

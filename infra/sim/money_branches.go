package sim

import (
	"encoding/json"
	"slices"
)

// moneyBranches are what seeds together must have gone through: every end that a deposit, a payment, a refund, an entry of the waitlist
// and a notice can come to, and everything that the minute pass does about them.
var moneyBranches = []string{
	"deposit/FROZEN", "deposit/DEDUCTED", "deposit/PENALTY", "deposit/REFUNDED",
	"payment/PROVIDER/ORDER", "payment/PROVIDER/NEW_ORDER", "payment/PROVIDER/REFUND", "payment/PROVIDER/FAILED", "payment/PROVIDER/EXPIRED",
	"payment/WALLET/ORDER",
	"refund/WALLET/SUCCEEDED", "refund/PROVIDER/SUCCEEDED", "refund/PROVIDER/FAILED", "refund/OUTSIDE/SUCCEEDED",
	"waitlist/WAITING", "waitlist/OFFERED", "waitlist/ACCEPTED", "waitlist/ACCEPTED for a deposit",
	"waitlist/LAPSED", "waitlist/LEFT", "waitlist/CLOSED",
	"notice/SENT", "notice/SKIPPED",
	"entry/DEPOSIT_FREEZE", "entry/DEPOSIT_CONSUME", "entry/DEPOSIT_SUPPLEMENT", "entry/DEPOSIT_PENALTY", "entry/DEPOSIT_REFUND",
	"entry/PAYMENT_WALLET", "entry/PAYMENT_MANUAL", "entry/PAYMENT_RECEIVED", "entry/PAYMENT_APPLIED", "entry/REFUND",
	"entry/SURPLUS_REFUND", "entry/REFUND_FAILED", "entry/PENALTY_REVERSAL",
	"compensate/payments.decided", "compensate/payments.givenUp", "compensate/payments.sent", "compensate/payments.finished",
	"compensate/payments.jobs", "compensate/deposits.reminded", "compensate/deposits.settled", "compensate/rolledUp", "compensate/rung",
	"compensate/waitlists.added", "compensate/waitlists.removed", "compensate/waitlists.offered", "compensate/waitlists.closed",
	"check-deposits/charges",
}

// readEnds counts how everything about money ended in this seed.
func (r *run) readEnds(reach func(name string)) {
	for _, query := range []string{
		`SELECT CONCAT('deposit/', status) FROM deposit_record`,
		`SELECT CONCAT('payment/', method, '/', COALESCE(disposition, status)) FROM payment`,
		`SELECT CONCAT('refund/', target, '/', status) FROM refund`,
		`SELECT CONCAT('waitlist/', status) FROM waitlist_entry`,
		`SELECT CONCAT('waitlist/', w.status, ' for a deposit') FROM waitlist_entry w JOIN deposit_record d ON d.order_id = w.order_id`,
		`SELECT CONCAT('notice/', status) FROM notice`,
		`SELECT CONCAT('entry/', type) FROM wallet_log`,
	} {
		r.each(query, func(scan func(...any) error) {
			var name string
			r.check(scan(&name))
			reach(name)
		})
	}
	for _, name := range r.passed {
		reach(name)
	}
}

// notePass notes what a pass of a schedule says it did.
func (r *run) notePass(name string, answer []byte) {
	var summary map[string]any
	if json.Unmarshal(answer, &summary) != nil {
		return
	}
	var walk func(prefix string, value any)
	walk = func(prefix string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for key, inner := range v {
				walk(prefix+"."+key, inner)
			}
		case float64:
			if v > 0 {
				r.passed = append(r.passed, prefix)
			}
		case bool:
			if v {
				r.passed = append(r.passed, prefix)
			}
		}
	}
	for key, value := range summary {
		walk(name+"/"+key, value)
	}
	slices.Sort(r.passed)
	r.passed = slices.Compact(r.passed)
}

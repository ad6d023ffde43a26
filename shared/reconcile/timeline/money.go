package timeline

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/order"
	"holdfast/shared/sale"
)

// purse is what a verdict needs of an order's money.
type purse struct {
	deposit   *heldDeposit
	pending   *time.Time // until when a payment is waited for; nil: none is
	undecided int        // successes of which nothing has become yet
	returning []string   // refunds that are not final, in words
	failed    int        // refunds that the provider refuses
	calledOff bool       // the whole sale was, before the order had ended: its money goes back
	offered   bool       // it was offered to an entry of the waitlist that has not accepted
}

// heldDeposit is what a verdict needs of a deposit.
type heldDeposit struct {
	status        string
	deposit, due  string // in words
	deadline      time.Time
	penalty, back string // in words
	hasPenalty    bool
}

// amount writes an amount of the activity into a sentence.
func (s *teller) amount(value decimal.Decimal) string {
	return money.Of(value, s.activity.Currency).String() + " " + s.activity.Currency
}

// ofPayments adds what was paid, or tried.
func (s *teller) ofPayments(ctx context.Context, id sale.OrderID) error {
	return collect(ctx, s.db, "payments", func(scan func(...any) error) error {
		var payment, method, status string
		var value decimal.Decimal
		var disposition, failure sql.NullString
		var other []byte
		var begun, changed time.Time
		var expires, succeeded sql.NullTime
		if err := scan(&payment, &method, &value, &status, &disposition, &other, &failure, &begun, &changed, &expires, &succeeded); err != nil {
			return err
		}
		if method == "PROVIDER" {
			s.add(begun, MySQL, "Payment %s of %s at the provider was begun.", payment, s.amount(value))
		}
		switch status {
		case "PENDING":
			if expires.Valid {
				s.purse.pending = &expires.Time
			}
		case "FAILED":
			s.add(changed, MySQL, "Payment %s failed: %s.", payment, failure.String)
		case "EXPIRED":
			s.add(changed, MySQL, "Payment %s was given up, since no answer of the provider had come.", payment)
		case "SUCCEEDED":
			s.ofSuccess(payment, method, s.amount(value), disposition.String, other, succeeded.Time)
		}
		return nil
	}, `SELECT payment_id, method, amount, status, disposition, new_order_id, failure, created_at, updated_at, expires_at, succeeded_at
 FROM payment WHERE order_id = ? ORDER BY created_at, payment_id LIMIT ?`, id[:], most)
}

// ofSuccess tells of a success and what became of its money.
func (s *teller) ofSuccess(payment, method, amount, disposition string, other []byte, at time.Time) {
	switch {
	case disposition == "ORDER" && method == "WALLET":
		s.add(at, MySQL, "%s of the buyer's wallet paid for it.", amount)
	case disposition == "ORDER":
		s.add(at, MySQL, "Payment %s succeeded, and its %s paid for the order.", payment, amount)
	case disposition == "NEW_ORDER":
		s.add(at, MySQL, "Payment %s succeeded too late for this order; its %s paid for a new one%s.", payment, amount, named(other))
	case disposition == "REFUND" && s.row != nil && s.row.PaidBy != "" && s.row.PaidBy != payment:
		s.add(at, MySQL, "Payment %s succeeded though the order had been paid already: its %s is a surplus and goes back.", payment, amount)
	case disposition == "REFUND":
		s.add(at, MySQL, "Payment %s succeeded too late, and no new order could be made of it: its %s goes back.", payment, amount)
	default:
		s.purse.undecided++
		s.add(at, MySQL, "Payment %s succeeded with %s; what becomes of it is not decided yet.", payment, amount)
	}
}

func named(id []byte) string {
	orderID, err := sale.OrderIDFromBytes(id)
	if err != nil {
		return ""
	}
	return ", " + orderID.String()
}

// ofRefunds adds what goes back.
func (s *teller) ofRefunds(ctx context.Context, id sale.OrderID) error {
	return collect(ctx, s.db, "refunds", func(scan func(...any) error) error {
		var refund, target, status, reason string
		var penalty sql.NullBool
		var value decimal.Decimal
		var attempts int
		var asked time.Time
		var finished sql.NullTime
		if err := scan(&refund, &penalty, &target, &value, &status, &reason, &attempts, &asked, &finished); err != nil {
			return err
		}
		if words := reasons[order.Reason(reason)]; words != "" {
			reason = words
		}
		what := fmt.Sprintf("%s to %s", s.amount(value), targets[target])
		if penalty.Bool {
			what = fmt.Sprintf("%s of the penalty to %s", s.amount(value), targets[target])
		}
		if finished.Valid && !finished.Time.After(asked) {
			s.add(asked, MySQL, "Refund %s gave back %s: %s.", refund, what, reason)
			return nil
		}
		s.add(asked, MySQL, "Refund %s of %s was asked for: %s.", refund, what, reason)
		switch status {
		case "SUCCEEDED":
			s.add(finished.Time, MySQL, "Refund %s succeeded.", refund)
		case "FAILED":
			s.purse.failed++
			s.add(finished.Time, MySQL, "Refund %s was refused for good by the provider; the money is held for the buyer.", refund)
		default:
			s.purse.returning = append(s.purse.returning, what)
		}
		return nil
	}, `SELECT refund_id, penalty, target, amount, status, reason, attempts, created_at, finished_at FROM refund WHERE order_id = ?
 ORDER BY created_at, refund_id LIMIT ?`, id[:], most)
}

// targets says in words where a refund goes.
var targets = map[string]string{"WALLET": "the buyer's wallet", "PROVIDER": "the buyer, by the provider", "OUTSIDE": "the buyer, by hand"}

// ofDeposit adds the life of a deposit; that its buyer was reminded, and that the deadline was moved, the notices tell.
func (s *teller) ofDeposit(ctx context.Context, id sale.OrderID) error {
	return collect(ctx, s.db, "deposits", func(scan func(...any) error) error {
		var status, club string
		var held, due, consumed, supplement, penalty, back decimal.Decimal
		var deadline, frozen time.Time
		var settled sql.NullTime
		if err := scan(&status, &club, &held, &due, &consumed, &supplement, &penalty, &back, &deadline, &frozen, &settled); err != nil {
			return err
		}
		d := &heldDeposit{status: status, deposit: s.amount(held), due: s.amount(due), deadline: deadline, penalty: s.amount(penalty),
			back: s.amount(back), hasPenalty: !penalty.IsZero()}
		s.purse.deposit = d
		s.add(frozen, MySQL, "%s of the buyer's wallet was frozen as the deposit; of it club %s keeps %s if the buyer does not confirm in time.",
			d.deposit, club, d.due)
		switch {
		case !settled.Valid:
		case status == "CONFIRMED" || status == "DEDUCTED":
			s.add(settled.Time, MySQL, "The buyer confirmed: %s of the deposit paid for the order, with %s on top, and %s of it came back.",
				s.amount(consumed), s.amount(supplement), d.back)
		case d.hasPenalty:
			s.add(settled.Time, MySQL, "The deposit was settled with a penalty: %s to club %s, %s back to the buyer.", d.penalty, club, d.back)
		default:
			s.add(settled.Time, MySQL, "The whole deposit, %s, came back to the buyer.", d.back)
		}
		return nil
	}, `SELECT status, club_id, deposit, penalty_due, consumed, supplement, penalty, refunded, confirm_deadline, created_at,
 settled_at FROM deposit_record WHERE order_id = ?`, id[:])
}

// ofWaitlist adds how the order came from the waitlist, if it did.
func (s *teller) ofWaitlist(ctx context.Context, id sale.OrderID) error {
	return collect(ctx, s.db, "the waitlist", func(scan func(...any) error) error {
		var status string
		var quantity int
		var joined, changed time.Time
		var until sql.NullTime
		if err := scan(&status, &quantity, &joined, &changed, &until); err != nil {
			return err
		}
		s.add(joined, MySQL, "The buyer joined the waitlist for %s.", units(quantity))
		if s.row != nil && until.Valid {
			s.add(s.row.CreatedAt, MySQL, "Units came free, and the order was offered to the buyer until %s.", when(until.Time))
		}
		switch status {
		case "OFFERED":
			s.purse.offered = true
		case "ACCEPTED":
			s.add(changed, MySQL, "The buyer accepted the offer.")
		case "LAPSED":
			s.add(changed, MySQL, "The offer lapsed: the buyer did not accept it.")
		}
		return nil
	}, `SELECT status, quantity, joined_at, updated_at, accept_by FROM waitlist_entry WHERE order_id = ?`, id[:])
}

// ofNotices adds what the buyer was told.
func (s *teller) ofNotices(ctx context.Context, id sale.OrderID) error {
	if s.row == nil {
		return nil
	}
	return collect(ctx, s.db, "notices", func(scan func(...any) error) error {
		var kind, status string
		var written, changed time.Time
		var sent sql.NullTime
		if err := scan(&kind, &status, &written, &changed, &sent); err != nil {
			return err
		}
		words := kind
		if known := tidings[kind]; known != "" {
			words = known
		}
		if kind == "DEADLINE_EXTENDED" {
			s.add(written, MySQL, "The deadline was extended.")
		}
		switch {
		case sent.Valid:
			s.add(sent.Time, MySQL, "The buyer was told that %s.", words)
		case status == "SKIPPED":
			s.add(changed, MySQL, "The buyer was not told that %s: it was too late, or no longer true.", words)
		default:
			s.add(written, MySQL, "A notice was written that %s; it is on its way.", words)
		}
		return nil
	}, `SELECT kind, status, created_at, updated_at, sent_at FROM notice WHERE user_id = ? AND order_id = ?
 ORDER BY notice_id LIMIT ?`, s.row.UserID, id[:], most)
}

// tidings says in words what notices tell.
var tidings = map[string]string{
	"ORDER_CREATED": "the order is made", "ORDER_PAID": "the order is paid", "ORDER_CANCELLED": "the order is cancelled",
	"DEPOSIT_REMINDER": "the deposit is to be confirmed soon", "DEPOSIT_CONFIRMED": "the seat is confirmed",
	"DEPOSIT_PENALTY": "a penalty was taken of the deposit", "DEADLINE_EXTENDED": "there is more time",
	"WAITLIST_OFFER": "units came free and are offered", "REFUND_SUCCEEDED": "a refund has arrived", "REFUND_FAILED": "a refund could not be made",
}

// standing adds what is open about the money to a verdict and to what happens next.
func (p *purse) standing(verdict, next string, now time.Time) (string, string) {
	also := func(v, n string) {
		verdict += " " + v
		if next == nothing {
			next = n
		} else if !strings.Contains(next, n) {
			next += " " + n
		}
	}
	if d := p.deposit; d != nil && d.status == "FROZEN" && p.calledOff {
		verdict = fmt.Sprintf("The seat was held by a deposit of %s, and the whole sale was called off: it cannot be confirmed any more.", d.deposit)
		next = fmt.Sprintf("%s: the whole deposit of %s comes back, and the unit comes free.", byCallOff, d.deposit)
	} else if d != nil && d.status == "FROZEN" {
		verdict = fmt.Sprintf("The seat is held by a deposit of %s, which the buyer can confirm until %s.", d.deposit, when(d.deadline))
		next = fmt.Sprintf("If it is not confirmed by then, the club keeps %s, the rest comes back, and the unit comes free.", d.due)
		if !now.Before(d.deadline) {
			verdict = fmt.Sprintf("The deposit of %s was not confirmed by %s.", d.deposit, when(d.deadline))
			next = fmt.Sprintf("It is settled within a minute or two: the club keeps %s, the rest comes back, and the unit comes free.", d.due)
		}
	}
	if p.offered {
		lapse := "If it lapses, the next who waits is offered the units."
		if p.calledOff {
			lapse = "Nobody is offered its units."
		}
		also("It is an offer from the waitlist that the buyer has not accepted.", lapse)
	}
	if p.pending != nil {
		late := "A success that comes later is not lost: it makes a new order or goes back."
		if p.calledOff {
			late = "A success that comes later goes back."
		}
		also(fmt.Sprintf("A payment is pending at the provider until %s.", when(*p.pending)), late)
	}
	if p.undecided > 0 {
		also("A payment succeeded, and what becomes of it is not decided yet.", "The minute pass decides it.")
	}
	if len(p.returning) > 0 {
		also("On its way back: "+strings.Join(p.returning, ", ")+".", "It is sent until the provider has answered for good.")
	}
	if p.failed > 0 {
		also("The provider refuses a refund for good; the money is still held.", "A person must give it back in another way.")
	}
	return verdict, next
}

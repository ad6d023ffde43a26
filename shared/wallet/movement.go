package wallet

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
	"holdfast/shared/sale"
)

// Type is the kind of a movement; the chart stands in the package comment.
type Type string

// The kinds of movements.
const (
	TopUp             Type = "TOP_UP"
	Withdrawal        Type = "WITHDRAWAL"
	DepositFreeze     Type = "DEPOSIT_FREEZE"
	DepositConsume    Type = "DEPOSIT_CONSUME"
	DepositSupplement Type = "DEPOSIT_SUPPLEMENT"
	DepositPenalty    Type = "DEPOSIT_PENALTY"
	DepositRefund     Type = "DEPOSIT_REFUND"
	PaymentWallet     Type = "PAYMENT_WALLET"
	PaymentManual     Type = "PAYMENT_MANUAL"
	PaymentReceived   Type = "PAYMENT_RECEIVED"
	PaymentApplied    Type = "PAYMENT_APPLIED"
	Refund            Type = "REFUND"
	SurplusRefund     Type = "SURPLUS_REFUND"
	RefundFailed      Type = "REFUND_FAILED"
	PenaltyReversal   Type = "PENALTY_REVERSAL"
)

// Target is where a REFUND goes: to where the money came from.
type Target string

// The targets of a REFUND.
const (
	ToWallet   Target = "WALLET"
	ToProvider Target = "PROVIDER"
	ToOutside  Target = "OUTSIDE"
)

// Names of accounts. The two of a wallet mean those of the movement's user; a club's is ClubPrefix and the club's id.
const (
	Available  = "AVAIL"
	Frozen     = "FROZEN"
	House      = "HOUSE"
	Provider   = "PROVIDER"
	Suspense   = "SUSPENSE"
	Outside    = "OUTSIDE"
	ClubPrefix = "CLUB:"
)

// Longest names that their columns take, in bytes.
const (
	maxReference = 191
	maxUser      = 128
	maxClub      = 128 - len(ClubPrefix)
)

// ErrMalformed is the cause of the refusal of a movement that could not be written: a mistake in the code that made it.
var ErrMalformed = errors.New("wallet: malformed movement")

// Movement takes an amount from one account to another; which ones follows from its type, and for some from the club or the target.
type Movement struct {
	Type      Type
	Reference string // what causes it, 1..191 bytes, unique in its type: an order, payment or refund id, or an operator's reference
	UserID    string // user concerned, 1..128 bytes
	OrderID   sale.OrderID
	Amount    money.Amount // not below zero; a movement of nothing is left out
	ClubID    string       // of DEPOSIT_PENALTY and PENALTY_REVERSAL only, 1..123 bytes
	Target    Target       // of REFUND only
}

// Key names a wallet.
type Key struct{ UserID, Currency string }

// Balance is what a wallet holds. The zero Version is that of a wallet that nothing has moved yet.
type Balance struct {
	Available, Frozen money.Amount
	Version           int64
}

func none(currency string) Balance {
	return Balance{Available: money.Zero(currency), Frozen: money.Zero(currency)}
}

// sides are the accounts by type. "" stands for what the movement itself names: a club or a target.
var sides = map[Type]struct{ from, to string }{
	TopUp:             {Outside, Available},
	Withdrawal:        {Available, Outside},
	DepositFreeze:     {Available, Frozen},
	DepositConsume:    {Frozen, House},
	DepositSupplement: {Available, House},
	DepositPenalty:    {Frozen, ""},
	DepositRefund:     {Frozen, Available},
	PaymentWallet:     {Available, House},
	PaymentManual:     {Outside, House},
	PaymentReceived:   {Provider, Suspense},
	PaymentApplied:    {Suspense, House},
	Refund:            {House, ""},
	SurplusRefund:     {Suspense, Provider},
	RefundFailed:      {Provider, Suspense},
	PenaltyReversal:   {"", Available},
}

// Accounts gives the accounts that the movement takes from and brings to. It returns ErrMalformed for an unknown type, for a club or
// a target that is missing, and for one that does not belong to the type.
func (m Movement) Accounts() (from, to string, err error) {
	side, known := sides[m.Type]
	if !known {
		return "", "", fmt.Errorf("%w: no type %q", ErrMalformed, m.Type)
	}
	club, target := "", ""
	switch {
	case m.Type == DepositPenalty || m.Type == PenaltyReversal:
		if m.ClubID == "" || len(m.ClubID) > maxClub {
			return "", "", fmt.Errorf("%w: %s needs a club of 1..%d bytes", ErrMalformed, m.Type, maxClub)
		}
		club = ClubPrefix + m.ClubID
	case m.ClubID != "":
		return "", "", fmt.Errorf("%w: %s has no club", ErrMalformed, m.Type)
	}
	switch {
	case m.Type == Refund:
		target = map[Target]string{ToWallet: Available, ToProvider: Provider, ToOutside: Outside}[m.Target]
		if target == "" {
			return "", "", fmt.Errorf("%w: no target %q of a refund", ErrMalformed, m.Target)
		}
	case m.Target != "":
		return "", "", fmt.Errorf("%w: %s has no target", ErrMalformed, m.Type)
	}
	from, to = side.from, side.to
	switch m.Type {
	case DepositPenalty:
		to = club
	case PenaltyReversal:
		from = club
	case Refund:
		to = target
	}
	return from, to, nil
}

// outgrows is the first value that a column of amounts cannot hold.
var outgrows = decimal.New(1, 16)

// check returns ErrMalformed for a movement that the tables would refuse or round.
func (m Movement) check() error {
	digits, err := money.Digits(m.Amount.Currency)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	switch {
	case m.Reference == "" || len(m.Reference) > maxReference:
		return fmt.Errorf("%w: a reference has 1..%d bytes", ErrMalformed, maxReference)
	case m.UserID == "" || len(m.UserID) > maxUser:
		return fmt.Errorf("%w: a user has 1..%d bytes", ErrMalformed, maxUser)
	case m.Amount.IsNegative():
		return fmt.Errorf("%w: %s of less than nothing", ErrMalformed, m.Type)
	case !m.Amount.Value.Equal(m.Amount.Value.Truncate(digits)):
		return fmt.Errorf("%w: %s has more decimals than %s", ErrMalformed, m.Type, m.Amount.Currency)
	case m.Amount.Value.GreaterThanOrEqual(outgrows):
		return fmt.Errorf("%w: %s is more than a wallet can hold", ErrMalformed, m.Type)
	}
	return nil
}

func ofWallet(account string) bool { return account == Available || account == Frozen }

// Club gives the id of a club by the name of its account; false for another account.
func Club(account string) (id string, ok bool) { return strings.CutPrefix(account, ClubPrefix) }

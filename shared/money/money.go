package money

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/shopspring/decimal"
)

// ErrInvalid is the cause of every refusal to read an amount; the error's text says what is wrong and what is expected.
var ErrInvalid = errors.New("money: invalid amount")

// Amount is a quantity of one currency. The zero Amount has no currency and is only good for "absent".
type Amount struct {
	Value    decimal.Decimal
	Currency string // ISO 4217 letters, e.g. "CNY"
}

var plainDecimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// limit is the first value that DECIMAL(18,2) cannot hold.
var limit = decimal.New(1, 16)

// Parse reads a decimal string with exactly the currency's digits ("12.50" CNY, "1250" JPY; no exponent, no plus sign, no
// leading zeros). It returns ErrInvalid for another form, for an unknown currency, for one of more than two digits, and for
// an amount beyond DECIMAL(18,2).
func Parse(amount, currency string) (Amount, error) {
	digits, err := Digits(currency)
	if err != nil {
		return Amount{}, err
	}
	if len(amount) > 32 || !plainDecimal.MatchString(amount) {
		return Amount{}, fmt.Errorf("%w: write a plain decimal string such as %q", ErrInvalid, decimal.Zero.StringFixed(digits))
	}
	value, err := decimal.NewFromString(amount)
	if err != nil {
		return Amount{}, fmt.Errorf("%w: write a plain decimal string such as %q", ErrInvalid, decimal.Zero.StringFixed(digits))
	}
	if value.StringFixed(digits) != amount {
		return Amount{}, fmt.Errorf("%w: %s is written with exactly %d decimals", ErrInvalid, currency, digits)
	}
	if value.Abs().GreaterThanOrEqual(limit) {
		return Amount{}, fmt.Errorf("%w: at most 16 digits before the point", ErrInvalid)
	}
	return Amount{Value: value, Currency: currency}, nil
}

// Of makes an amount from a value that is already exact, e.g. one read from the database.
func Of(value decimal.Decimal, currency string) Amount {
	return Amount{Value: value, Currency: currency}
}

// Zero is nothing of a currency.
func Zero(currency string) Amount { return Amount{Currency: currency} }

// Times is the amount n times over, exactly.
func (a Amount) Times(n int) Amount {
	return Amount{Value: a.Value.Mul(decimal.NewFromInt(int64(n))), Currency: a.Currency}
}

// IsZero says whether the amount is nothing.
func (a Amount) IsZero() bool { return a.Value.IsZero() }

// IsNegative says whether the amount is below zero.
func (a Amount) IsNegative() bool { return a.Value.IsNegative() }

// String is the decimal with the currency's digits, without the currency: the form of the contract and of SQL parameters.
func (a Amount) String() string {
	digits, err := Digits(a.Currency)
	if err != nil {
		digits = 2
	}
	return a.Value.StringFixed(digits)
}

type wire struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}

// MarshalJSON writes {"amount":"12.50","currency":"CNY"}.
func (a Amount) MarshalJSON() ([]byte, error) { return json.Marshal(wire{a.String(), a.Currency}) }

// UnmarshalJSON reads what MarshalJSON writes, by the rules of Parse.
func (a *Amount) UnmarshalJSON(b []byte) error {
	var w wire
	if err := json.Unmarshal(b, &w); err != nil {
		return fmt.Errorf("%w: an amount is {\"amount\":\"12.50\",\"currency\":\"CNY\"}", ErrInvalid)
	}
	parsed, err := Parse(w.Amount, w.Currency)
	if err != nil {
		return err
	}
	*a = parsed
	return nil
}

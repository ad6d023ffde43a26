package money

import (
	"fmt"

	"github.com/shopspring/decimal"
)

// Plus is the sum of two amounts of one currency. It panics when they are of two: that is a mistake in the code, for a sale has one
// currency and a wallet is of one.
func (a Amount) Plus(b Amount) Amount {
	a.mustMatch(b)
	return Amount{Value: a.Value.Add(b.Value), Currency: a.Currency}
}

// Minus is the difference of two amounts of one currency. It panics as Plus does.
func (a Amount) Minus(b Amount) Amount {
	a.mustMatch(b)
	return Amount{Value: a.Value.Sub(b.Value), Currency: a.Currency}
}

// Negated is the amount with its sign turned round.
func (a Amount) Negated() Amount { return Amount{Value: a.Value.Neg(), Currency: a.Currency} }

// Cmp is -1, 0 or 1 as the amount is less than, equal to or more than the other. It panics as Plus does.
func (a Amount) Cmp(b Amount) int {
	a.mustMatch(b)
	return a.Value.Cmp(b.Value)
}

// Less says whether the amount is less than the other. It panics as Plus does.
func (a Amount) Less(b Amount) bool { return a.Cmp(b) < 0 }

// Min is the lesser of two amounts of one currency. It panics as Plus does.
func (a Amount) Min(b Amount) Amount {
	if b.Less(a) {
		return b
	}
	return a
}

// Part is the amount times a ratio, rounded half up, away from zero, to the smallest unit of the currency. Of two parts that make a
// whole only one is reckoned so and the other by subtraction: rounding both may lose or make a cent.
func (a Amount) Part(ratio decimal.Decimal) Amount {
	digits, err := Digits(a.Currency)
	if err != nil {
		digits = 2
	}
	return Amount{Value: a.Value.Mul(ratio).Round(digits), Currency: a.Currency}
}

func (a Amount) mustMatch(b Amount) {
	if a.Currency != b.Currency {
		panic(fmt.Sprintf("money: %q and %q are reckoned with each other", a.Currency, b.Currency))
	}
}

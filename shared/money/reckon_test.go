package money_test

import (
	"testing"

	"github.com/shopspring/decimal"

	"holdfast/shared/money"
)

func amount(t *testing.T, s, currency string) money.Amount {
	t.Helper()
	a, err := money.Parse(s, currency)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestPartIsRoundedHalfUpToTheCurrencysDigits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ amount, currency, ratio, want string }{
		{"10.01", "CNY", "0.5", "5.01"},
		{"0.01", "CNY", "0.5", "0.01"},
		{"0.01", "CNY", "0.49", "0.00"},
		{"99.99", "CNY", "0.333333", "33.33"},
		{"101", "JPY", "0.5", "51"},
		{"9999999999999999.99", "CNY", "1", "9999999999999999.99"},
	} {
		if got := amount(t, c.amount, c.currency).Part(decimal.RequireFromString(c.ratio)).String(); got != c.want {
			t.Errorf("%s %s x %s = %s, want %s", c.amount, c.currency, c.ratio, got, c.want)
		}
	}
}

func TestAPartAndTheRestMakeTheWholeToTheCent(t *testing.T) {
	t.Parallel()
	ratio := decimal.RequireFromString("0.333333")
	for cents := int64(1); cents < 2000; cents++ {
		whole := money.Of(decimal.New(cents, -2), "CNY")
		part := whole.Part(ratio)
		if rest := whole.Minus(part); rest.IsNegative() || part.Plus(rest).Cmp(whole) != 0 {
			t.Fatalf("%s = %s + %s", whole, part, rest)
		}
	}
}

func TestTwoCurrenciesAreNeverReckonedWithEachOther(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("yuan and yen were added")
		}
	}()
	amount(t, "1.00", "CNY").Plus(amount(t, "1", "JPY"))
}

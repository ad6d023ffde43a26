package money

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/shopspring/decimal"
)

func TestParseTakesExactlyTheCurrencysDigits(t *testing.T) {
	for _, good := range []struct{ amount, currency string }{
		{"12.50", "CNY"}, {"0.00", "CNY"}, {"1250", "JPY"}, {"0", "JPY"}, {"-3.10", "EUR"}, {"9999999999999999.99", "USD"},
	} {
		a, err := Parse(good.amount, good.currency)
		if err != nil || a.String() != good.amount {
			t.Errorf("Parse(%q, %s) = %s, %v", good.amount, good.currency, a, err)
		}
	}
	for name, bad := range map[string]struct{ amount, currency string }{
		"three decimals":     {"1.234", "CNY"},
		"one decimal":        {"1.5", "CNY"},
		"no decimals":        {"1", "CNY"},
		"decimals of a yen":  {"1.00", "JPY"},
		"exponent":           {"1e2", "CNY"},
		"plus":               {"+1.00", "CNY"},
		"leading zero":       {"01.00", "CNY"},
		"minus zero":         {"-0.00", "CNY"},
		"blank":              {" 1.00", "CNY"},
		"empty":              {"", "CNY"},
		"comma":              {"1,00", "CNY"},
		"unknown currency":   {"1.00", "XYZ"},
		"small letters":      {"1.00", "cny"},
		"three-digit dinar":  {"1.000", "KWD"},
		"four-digit unit":    {"1.0000", "CLF"},
		"beyond the column":  {"10000000000000000.00", "CNY"},
		"beyond all columns": {"999999999999999999999999999999999.00", "CNY"},
	} {
		if a, err := Parse(bad.amount, bad.currency); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: Parse(%q, %s) = %s, %v; want ErrInvalid", name, bad.amount, bad.currency, a, err)
		}
	}
}

func TestJSONKeepsEveryCent(t *testing.T) {
	for _, text := range []string{"0.10", "9999999999.99", "49.99", "0.30"} {
		var a Amount
		in := `{"amount":"` + text + `","currency":"CNY"}`
		if err := json.Unmarshal([]byte(in), &a); err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(a)
		if err != nil || string(out) != in {
			t.Errorf("%s became %s (%v)", in, out, err)
		}
	}
	tenCents, _ := Parse("0.10", "CNY")
	if got := tenCents.Times(3).String(); got != "0.30" {
		t.Errorf("3 x 0.10 = %s", got)
	}
	var a Amount
	if err := json.Unmarshal([]byte(`{"amount":12.5,"currency":"CNY"}`), &a); !errors.Is(err, ErrInvalid) {
		t.Errorf("an amount as a number: %v, want ErrInvalid", err)
	}
}

func TestZeroAndNegativeAreToldApart(t *testing.T) {
	if !Zero("CNY").IsZero() || Of(decimal.NewFromInt(-1), "CNY").IsZero() || !Of(decimal.NewFromInt(-1), "CNY").IsNegative() {
		t.Error("zero or negative is misjudged")
	}
}

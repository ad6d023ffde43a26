package money

import (
	"fmt"
	"strings"
)

// Currencies of ISO 4217 by their number of minor digits. Those of three or four digits are listed to be refused by name.
var minorDigits = map[int32]string{
	0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
	2: "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC " +
		"CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES " +
		"KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR " +
		"NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT " +
		"TOP TRY TTD TWD TZS UAH USD UYU UZS VES WST XCD YER ZAR ZMW",
	3: "BHD IQD JOD KWD LYD OMR TND",
	4: "CLF UYW",
}

var digitsOf = func() map[string]int32 {
	m := make(map[string]int32, 170)
	for digits, names := range minorDigits {
		for _, name := range strings.Fields(names) {
			m[name] = digits
		}
	}
	return m
}()

// Digits is the number of decimals that a currency's amounts are written with: 0 or 2. It returns ErrInvalid for letters that
// ISO 4217 does not list, and for a currency of more than two digits, which the ledger's DECIMAL(18,2) could not hold.
func Digits(currency string) (int32, error) {
	digits, known := digitsOf[currency]
	if !known {
		return 0, fmt.Errorf("%w: %q is no ISO 4217 currency; write three capital letters such as \"CNY\"", ErrInvalid, currency)
	}
	if digits > 2 {
		return 0, fmt.Errorf("%w: %s has %d decimals; currencies of more than two are not supported", ErrInvalid, currency, digits)
	}
	return digits, nil
}

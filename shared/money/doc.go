// Package money holds amounts as exact decimals of one currency. No float ever enters: amounts are parsed from and written as
// decimal strings with exactly the digits of ISO 4217, and rounding happens in named places only, HALF_UP.
package money

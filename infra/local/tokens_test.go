package local

import (
	"errors"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// A signature by the right key is not enough: a token of another issuer or for another audience, or without an end, is refused.
func TestTokensOfTheRightKeyAreHeldAgainstIssuerAudienceAndExpiry(t *testing.T) {
	t.Parallel()
	now := time.Now()
	i, err := NewIssuer(func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	sign := func(method jwt.SigningMethod, change func(c jwt.MapClaims)) string {
		claims := jwt.MapClaims{"iss": issuer, "aud": audience, "sub": "alice", "exp": now.Add(time.Hour).Unix()}
		change(claims)
		token, err := jwt.NewWithClaims(method, claims).SignedString(i.key)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	set := func(name string, value any) func(jwt.MapClaims) { return func(c jwt.MapClaims) { c[name] = value } }
	without := func(name string) func(jwt.MapClaims) { return func(c jwt.MapClaims) { delete(c, name) } }
	if claims, err := i.Verify(sign(jwt.SigningMethodRS256, func(jwt.MapClaims) {})); err != nil || claims["sub"] != "alice" {
		t.Errorf("a genuine token: %v, %v", claims, err)
	}
	for name, token := range map[string]string{
		"another issuer":         sign(jwt.SigningMethodRS256, set("iss", "https://elsewhere.example/")),
		"almost the issuer":      sign(jwt.SigningMethodRS256, set("iss", "https://holdfast.local")),
		"no issuer":              sign(jwt.SigningMethodRS256, without("iss")),
		"another audience":       sign(jwt.SigningMethodRS256, set("aud", "another-client")),
		"several others":         sign(jwt.SigningMethodRS256, set("aud", []string{"another-client", "holdfast-admin"})),
		"no audience":            sign(jwt.SigningMethodRS256, without("aud")),
		"its end has come":       sign(jwt.SigningMethodRS256, set("exp", now.Add(-time.Second).Unix())),
		"no end":                 sign(jwt.SigningMethodRS256, without("exp")),
		"another way of signing": sign(jwt.SigningMethodRS512, func(jwt.MapClaims) {}),
	} {
		if claims, err := i.Verify(token); !errors.Is(err, errBadToken) || claims != nil {
			t.Errorf("%s: %v, %v", name, claims, err)
		}
	}
}

package local

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"math/big"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	issuer   = "https://holdfast.local/"
	audience = "holdfast"
	// tokenLife is short enough to notice and long enough for a sale; the clock moves tokens too.
	tokenLife = 12 * time.Hour
)

var errBadToken = errors.New("the token is missing, expired, or not ours")

// Issuer makes and checks the local stack's bearer tokens: RS256 under a key that lives as long as the stack.
type Issuer struct {
	key   *rsa.PrivateKey
	keyID string
	now   func() time.Time
}

// NewIssuer makes a key. now is the stack's clock.
func NewIssuer(now func() time.Time) (*Issuer, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	return &Issuer{key: key, keyID: "local", now: now}, nil
}

// Mint makes a token for a user, with scopes as one space-separated claim.
func (i *Issuer) Mint(subject string, scopes []string) (string, error) {
	now := i.now()
	claims := jwt.MapClaims{"iss": issuer, "aud": audience, "sub": subject, "iat": now.Unix(), "exp": now.Add(tokenLife).Unix()}
	if len(scopes) > 0 {
		claims["scope"] = strings.Join(scopes, " ")
	}
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	token.Header["kid"] = i.keyID
	return token.SignedString(i.key)
}

// Verify checks a bearer token as the gateway's JWT authorizer does: signature by RS256 only, issuer, audience, expiry by the
// stack's clock. It returns the claims, or errBadToken.
func (i *Issuer) Verify(token string) (map[string]any, error) {
	claims := jwt.MapClaims{}
	_, err := jwt.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return &i.key.PublicKey, nil },
		jwt.WithValidMethods([]string{"RS256"}), jwt.WithIssuer(issuer), jwt.WithAudience(audience),
		jwt.WithExpirationRequired(), jwt.WithTimeFunc(i.now))
	if err != nil {
		return nil, errBadToken
	}
	return claims, nil
}

// jwk is one RSA key of a JSON Web Key Set (RFC 7517).
type jwk struct {
	KeyType   string `json:"kty"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
	Modulus   string `json:"n"`
	Exponent  string `json:"e"`
}

// KeySet is the issuer's public key in the form that authorizers fetch.
func (i *Issuer) KeySet() map[string][]jwk {
	encode := base64.RawURLEncoding.EncodeToString
	return map[string][]jwk{"keys": {{KeyType: "RSA", Use: "sig", Algorithm: "RS256", KeyID: i.keyID,
		Modulus: encode(i.key.N.Bytes()), Exponent: encode(big.NewInt(int64(i.key.E)).Bytes())}}}
}

package provider

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"time"
)

// The headers that a signed call carries.
const (
	TimestampHeader = "Holdfast-Timestamp"
	SignatureHeader = "Holdfast-Signature"
)

// Tolerance is how far the clocks of both sides may be apart, and how long a call is on its way at most.
const Tolerance = 5 * time.Minute

// What CheckSignature and CheckAge return.
var (
	ErrBadSignature = errors.New("provider: the signature is not of this timestamp and body")
	ErrStale        = errors.New("provider: the timestamp is too far from now")
)

// Sign makes the two header values of a call with this body at an instant.
func Sign(key []byte, body []byte, at time.Time) (timestamp, signature string) {
	timestamp = strconv.FormatInt(at.Unix(), 10)
	return timestamp, hex.EncodeToString(mac(key, timestamp, body))
}

func mac(key []byte, timestamp string, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(timestamp))
	h.Write([]byte{'.'})
	h.Write(body)
	return h.Sum(nil)
}

// CheckSignature returns ErrBadSignature unless the signature is of this timestamp and body under the key. An empty key signs nothing.
func CheckSignature(key []byte, body []byte, timestamp, signature string) error {
	given, err := hex.DecodeString(signature)
	if err != nil || len(key) == 0 || !hmac.Equal(given, mac(key, timestamp, body)) {
		return ErrBadSignature
	}
	return nil
}

// CheckAge returns ErrStale unless a timestamp, whose signature is good, is near now, and ErrBadSignature for a text that is no number.
func CheckAge(timestamp string, now time.Time) error {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return ErrBadSignature
	}
	if apart := now.Sub(time.Unix(seconds, 0)).Abs(); apart > Tolerance {
		return ErrStale
	}
	return nil
}

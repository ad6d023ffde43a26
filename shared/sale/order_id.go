package sale

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
)

// OrderID names a reservation and later its order: a UUID of version 8 (RFC 9562, section 5.8). Its first 48 bits are the
// activity's number; the 74 free bits that remain are an HMAC of user and Idempotency-Key under the activity's salt. A retry
// with the same key thus gets the same id on any machine, nobody can guess another's, and the id leads back to its activity.
type OrderID [16]byte

// ErrBadOrderID is returned for a text that is no order id.
var ErrBadOrderID = errors.New("sale: not an order id")

// Domain bytes keep the inputs of the HMAC apart, so that no two purposes can make the same id from the same text.
const (
	domainUserKey byte = 1
	domainOffer   byte = 2
)

// MaxNumber is the largest activity number that an id can carry: 48 bits.
const MaxNumber int64 = 1<<48 - 1

// NewOrderID makes the id of the wish that a user named by key, in the activity with this number and salt.
func NewOrderID(number int64, salt []byte, user, key string) OrderID {
	return newOrderID(number, salt, domainUserKey, user, key)
}

// newOrderID makes the id that two texts name within a domain.
func newOrderID(number int64, salt []byte, domain byte, first, second string) OrderID {
	mac := hmac.New(sha256.New, salt)
	mac.Write([]byte{domain})
	var length [4]byte // length-prefixed, so that ("ab","c") and ("a","bc") differ
	binary.BigEndian.PutUint32(length[:], uint32(len(first)))
	mac.Write(length[:])
	mac.Write([]byte(first))
	mac.Write([]byte(second))
	return orderID(number, mac.Sum(nil))
}

// NewOfferID makes the id of the order that is offered to an entry of the waitlist at its n-th attempt, from 0.
func NewOfferID(number int64, salt []byte, entry EntryID, n int) OrderID {
	mac := hmac.New(sha256.New, salt)
	mac.Write([]byte{domainOffer})
	mac.Write(entry[:])
	var attempt [4]byte
	binary.BigEndian.PutUint32(attempt[:], uint32(n))
	mac.Write(attempt[:])
	return orderID(number, mac.Sum(nil))
}

// orderID puts the number and the HMAC together.
func orderID(number int64, sum []byte) OrderID {
	var id OrderID
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(number))
	copy(id[:6], n[2:])
	copy(id[6:], sum[:10])
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id
}

// ParseOrderID reads the form that String writes, and no other: one id has one spelling.
func ParseOrderID(s string) (OrderID, error) {
	var id OrderID
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return OrderID{}, ErrBadOrderID
	}
	digits := s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	if _, err := hex.Decode(id[:], []byte(digits)); err != nil {
		return OrderID{}, ErrBadOrderID
	}
	if id.String() != s || id[6]>>4 != 8 || id[8]>>6 != 2 {
		return OrderID{}, ErrBadOrderID
	}
	return id, nil
}

// OrderIDFromBytes reads the 16 bytes that the stores keep.
func OrderIDFromBytes(b []byte) (OrderID, error) {
	if len(b) != 16 {
		return OrderID{}, ErrBadOrderID
	}
	return OrderID(b), nil
}

// Scan reads the id from a column of 16 bytes, as database/sql asks for it. It returns ErrBadOrderID for anything else, NULL among it.
func (id *OrderID) Scan(column any) (err error) {
	b, _ := column.([]byte)
	*id, err = OrderIDFromBytes(b)
	return err
}

// String is the id in the lower-case form of RFC 9562: 8-4-4-4-12 hexadecimal digits.
func (id OrderID) String() string {
	var out [36]byte
	hex.Encode(out[0:8], id[0:4])
	hex.Encode(out[9:13], id[4:6])
	hex.Encode(out[14:18], id[6:8])
	hex.Encode(out[19:23], id[8:10])
	hex.Encode(out[24:36], id[10:16])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	return string(out[:])
}

// MarshalText and UnmarshalText make the id a string in JSON.
func (id OrderID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText writes; it returns ErrBadOrderID for anything else.
func (id *OrderID) UnmarshalText(b []byte) (err error) {
	*id, err = ParseOrderID(string(b))
	return err
}

// Number is the number of the activity that the id belongs to.
func (id OrderID) Number() int64 {
	var n [8]byte
	copy(n[2:], id[:6])
	return int64(binary.BigEndian.Uint64(n[:]))
}

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// Reference is the id's short form for people: ten characters of Crockford's base32, the low 50 bits of the HMAC part.
func (id OrderID) Reference() string {
	bits := binary.BigEndian.Uint64(id[8:])
	var out [10]byte
	for i := 9; i >= 0; i-- {
		out[i] = crockford[bits&31]
		bits >>= 5
	}
	return string(out[:])
}

// StartBucket is the bucket that the id's reservation tries first, of n; ids spread evenly.
func (id OrderID) StartBucket(n int) int {
	return int(binary.BigEndian.Uint16(id[14:]) % uint16(n))
}

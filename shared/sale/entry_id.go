package sale

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
)

// EntryID names an entry of a waitlist: 16 random bytes.
type EntryID [16]byte

// ErrBadEntryID is returned for a text that is no entry id.
var ErrBadEntryID = errors.New("sale: not an entry id")

// NewEntryID makes an id that nobody can guess.
func NewEntryID() EntryID {
	var id EntryID
	_, _ = rand.Read(id[:]) // never fails
	return id
}

// String writes 32 hexadecimal digits.
func (id EntryID) String() string { return hex.EncodeToString(id[:]) }

// ParseEntryID reads what String writes; it returns ErrBadEntryID for anything else.
func ParseEntryID(s string) (EntryID, error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(EntryID{}) || hex.EncodeToString(b) != s {
		return EntryID{}, ErrBadEntryID
	}
	return EntryID(b), nil
}

// OfferID is the id of the order that is offered to an entry at its n-th attempt, from 0.
func (f *Facts) OfferID(entry EntryID, n int) OrderID { return NewOfferID(f.Number, f.Salt, entry, n) }

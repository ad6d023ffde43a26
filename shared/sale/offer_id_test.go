package sale

import "testing"

func TestOfferIDsBelongToOneEntryAndAttempt(t *testing.T) {
	entry, other := EntryID{1}, EntryID{2}
	base := NewOfferID(7, testSalt, entry, 0)
	if base != NewOfferID(7, testSalt, entry, 0) || base.Number() != 7 {
		t.Fatal("the same attempt got two ids, or another activity's")
	}
	if parsed, err := ParseOrderID(base.String()); err != nil || parsed != base {
		t.Errorf("%v, %v", parsed, err)
	}
	for name, id := range map[string]OrderID{
		"entry": NewOfferID(7, testSalt, other, 0), "attempt": NewOfferID(7, testSalt, entry, 1), "activity": NewOfferID(8, testSalt, entry, 0),
		"domain": NewOrderID(7, testSalt, string(entry[:]), "\x00\x00\x00\x00"),
	} {
		if id == base {
			t.Errorf("another %s made the same id", name)
		}
	}
}

func TestEntryIDsHaveOneSpelling(t *testing.T) {
	id := NewEntryID()
	if id == NewEntryID() {
		t.Fatal("an id came twice")
	}
	if got, err := ParseEntryID(id.String()); err != nil || got != id {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "00", id.String() + "0", "ABCDEF00000000000000000000000000", "zz000000000000000000000000000000"} {
		if _, err := ParseEntryID(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

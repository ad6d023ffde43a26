package sale

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

var testSalt = []byte("0123456789abcdef0123456789abcdef")

func TestOrderIDIsAUUIDThatLeadsBackToItsActivity(t *testing.T) {
	for _, number := range []int64{0, 1, 1_790_000_000_000, MaxNumber} {
		id := NewOrderID(number, testSalt, "user-1", "key-1")
		if id.Number() != number {
			t.Errorf("number %d came back as %d", number, id.Number())
		}
		s := id.String()
		if s[14] != '8' || !strings.ContainsRune("89ab", rune(s[19])) {
			t.Errorf("%s is not a UUID of version 8", s)
		}
		parsed, err := ParseOrderID(s)
		if err != nil || parsed != id {
			t.Errorf("ParseOrderID(%s) = %v, %v", s, parsed, err)
		}
	}
}

func TestOrderIDDependsOnEveryInputAndNothingElse(t *testing.T) {
	base := NewOrderID(7, testSalt, "ab", "c")
	if base != NewOrderID(7, testSalt, "ab", "c") {
		t.Fatal("the same wish got two ids")
	}
	other := append([]byte("x"), testSalt[1:]...)
	for name, id := range map[string]OrderID{
		"activity": NewOrderID(8, testSalt, "ab", "c"), "salt": NewOrderID(7, other, "ab", "c"),
		"user": NewOrderID(7, testSalt, "aB", "c"), "key": NewOrderID(7, testSalt, "ab", "C"),
		"boundary between user and key": NewOrderID(7, testSalt, "a", "bc"),
	} {
		if id == base {
			t.Errorf("another %s made the same id", name)
		}
	}
}

func TestManyOrderIDsNeverRepeatAndSpreadOverBuckets(t *testing.T) {
	const users, keys, buckets = 2000, 100, 8
	seen := make(map[OrderID]bool, users*keys)
	references := make(map[string]bool, users*keys)
	var perBucket [buckets]int
	for u := range users {
		for k := range keys {
			id := NewOrderID(1_790_000_000_000, testSalt, fmt.Sprint("u", u), fmt.Sprint("k", k))
			if seen[id] || references[id.Reference()] {
				t.Fatalf("%s came twice", id)
			}
			seen[id], references[id.Reference()] = true, true
			perBucket[id.StartBucket(buckets)]++
		}
	}
	for bucket, n := range perBucket {
		if n < users*keys/buckets*9/10 || n > users*keys/buckets*11/10 {
			t.Errorf("bucket %d was tried first %d times of %d", bucket, n, users*keys)
		}
	}
}

func TestParseOrderIDTakesOneSpellingOnly(t *testing.T) {
	good := NewOrderID(7, testSalt, "u", "k").String()
	for name, bad := range map[string]string{
		"capitals": strings.ToUpper(good), "no dashes": strings.ReplaceAll(good, "-", ""), "blank": good + " ", "empty": "",
		"a number": "616581622363398143", "version 4": good[:14] + "4" + good[15:], "variant": good[:19] + "7" + good[20:],
		"braces": "{" + good + "}", "dash moved": good[:7] + "-" + good[7:8] + good[9:], "letters": "z" + good[1:],
	} {
		if _, err := ParseOrderID(bad); !errors.Is(err, ErrBadOrderID) {
			t.Errorf("%s: %q was taken (%v)", name, bad, err)
		}
	}
}

func TestReferenceIsTenCharactersForPeople(t *testing.T) {
	reference := NewOrderID(7, testSalt, "u", "k").Reference()
	if len(reference) != 10 || strings.ContainsAny(reference, "ILOUilou") || strings.ToUpper(reference) != reference {
		t.Errorf("reference %q", reference)
	}
}

func TestSpreadLosesNoUnit(t *testing.T) {
	for capacity := 1; capacity <= 70; capacity++ {
		for buckets := 1; buckets <= 64 && buckets <= capacity; buckets++ {
			sum, least, most := 0, capacity, 0
			for _, n := range Spread(capacity, buckets) {
				sum += n
				least, most = min(least, n), max(most, n)
			}
			if sum != capacity || most-least > 1 {
				t.Fatalf("Spread(%d, %d): sum %d, from %d to %d", capacity, buckets, sum, least, most)
			}
		}
	}
}

func TestAllocationsRoundTripAndRefuseNonsense(t *testing.T) {
	for _, text := range []string{"", "0:1", "0:2,3:1,63:999"} {
		a, err := ParseAllocations(text)
		if err != nil || a.Compact() != text || a == nil {
			t.Errorf("%q became %v, %v", text, a, err)
		}
	}
	for _, text := range []string{"0", "0:0", "0:-1", "-1:1", "0:1,0:1", "a:1", "0:1,", ",", "0:1;1:1", "0:1.5"} {
		if a, err := ParseAllocations(text); !errors.Is(err, ErrBadAllocations) {
			t.Errorf("%q was read as %v (%v)", text, a, err)
		}
	}
}

func TestStatusMovesAlongTheDrawnEdgesOnly(t *testing.T) {
	all := []Status{Draft, Published, Suspended, Closed, Cancelled}
	drawn := map[string]bool{"DRAFT PUBLISHED": true, "PUBLISHED SUSPENDED": true, "PUBLISHED CLOSED": true,
		"SUSPENDED PUBLISHED": true, "SUSPENDED CLOSED": true}
	for _, from := range all {
		for _, to := range all {
			if from.CanBecome(to) != drawn[string(from)+" "+string(to)] {
				t.Errorf("%s -> %s: %v", from, to, from.CanBecome(to))
			}
		}
	}
}

func TestPhaseCountsOpeningInAndClosingOut(t *testing.T) {
	opens := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	a := Activity{Status: Published, OpensAt: opens, ClosesAt: opens.Add(time.Hour)}
	for _, c := range []struct {
		at     time.Time
		status Status
		want   Phase
	}{
		{opens.Add(-time.Millisecond), Published, Upcoming},
		{opens, Published, Open},
		{opens.Add(time.Hour - time.Millisecond), Published, Open},
		{opens.Add(time.Hour), Published, Ended},
		{opens, Suspended, PhaseSuspended},
		{opens, Closed, Ended},
		{opens, Cancelled, PhaseCancelled},
	} {
		a.Status = c.status
		if got := a.PhaseAt(c.at); got != c.want {
			t.Errorf("%s at %s: %s, want %s", c.status, c.at.Sub(opens), got, c.want)
		}
	}
}

package queue

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast/shared/sale"
)

func reservation() sale.Reservation {
	return sale.Reservation{OrderID: sale.NewOrderID(1893456000000, []byte("salt"), "u1", "k1"), ActivityID: "a-1", UserID: "u#1 \"x\"",
		TicketType: "STANDARD", Quantity: 3, Allocations: sale.Allocations{{Bucket: 0, Count: 2}, {Bucket: 3, Count: 1}},
		Seq: 9007199254740993, At: time.Date(2030, 1, 31, 10, 0, 0, 120e6, time.UTC), Before: 10}
}

func TestAMessageReadsBackAsItsReservation(t *testing.T) {
	t.Parallel()
	want := reservation()
	body, err := Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := compact(t, got), compact(t, want); a != b {
		t.Errorf("read %s, want %s", a, b)
	}
	if got.Seq != 9007199254740993 {
		t.Errorf("seq was rounded to %d", got.Seq)
	}
}

func compact(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAMessageLooksAsOtherReadersExpect(t *testing.T) {
	t.Parallel()
	body, err := Encode(reservation())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"v":1,"orderId":"` + reservation().OrderID.String() + `","activityId":"a-1","userId":"u#1 \"x\"","ticketType":"STANDARD","quantity":3,` +
		`"allocations":[{"bucket":0,"count":2},{"bucket":3,"count":1}],"seq":"9007199254740993","at":"2030-01-31T10:00:00.120Z","before":10}`
	if string(body) != want {
		t.Errorf("wrote %s\nwant  %s", body, want)
	}
}

func TestFieldsOfALaterVersionAreIgnored(t *testing.T) {
	t.Parallel()
	body, err := Encode(reservation())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode([]byte(strings.Replace(string(body), `{"v":1`, `{"segment":4,"v":1`, 1))); err != nil {
		t.Error(err)
	}
}

// An order that was promised is not lost for a figure of the stock log that has no room there.
func TestFigureBeyondItsColumnIsNotKnown(t *testing.T) {
	t.Parallel()
	for before, want := range map[int]int{-1: -1, 0: 0, 2147483647: 2147483647, 2147483648: -1, 1 << 40: -1} {
		r := reservation()
		r.Before = before
		body, err := Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Decode(body); err != nil || got.Before != want {
			t.Errorf("%d left before: read as %d, %v", before, got.Before, err)
		}
	}
}

func TestWhatNobodyWroteIsUnreadable(t *testing.T) {
	t.Parallel()
	body, err := Encode(reservation())
	if err != nil {
		t.Fatal(err)
	}
	good := string(body)
	for name, bad := range map[string]string{
		"nothing":                  ``,
		"no JSON":                  `hello`,
		"a list":                   `[]`,
		"an empty object":          `{}`,
		"another version":          strings.Replace(good, `"v":1`, `"v":2`, 1),
		"a seq as a number":        strings.Replace(good, `"seq":"9007199254740993"`, `"seq":9007199254740993`, 1),
		"a seq that is none":       strings.Replace(good, `"9007199254740993"`, `"x"`, 1),
		"a seq of zero":            strings.Replace(good, `"9007199254740993"`, `"0"`, 1),
		"no order id":              strings.Replace(good, `"orderId"`, `"orderID2"`, 1),
		"an order id as a number":  strings.Replace(good, `"`+reservation().OrderID.String()+`"`, `616581622363398143`, 1),
		"no user":                  strings.Replace(good, `"userId"`, `"user"`, 1),
		"no activity":              strings.Replace(good, `"a-1"`, `""`, 1),
		"no type":                  strings.Replace(good, `"STANDARD"`, `""`, 1),
		"a quantity of zero":       strings.Replace(good, `"quantity":3`, `"quantity":0`, 1),
		"a broken quantity":        strings.Replace(good, `"quantity":3`, `"quantity":1.5`, 1),
		"fewer units than it says": strings.Replace(good, `"quantity":3`, `"quantity":4`, 1),
		"a count below one":        strings.Replace(good, `"count":2`, `"count":-2`, 1),
		"one bucket twice":         strings.Replace(good, `"bucket":3`, `"bucket":0`, 1),
		"no time":                  strings.Replace(good, `"2030-01-31T10:00:00.120Z"`, `"soon"`, 1),
		"a figure below -1":        strings.Replace(good, `"before":10`, `"before":-2`, 1),
	} {
		if r, err := Decode([]byte(bad)); !errors.Is(err, ErrUnreadable) {
			t.Errorf("%s: read as %+v, %v", name, r, err)
		}
	}
}

func TestErrorsQuoteNoPersonalData(t *testing.T) {
	t.Parallel()
	body, err := Encode(reservation())
	if err != nil {
		t.Fatal(err)
	}
	_, err = Decode([]byte(strings.Replace(string(body), `"quantity":3`, `"quantity":4`, 1)))
	if err == nil || strings.Contains(err.Error(), "u#1") {
		t.Errorf("%v", err)
	}
}

package api

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/shared/fault"
)

func jsonRequest(body string) *Request {
	return &Request{Body: []byte(body), headers: map[string]string{"content-type": "application/json"}}
}

// readWish reads the body of a reservation, as reserve-ticket does.
func readWish(r *Request) error {
	f, err := r.Fields()
	if err != nil {
		return err
	}
	f.String("ticketType")
	f.Int("quantity", 1, maxQuantity)
	return f.Finish()
}

// verdict writes an error as "400 /pointer CODE, ...".
func verdict(err error) string {
	if err == nil {
		return "ok"
	}
	f := faultOf(err)
	var list []string
	for _, v := range f.Violations {
		list = append(list, v.Pointer+" "+v.Code)
	}
	slices.Sort(list)
	return strings.TrimSpace(fmt.Sprint(look(f).status, " ", strings.Join(list, ", ")))
}

func TestQuantitiesThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	for quantity, want := range map[string]string{
		"1":                    "ok",
		"1000000":              "ok",
		"0":                    "422 /quantity OUT_OF_RANGE",
		"-1":                   "422 /quantity OUT_OF_RANGE",
		"1000001":              "422 /quantity OUT_OF_RANGE",
		"2147483648":           "422 /quantity OUT_OF_RANGE",
		"616581622363398143":   "422 /quantity OUT_OF_RANGE",
		"99999999999999999999": "422 /quantity OUT_OF_RANGE",
		"1.5":                  "400 /quantity WRONG_TYPE",
		"1.0":                  "400 /quantity WRONG_TYPE",
		"1e3":                  "400 /quantity WRONG_TYPE",
		`"2"`:                  "400 /quantity WRONG_TYPE",
		"null":                 "400 /quantity WRONG_TYPE",
		"true":                 "400 /quantity WRONG_TYPE",
		"[2]":                  "400 /quantity WRONG_TYPE",
		"{}":                   "400 /quantity WRONG_TYPE",
		"01":                   "400  NOT_JSON",
		"+1":                   "400  NOT_JSON",
		"NaN":                  "400  NOT_JSON",
	} {
		if got := verdict(readWish(jsonRequest(`{"ticketType":"S","quantity":` + quantity + `}`))); got != want {
			t.Errorf("quantity %s: %s, want %s", quantity, got, want)
		}
	}
}

func TestBodiesOfTheWrongFormAreRefused(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		``:                                "400  NOT_JSON",
		`{`:                               "400  NOT_JSON",
		`[]`:                              "400  WRONG_TYPE",
		`null`:                            "400  WRONG_TYPE",
		`"x"`:                             "400  WRONG_TYPE",
		`{} {}`:                           "400  NOT_JSON",
		`{}`:                              "400 /quantity REQUIRED, /ticketType REQUIRED",
		`{"ticketType":7}`:                "400 /quantity REQUIRED, /ticketType WRONG_TYPE",
		`{"ticketType":"S","Quantity":1}`: "400 /Quantity UNKNOWN_FIELD, /quantity REQUIRED",
		`{"ticketType":"S","quantity":1,"userId":"u2"}`:     "400 /userId UNKNOWN_FIELD",
		`{"ticketType":"S","quantity":1,"a/b~c":0}`:         "400 /a~1b~0c UNKNOWN_FIELD",
		`{"ticketType":"S","quantity":1,"quantity":2}`:      "400 /quantity DUPLICATE_FIELD",
		`{"ticketType":"S","quantity":0,"x":1}`:             "400 /quantity OUT_OF_RANGE, /x UNKNOWN_FIELD",
		"{\"ticketType\":\"S\xff\",\"quantity\":1}":         "400  NOT_JSON",
		`{"ticketType":"S","quantity":1} `:                  "ok",
		"\n{\"quantity\":1,\"ticketType\":\"\\u0053\"}\t\r": "ok",
	} {
		if got := verdict(readWish(jsonRequest(body))); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

func TestBodiesBeyondTheLimitOrOfAnotherTypeAreRefusedUnread(t *testing.T) {
	t.Parallel()
	full := `{"ticketType":"` + strings.Repeat("x", maxBody-len(`{"ticketType":"","quantity":1}`)) + `","quantity":1}`
	for _, c := range []struct{ media, body, want string }{
		{"application/json", full, "ok"},
		{"application/json", full + " ", "413"},
		{"application/json; charset=utf-8", `{"ticketType":"S","quantity":1}`, "ok"},
		{"Application/JSON", `{"ticketType":"S","quantity":1}`, "ok"},
		{"application/merge-patch+json", `{"ticketType":"S","quantity":1}`, "ok"},
		{"text/plain", `{}`, "415"},
		{"application/x-www-form-urlencoded", `quantity=1`, "415"},
		{"", `{}`, "415"},
		{"json", `{}`, "415"},
	} {
		r := &Request{Body: []byte(c.body), headers: map[string]string{"content-type": c.media}}
		if got := verdict(readWish(r)); got != c.want {
			t.Errorf("%q with %d bytes: %s, want %s", c.media, len(c.body), got, c.want)
		}
	}
}

func TestTimesNeedAZone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2030-01-31T10:00:00Z":           "ok",
		"2030-01-31T10:00:00.123456789Z": "ok",
		"2030-01-31T18:00:00+08:00":      "ok",
		"2030-01-31T10:00:00":            "422 /at BAD_TIME",
		"2030-01-31":                     "422 /at BAD_TIME",
		"2030-02-30T10:00:00Z":           "422 /at BAD_TIME",
		"2030-01-31 10:00:00Z":           "422 /at BAD_TIME",
		"0001-01-01T00:00:00Z":           "422 /at BAD_TIME",
		"":                               "422 /at BAD_TIME",
	} {
		f, err := jsonRequest(`{"at":"` + text + `"}`).Fields()
		if err != nil {
			t.Fatal(err)
		}
		at := f.Time("at")
		if got := verdict(f.Finish()); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		if want == "ok" && stamp(at)[:19] != "2030-01-31T10:00:00" {
			t.Errorf("%q: read as %v", text, at)
		}
	}
}

func TestNestedFieldsAreReportedWithTheirPointers(t *testing.T) {
	t.Parallel()
	f, err := jsonRequest(`{"price":{"amount":"1.5","currency":"CNY"},"list":[{"id":"a"},7,{"id":"b","x":1}],"inner":{"y":1}}`).Fields()
	if err != nil {
		t.Fatal(err)
	}
	f.Money("price")
	for _, member := range f.Objects("list", 1, 5) {
		member.String("id")
	}
	f.Object("inner")
	want := "400 /inner/y UNKNOWN_FIELD, /list/1 WRONG_TYPE, /list/2/x UNKNOWN_FIELD, /price BAD_AMOUNT"
	if got := verdict(f.Finish()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestQueryParametersAreChecked(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"":                 "ok",
		"limit=1":          "ok",
		"limit=100&x=1":    "ok",
		"limit=0":          "422 ?limit OUT_OF_RANGE",
		"limit=101":        "422 ?limit OUT_OF_RANGE",
		"limit=x":          "400 ?limit WRONG_TYPE",
		"limit=%2B5":       "400 ?limit WRONG_TYPE",
		"limit=1&limit=2":  "400 ?limit DUPLICATE_FIELD",
		"status=LOST":      "422 ?status NOT_ALLOWED",
		"limit=0&status=x": "422 ?limit OUT_OF_RANGE, ?status NOT_ALLOWED",
	} {
		q := (&Request{query: query(&event{RawQuery: raw})}).Query()
		q.Limit()
		q.OneOf("status", "PAID")
		if got := verdict(q.Finish()); got != want {
			t.Errorf("%q: %s, want %s", raw, got, want)
		}
	}
}

func TestAViolationIsAFaultOfItsCode(t *testing.T) {
	t.Parallel()
	err := readWish(jsonRequest(`{}`))
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.ValidationFailed || !f.Malformed {
		t.Errorf("%v", err)
	}
}

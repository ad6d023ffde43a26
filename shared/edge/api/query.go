package api

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Page sizes of lists.
const (
	defaultLimit = 20
	maxLimit     = 100
)

// Query reads query parameters as Fields reads a body: it gathers all violations, and Finish tells. Parameters that nobody reads
// are ignored, since caches and trackers add their own.
type Query struct {
	r      *Request
	report report
}

// Query opens the request's query parameters.
func (r *Request) Query() *Query { return &Query{r: r} }

// Text gives a parameter; "" when absent. One that is given twice is a violation.
func (q *Query) Text(name string) string {
	values := q.r.query[name]
	if len(values) > 1 {
		q.report.add(true, "?"+name, "DUPLICATE_FIELD", "the parameter is given twice")
		return ""
	}
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// OneOf gives a parameter that must be one of the given words, or absent.
func (q *Query) OneOf(name string, words ...string) string {
	s := q.Text(name)
	if s != "" && !slices.Contains(words, s) {
		q.Break(name, "NOT_ALLOWED", "one of "+strings.Join(words, ", "))
		return ""
	}
	return s
}

// Limit gives the page size: 1 to 100, 20 when absent.
func (q *Query) Limit() int {
	s := q.Text("limit")
	if s == "" {
		return defaultLimit
	}
	n, err := strconv.Atoi(s)
	switch {
	case err != nil || strings.Trim(s, "-0123456789") != "":
		q.report.add(true, "?limit", "WRONG_TYPE", "a whole number in digits is expected")
		return defaultLimit
	case n < 1 || n > maxLimit:
		q.Break("limit", "OUT_OF_RANGE", "1 to "+strconv.Itoa(maxLimit))
		return defaultLimit
	}
	return n
}

// instant reads an instant by the rules of bodies: RFC 3339 with a zone, cut to milliseconds. A plus sign that the client forgot to
// escape has become a space, and there is no other space in an instant.
func (q *Query) instant(name string) (at time.Time, given bool) {
	text := q.Text(name)
	if text == "" {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, strings.Replace(text, " ", "+", 1))
	if err != nil || at.Year() < 2000 || at.Year() > 9000 || strings.Contains(text, ",") {
		q.Break(name, "BAD_TIME", "RFC 3339 with a zone, such as 2030-01-31T10:00:00Z")
	}
	return at.UTC().Truncate(time.Millisecond), true
}

// Break notes a broken rule of a parameter.
func (q *Query) Break(name, code, message string) { q.report.add(false, "?"+name, code, message) }

// Finish returns ValidationFailed with all violations, or nil.
func (q *Query) Finish() error { return q.report.err() }

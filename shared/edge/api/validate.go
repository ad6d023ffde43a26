package api

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/shared/fault"
	"holdfast/shared/money"
)

// maxBody is the largest body that is read, in bytes.
const maxBody = 16 << 10

// report gathers the violations of one request, so that a client hears of all of them at once.
type report struct {
	malformed  bool
	violations []fault.Violation
}

func (p *report) add(malformed bool, pointer, code, message string) {
	p.malformed = p.malformed || malformed
	p.violations = append(p.violations, fault.Violation{Pointer: pointer, Code: code, Message: message})
}

// err is ValidationFailed with all that was gathered, or nil.
func (p *report) err() error {
	if len(p.violations) == 0 {
		return nil
	}
	return &fault.Error{Code: fault.ValidationFailed, Violations: p.violations, Malformed: p.malformed,
		Detail: "The request is not valid; errors lists every reason."}
}

// Fields reads one JSON object strictly. Each method reads a field, notes what is wrong with it, and then returns a zero value,
// so that reading goes on; Finish says whether anything was wrong. The optional methods, named Opt..., return a nil pointer
// for an absent field. null is never accepted: a field that does not apply is absent.
type Fields struct {
	at     string // RFC 6901 pointer to the object
	raw    map[string]json.RawMessage
	names  []string // in the order sent
	read   map[string]bool
	nested []*Fields
	report *report
}

// Fields opens the request's body. It returns BodyTooLarge beyond 16 KiB, UnsupportedMediaType when the body is not declared as
// JSON, and ValidationFailed when it is not one JSON object in UTF-8.
func (r *Request) Fields() (*Fields, error) {
	if err := r.checkBody(); err != nil {
		return nil, err
	}
	p := &report{}
	f := open(r.Body, "", p)
	if f == nil {
		return nil, p.err()
	}
	return f, nil
}

// optionalFields is Fields for calls whose body may be left out: an absent one reads as {}.
func (r *Request) optionalFields() (*Fields, error) {
	if len(r.Body) == 0 {
		return open([]byte("{}"), "", &report{}), nil
	}
	return r.Fields()
}

func (r *Request) checkBody() error {
	if len(r.Body) > maxBody {
		return fault.New(fault.BodyTooLarge, "A body holds at most %d bytes.", maxBody)
	}
	media, _, err := mime.ParseMediaType(r.Header("Content-Type"))
	isJSON := media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
	if err != nil || !isJSON {
		return fault.New(fault.UnsupportedMediaType, "Send the body as Content-Type: application/json.")
	}
	return nil
}

// open splits an object into its fields; nil, with a violation, if text is no object.
func open(text []byte, at string, p *report) *Fields {
	notJSON := func(why string) *Fields {
		p.add(true, at, "NOT_JSON", why)
		return nil
	}
	if !utf8.Valid(text) {
		return notJSON("the body is not UTF-8")
	}
	if !json.Valid(text) {
		return notJSON("the body is not JSON")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		p.add(true, at, "WRONG_TYPE", "an object is expected")
		return nil
	}
	f := &Fields{at: at, raw: make(map[string]json.RawMessage), read: make(map[string]bool), report: p}
	for decoder.More() {
		token, err := decoder.Token()
		name, isText := token.(string)
		var value json.RawMessage
		if err != nil || !isText || decoder.Decode(&value) != nil {
			return notJSON("the body is not JSON")
		}
		if _, twice := f.raw[name]; twice {
			p.add(true, f.pointer(name), "DUPLICATE_FIELD", "the field is given twice")
			continue
		}
		f.raw[name] = value
		f.names = append(f.names, name)
	}
	if _, err := decoder.Token(); err != nil && err != io.EOF {
		return notJSON("the body is not JSON")
	}
	return f
}

// pointer is the RFC 6901 pointer to a field of this object.
func (f *Fields) pointer(name string) string {
	return f.at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// Has says whether the field was sent at all.
func (f *Fields) Has(name string) bool { return f.raw[name] != nil }

// take marks a field as known and gives its text.
func (f *Fields) take(name string, required bool) (json.RawMessage, bool) {
	f.read[name] = true
	value, sent := f.raw[name]
	if !sent && required {
		f.report.add(true, f.pointer(name), "REQUIRED", "the field is missing")
	}
	return value, sent
}

func (f *Fields) wrongType(name, want string) {
	f.report.add(true, f.pointer(name), "WRONG_TYPE", want+" is expected")
}

// Break notes a broken rule of a field: well-formed, but refused. code is in capitals, message says what would be right.
func (f *Fields) Break(name, code, message string) {
	f.report.add(false, f.pointer(name), code, message)
}

// BreakWhole notes a broken rule of the object as a whole.
func (f *Fields) BreakWhole(code, message string) { f.report.add(false, f.at, code, message) }

// OK says whether nothing was wrong so far, in this object or any other of the same body.
func (f *Fields) OK() bool { return len(f.report.violations) == 0 }

// Finish notes every field that nobody read, and returns ValidationFailed with all violations, or nil. Call it on the
// outermost object, after every field was read.
func (f *Fields) Finish() error {
	f.unknown()
	return f.report.err()
}

func (f *Fields) unknown() {
	for _, name := range f.names {
		if !f.read[name] {
			f.report.add(true, f.pointer(name), "UNKNOWN_FIELD", "there is no such field")
		}
	}
	for _, inner := range f.nested {
		inner.unknown()
	}
}

// OptString reads a text.
func (f *Fields) OptString(name string) *string { return f.text(name, false) }

// String reads a text that must be there.
func (f *Fields) String(name string) string { return value(f.text(name, true)) }

func (f *Fields) text(name string, required bool) *string {
	raw, sent := f.take(name, required)
	if !sent {
		return nil
	}
	var s *string
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		f.wrongType(name, "a string")
		return nil
	}
	return s
}

// Text reads a text that must be there and have min..max characters, none of them outer space or a control character.
func (f *Fields) Text(name string, min, max int) string {
	s := f.text(name, true)
	if s == nil {
		return ""
	}
	f.checkText(name, *s, min, max)
	return *s
}

// OptText is Text for a field that may be absent.
func (f *Fields) OptText(name string, min, max int) *string {
	s := f.text(name, false)
	if s != nil {
		f.checkText(name, *s, min, max)
	}
	return s
}

func (f *Fields) checkText(name, s string, min, max int) {
	n := utf8.RuneCountInString(s)
	switch {
	case n < min || n > max:
		f.Break(name, "BAD_LENGTH", strconv.Itoa(min)+" to "+strconv.Itoa(max)+" characters")
	case strings.TrimSpace(s) != s:
		f.Break(name, "OUTER_SPACE", "no space at the beginning or end")
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		f.Break(name, "CONTROL_CHARACTER", "no control characters")
	}
}

// OneOf reads a text that must be there and be one of the given words.
func (f *Fields) OneOf(name string, words ...string) string {
	s := f.text(name, true)
	if s != nil && !slices.Contains(words, *s) {
		f.Break(name, "NOT_ALLOWED", "one of "+strings.Join(words, ", "))
	}
	return value(s)
}

// OptOneOf is OneOf for a field that may be absent.
func (f *Fields) OptOneOf(name string, words ...string) *string {
	if !f.Has(name) {
		f.read[name] = true
		return nil
	}
	s := f.OneOf(name, words...)
	return &s
}

// Int reads a whole number that must be there, within min..max. It is written in digits: no fraction, no exponent, no quotes.
func (f *Fields) Int(name string, min, max int64) int64 {
	return value(f.integer(name, true, min, max))
}

// OptInt is Int for a field that may be absent.
func (f *Fields) OptInt(name string, min, max int64) *int64 { return f.integer(name, false, min, max) }

func (f *Fields) integer(name string, required bool, min, max int64) *int64 {
	raw, sent := f.take(name, required)
	if !sent {
		return nil
	}
	if strings.Trim(string(raw), "-0123456789") != "" {
		f.wrongType(name, "a whole number in digits")
		return nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < min || n > max { // the digits are right, so an error means too many of them
		f.Break(name, "OUT_OF_RANGE", strconv.FormatInt(min, 10)+" to "+strconv.FormatInt(max, 10))
		return nil
	}
	return &n
}

// OptBool reads true or false.
func (f *Fields) OptBool(name string) *bool {
	raw, sent := f.take(name, false)
	if !sent {
		return nil
	}
	if s := string(raw); s != "true" && s != "false" {
		f.wrongType(name, "true or false")
		return nil
	}
	b := raw[0] == 't'
	return &b
}

// Time reads an instant that must be there: RFC 3339 with a zone. It is returned in UTC, cut to milliseconds.
func (f *Fields) Time(name string) time.Time { return value(f.instant(name, true)) }

// OptTime is Time for a field that may be absent.
func (f *Fields) OptTime(name string) *time.Time { return f.instant(name, false) }

func (f *Fields) instant(name string, required bool) *time.Time {
	s := f.text(name, required)
	if s == nil {
		return nil
	}
	t, err := time.Parse(time.RFC3339Nano, *s)
	if err != nil || t.Year() < 2000 || t.Year() > 9000 || strings.Contains(*s, ",") {
		f.Break(name, "BAD_TIME", "RFC 3339 with a zone, such as 2030-01-31T10:00:00Z")
		return nil
	}
	t = t.UTC().Truncate(time.Millisecond)
	return &t
}

// OptObject reads an object; nil when absent or wrong.
func (f *Fields) OptObject(name string) *Fields { return f.object(name, false) }

// Object reads an object that must be there. It is never nil, so that reading goes on; an empty one stands for a wrong one.
func (f *Fields) Object(name string) *Fields {
	if inner := f.object(name, true); inner != nil {
		return inner
	}
	return &Fields{at: f.pointer(name), read: map[string]bool{}, report: &report{}}
}

func (f *Fields) object(name string, required bool) *Fields {
	raw, sent := f.take(name, required)
	if !sent {
		return nil
	}
	inner := open(raw, f.pointer(name), f.report)
	if inner != nil {
		f.nested = append(f.nested, inner)
	}
	return inner
}

// Objects reads a list that must be there, of min..max objects; wrong members are left out.
func (f *Fields) Objects(name string, min, max int) []*Fields {
	raw, sent := f.take(name, true)
	if !sent {
		return nil
	}
	var members []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &members) != nil {
		f.wrongType(name, "a list")
		return nil
	}
	if len(members) < min || len(members) > max {
		f.Break(name, "BAD_LENGTH", strconv.Itoa(min)+" to "+strconv.Itoa(max)+" members")
	}
	list := make([]*Fields, 0, len(members))
	for i, member := range members {
		if inner := open(member, f.pointer(name)+"/"+strconv.Itoa(i), f.report); inner != nil {
			f.nested = append(f.nested, inner)
			list = append(list, inner)
		}
	}
	return list
}

// OptRaw reads an object that is kept as it is, such as metadata; its members are nobody's business here.
func (f *Fields) OptRaw(name string) json.RawMessage {
	raw, sent := f.take(name, false)
	if sent && raw[0] != '{' {
		f.wrongType(name, "an object")
		return nil
	}
	return raw
}

// Money reads an amount that must be there: {"amount":"12.50","currency":"CNY"} by the rules of package money.
func (f *Fields) Money(name string) money.Amount {
	inner := f.Object(name)
	amount, currency := inner.text("amount", true), inner.text("currency", true)
	if amount == nil || currency == nil {
		return money.Amount{}
	}
	parsed, err := money.Parse(*amount, *currency)
	if err != nil {
		f.Break(name, "BAD_AMOUNT", strings.TrimPrefix(err.Error(), money.ErrInvalid.Error()+": "))
	}
	return parsed
}

func value[T any](p *T) (zero T) {
	if p == nil {
		return zero
	}
	return *p
}

package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"holdfast/shared/idempotency"
	"holdfast/shared/sale"
)

// field is one thing that operators set: its name in requests, and its value in a form that can be compared and written down.
type field struct {
	name string
	of   func(*sale.Activity) any
}

// settable are all fields that operators set; the mode is fixed at creation.
var settable = []field{
	{"kind", func(a *sale.Activity) any { return a.Kind }},
	{"mode", func(a *sale.Activity) any { return a.Mode }},
	{"title", func(a *sale.Activity) any { return a.Title }},
	{"lang", func(a *sale.Activity) any { return a.Lang }},
	{"timeZone", func(a *sale.Activity) any { return a.TimeZone }},
	{"metadata", func(a *sale.Activity) any { return a.Metadata }},
	{"opensAt", func(a *sale.Activity) any { return instant(a.OpensAt) }},
	{"closesAt", func(a *sale.Activity) any { return instant(a.ClosesAt) }},
	{"perUserLimit", func(a *sale.Activity) any { return a.PerUserLimit }},
	{"payWindowSeconds", func(a *sale.Activity) any { return int64(a.PayWindow / time.Second) }},
	{"currency", func(a *sale.Activity) any { return a.Currency }},
	{"refundRule", func(a *sale.Activity) any { return a.RefundRule }},
	{"saleTokenRequired", func(a *sale.Activity) any { return a.SaleTokenRequired }},
	{"ticketTypes", func(a *sale.Activity) any { return a.TicketTypes }},
	{"deposit", policyTerms},
}

func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// normalize brings what a caller may write in several ways into the one form that the database keeps: UTC, whole milliseconds, whole
// seconds, no JSON null, mode LIVE unless said otherwise.
func normalize(a *sale.Activity) {
	a.OpensAt = a.OpensAt.UTC().Truncate(time.Millisecond)
	a.ClosesAt = a.ClosesAt.UTC().Truncate(time.Millisecond)
	a.PayWindow = a.PayWindow.Truncate(time.Second)
	a.Deposit = normalizePolicy(a.Deposit)
	if textOrNull(a.Metadata) == nil {
		a.Metadata = nil
	}
	if textOrNull(a.RefundRule) == nil {
		a.RefundRule = nil
	}
	if a.Mode == "" {
		a.Mode = sale.Live
	}
}

// fingerprint tells a repeated creation from another one: equal for bodies that are equal as JSON.
func fingerprint(a *sale.Activity) (idempotency.BodyHash, error) {
	body := make(map[string]any, len(settable))
	for _, f := range settable {
		body[f.name] = f.of(a)
	}
	if a.Deposit == nil { // so that a sale that was created before there were deposits has the same fingerprint
		delete(body, "deposit")
	}
	text, err := json.Marshal(body)
	if err != nil {
		return idempotency.BodyHash{}, fmt.Errorf("writing down an activity: %w", err)
	}
	return idempotency.Hash(text), nil
}

// edit is one field that a change has touched.
type edit struct {
	Field string `json:"field"`
	From  any    `json:"from"` // deep JSON as a text
	To    any    `json:"to"`
}

// edits lists the fields in which two states of an activity differ, compared as JSON.
func edits(from, to *sale.Activity) ([]edit, error) {
	var out []edit
	for _, f := range settable {
		e := edit{Field: f.name, From: f.of(from), To: f.of(to)}
		before, err := json.Marshal(e.From)
		if err != nil {
			return nil, fmt.Errorf("writing down %s: %w", f.name, err)
		}
		after, err := json.Marshal(e.To)
		if err != nil {
			return nil, fmt.Errorf("writing down %s: %w", f.name, err)
		}
		if idempotency.Hash(before) != idempotency.Hash(after) {
			e.From, e.To = shallow(e.From), shallow(e.To)
			out = append(out, e)
		}
	}
	return out, nil
}

// deepest is how deep JSON of an operator may be to be written down within other JSON: the database takes 32 levels in all.
const deepest = 20

// shallow is the value of a field, or its JSON as a text if it is too deep to be a part of a row's JSON.
func shallow(v any) any {
	raw, isRaw := v.(json.RawMessage)
	if !isRaw {
		return v
	}
	decoder, depth := json.NewDecoder(bytes.NewReader(raw)), 0
	for {
		token, err := decoder.Token()
		if err != nil { // the end
			return v
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth > deepest {
			return string(raw)
		}
	}
}

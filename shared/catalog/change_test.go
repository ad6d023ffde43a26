package catalog_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/fault"
	"holdfast/shared/sale"
)

func TestChangesByStateOfTheSale(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	edits := map[string]func(*sale.Activity){
		"title":             func(a *sale.Activity) { a.Title = "Other" },
		"metadata":          func(a *sale.Activity) { a.Metadata = json.RawMessage(`[1]`) },
		"closesAt":          func(a *sale.Activity) { a.ClosesAt = a.ClosesAt.Add(time.Hour) },
		"perUserLimit":      func(a *sale.Activity) { a.PerUserLimit++ },
		"opensAt":           func(a *sale.Activity) { a.OpensAt = a.OpensAt.Add(time.Minute) },
		"lang":              func(a *sale.Activity) { a.Lang = "en" },
		"timeZone":          func(a *sale.Activity) { a.TimeZone = "UTC" },
		"payWindowSeconds":  func(a *sale.Activity) { a.PayWindow *= 2 },
		"refundRule":        func(a *sale.Activity) { a.RefundRule = json.RawMessage(`{}`) },
		"saleTokenRequired": func(a *sale.Activity) { a.SaleTokenRequired = !a.SaleTokenRequired },
		"mode":              func(a *sale.Activity) { a.Mode = sale.Test },
		"ticketTypes":       func(a *sale.Activity) { a.TicketTypes[0].Capacity++ },
	}
	for _, c := range []struct {
		outcome string
		path    []sale.Status
		offset  time.Duration
		allowed string
	}{
		{"draft", nil, 0, "title metadata closesAt perUserLimit opensAt lang timeZone payWindowSeconds refundRule saleTokenRequired ticketTypes"},
		{"published, opening ahead", []sale.Status{sale.Published}, 0, "title metadata closesAt perUserLimit opensAt"},
		{"suspended", []sale.Status{sale.Published, sale.Suspended}, 0, "title metadata closesAt perUserLimit opensAt"},
		{"published and open", []sale.Status{sale.Published}, 2 * time.Hour, "title metadata closesAt perUserLimit"},
		{"closed", []sale.Status{sale.Published, sale.Closed}, 0, "title metadata"},
	} {
		id := strings.ReplaceAll(strings.ReplaceAll(c.outcome, " ", "-"), ",", "")
		s.offset = 0
		s.create(t, id)
		s.move(t, id, c.path...)
		s.offset = c.offset
		for name, edit := range edits {
			before := s.get(t, id)
			after, err := s.Change(t.Context(), id, before.Revision, func(a *sale.Activity) error { edit(a); return nil }, operator)
			if slices.Contains(strings.Fields(c.allowed), name) {
				if err != nil || after.Revision != before.Revision+1 {
					t.Errorf("%s: %s was refused: %v", c.outcome, name, err)
				}
				continue
			}
			var f *fault.Error
			if !errors.As(err, &f) || !errors.Is(err, catalog.ErrNotChangeable) || f.Code != fault.ValidationFailed ||
				len(f.Violations) != 1 || f.Violations[0].Pointer != "/"+name {
				t.Errorf("%s: %s gives %v, want a violation", c.outcome, name, err)
			}
			if now := s.get(t, id); asJSON(t, now) != asJSON(t, before) {
				t.Errorf("%s: the refused change of %s left %+v", c.outcome, name, now)
			}
		}
	}
}

func TestLimitCanOnlyRiseAfterPublication(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.create(t, "A")
	a := s.move(t, "A", sale.Published)
	lower := func(a *sale.Activity) error { a.PerUserLimit = 1; return nil }
	if _, err := s.Change(t.Context(), "A", a.Revision, lower, operator); !errors.Is(err, catalog.ErrNotChangeable) {
		t.Errorf("the limit fell: %v", err)
	}
}

func TestRulesVersionRisesWithWindowAndLimitAlone(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	a := s.create(t, "A")
	for _, c := range []struct {
		outcome string
		rises   int64
		edit    func(*sale.Activity)
	}{
		{"title", 0, func(a *sale.Activity) { a.Title += "!" }},
		{"types", 0, func(a *sale.Activity) { a.TicketTypes = a.TicketTypes[:1] }},
		{"opening", 1, func(a *sale.Activity) { a.OpensAt = a.OpensAt.Add(time.Millisecond) }},
		{"closing", 1, func(a *sale.Activity) { a.ClosesAt = a.ClosesAt.Add(time.Millisecond) }},
		{"limit", 1, func(a *sale.Activity) { a.PerUserLimit++ }},
		{"all at once", 1, func(a *sale.Activity) { a.PerUserLimit++; a.ClosesAt = a.ClosesAt.Add(time.Second) }},
	} {
		after, err := s.Change(t.Context(), "A", a.Revision, func(a *sale.Activity) error { c.edit(a); return nil }, operator)
		if err != nil || after.RulesVersion != a.RulesVersion+c.rises || after.Revision != a.Revision+1 {
			t.Fatalf("%s: rules version %d after %d: %v", c.outcome, after.RulesVersion, a.RulesVersion, err)
		}
		a = after
	}
	if n := s.audited(t, "activity.change"); n != 6 {
		t.Errorf("%d audit rows of 6 changes", n)
	}
}

func TestTypesOfADraftAreReplacedWithTheirBuckets(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.create(t, "A")
	after, err := s.Change(t.Context(), "A", 1, func(a *sale.Activity) error {
		a.Currency = "JPY"
		a.TicketTypes = []sale.TicketType{{ID: "VIP", Title: "Only", Price: price(t, "1250", "JPY"), Capacity: 5, Buckets: 5}}
		return nil
	}, operator)
	if err != nil || len(after.TicketTypes) != 1 || after.TicketTypes[0].Price.String() != "1250" {
		t.Fatalf("%+v: %v", after, err)
	}
	if b := s.buckets(t, "A", "VIP", "capacity"); !slices.Equal(b, []int{1, 1, 1, 1, 1}) {
		t.Errorf("buckets %v", b)
	}
	if b := s.buckets(t, "A", "STANDARD", "capacity"); len(b) != 0 {
		t.Errorf("the buckets %v of a type that is gone", b)
	}
}

func TestChangeOfAnOldRevisionIsRefusedAndOfOneRevisionOneWins(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.create(t, "A")
	errs := each(8, func(i int) error {
		_, err := s.Change(t.Context(), "A", 1, func(a *sale.Activity) error { a.Title = strings.Repeat("x", i+1); return nil }, operator)
		return err
	})
	if len(errs) != 7 {
		t.Errorf("%d of 8 changes of one revision failed", len(errs))
	}
	for _, err := range errs {
		if !errors.Is(err, catalog.ErrStale) || fault.Of(err) != fault.PreconditionFailed {
			t.Error(err)
		}
	}
	if a := s.get(t, "A"); a.Revision != 2 {
		t.Errorf("revision %d", a.Revision)
	}
}

func TestChangeThatChangesNothingWritesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	before := s.create(t, "A")
	after, err := s.Change(t.Context(), "A", 1, func(a *sale.Activity) error {
		a.Metadata = json.RawMessage(`{ "hall": "east" }`)
		a.ClosesAt = a.ClosesAt.In(time.FixedZone("", 3600)).Add(999 * time.Microsecond)
		a.Number, a.Salt, a.Status, a.Epoch, a.Revision = 5, []byte("mine"), sale.Closed, 9, 9 // Not for operators to set.
		return nil
	}, operator)
	if err != nil || asJSON(t, after) != asJSON(t, before) || s.audited(t, "activity.change") != 0 {
		t.Errorf("%+v became %+v: %v", before, after, err)
	}
}

func TestErrorOfTheChangeItselfAndUnknownActivityReachTheCaller(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.create(t, "A")
	refusal := errors.New("refused")
	if _, err := s.Change(t.Context(), "A", 1, func(*sale.Activity) error { return refusal }, operator); !errors.Is(err, refusal) {
		t.Error(err)
	}
	if _, err := s.Change(t.Context(), "B", 1, func(*sale.Activity) error { return nil }, operator); !errors.Is(err, catalog.ErrNotFound) {
		t.Error(err)
	}
	swap := func(a *sale.Activity) error { a.ClosesAt = a.OpensAt; return nil }
	if _, err := s.Change(t.Context(), "A", 1, swap, operator); !errors.Is(err, catalog.ErrRefused) {
		t.Error(err)
	}
}

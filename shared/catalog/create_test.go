package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/fault"
	"holdfast/shared/sale"
)

func TestCreatedActivityReadsBackWithTypesInOrderAndStockSpread(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	in := draft(t, "A")
	in.Lang, in.TimeZone, in.RefundRule = "zh-CN", "Asia/Shanghai", json.RawMessage(`{"percent": 50}`)
	made, created, err := s.Create(t.Context(), in, operator)
	if err != nil || !created {
		t.Fatalf("created %v: %v", created, err)
	}
	got := s.get(t, "A")
	if asJSON(t, got) != asJSON(t, made) {
		t.Errorf("Create gave %s, Get gives %s", asJSON(t, made), asJSON(t, got))
	}
	if got.Status != sale.Draft || got.Mode != sale.Live || got.Epoch != 0 || got.RulesVersion != 1 || got.Revision != 1 {
		t.Errorf("a new activity is %+v", got)
	}
	if got.Number != in.OpensAt.UnixMilli() || len(got.Salt) != 32 || got.Title != in.Title || !got.OpensAt.Equal(in.OpensAt) ||
		!got.ClosesAt.Equal(in.ClosesAt) || got.PayWindow != in.PayWindow || string(got.Metadata) != string(in.Metadata) ||
		string(got.RefundRule) != string(in.RefundRule) || got.Lang != in.Lang || got.TimeZone != in.TimeZone {
		t.Errorf("created %+v, got %+v", in, got)
	}
	if len(got.TicketTypes) != 2 || got.TicketTypes[0].ID != "VIP" || got.TicketTypes[0].Price.String() != "199.99" ||
		got.TicketTypes[1].Price.Currency != "CNY" {
		t.Errorf("types %+v", got.TicketTypes)
	}
	if b := s.buckets(t, "A", "VIP", "capacity"); !slices.Equal(b, []int{3, 3, 2, 2}) {
		t.Errorf("10 units over 4 buckets: %v", b)
	}
	if b := s.buckets(t, "A", "STANDARD", "capacity"); !slices.Equal(b, sale.Spread(100, 8)) {
		t.Errorf("100 units over 8 buckets: %v", b)
	}
	if n := s.audited(t, "activity.create"); n != 1 {
		t.Errorf("%d audit rows", n)
	}
	if byNumber, err := catalog.ByNumber(t.Context(), s.db, got.Number); err != nil || byNumber.ID != "A" {
		t.Errorf("by number: %v, %v", byNumber, err)
	}
}

func TestSameBodyAgainGivesTheActivityAsItIsNow(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	in := draft(t, "A")
	made, _, err := s.Create(t.Context(), in, operator)
	if err != nil {
		t.Fatal(err)
	}
	s.move(t, "A", sale.Published)
	same := in
	same.Metadata = json.RawMessage(` { "hall" : "east" } `)
	same.OpensAt = in.OpensAt.In(time.FixedZone("east", 8*3600)).Add(999 * time.Microsecond) // The same millisecond, written otherwise.
	same.Mode = sale.Live
	again, created, err := s.Create(t.Context(), same, operator)
	if err != nil || created || again.Status != sale.Published || again.Number != made.Number || string(again.Salt) != string(made.Salt) {
		t.Errorf("created %v, %+v: %v", created, again, err)
	}
	if n := s.audited(t, "activity.create"); n != 1 {
		t.Errorf("%d audit rows for one creation", n)
	}
}

func TestOtherBodyForAUsedIdIsRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.create(t, "A")
	for name, change := range map[string]func(*sale.Activity){
		"title":    func(a *sale.Activity) { a.Title = "Winter" },
		"mode":     func(a *sale.Activity) { a.Mode = sale.Test },
		"capacity": func(a *sale.Activity) { a.TicketTypes[0].Capacity++ },
		"price":    func(a *sale.Activity) { a.TicketTypes[0].Price = price(t, "199.98", "CNY") },
		"metadata": func(a *sale.Activity) { a.Metadata = nil },
		"order":    func(a *sale.Activity) { slices.Reverse(a.TicketTypes) },
	} {
		other := draft(t, "A")
		change(&other)
		if _, created, err := s.Create(t.Context(), other, operator); !errors.Is(err, catalog.ErrExists) || fault.Of(err) != fault.ActivityExists || created {
			t.Errorf("another %s: created %v: %v", name, created, err)
		}
	}
	if b := s.buckets(t, "A", "VIP", "capacity"); len(b) != 4 {
		t.Errorf("a refused creation changed the buckets: %v", b)
	}
}

func TestIdsThatDifferInCaseAreTwoActivities(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.create(t, "aB3x")
	s.create(t, "Ab3X")
}

func TestActivitiesOfOneOpeningGetNeighbouringNumbers(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	in := draft(t, "")
	const n = 12
	for _, err := range each(n, func(i int) error {
		mine := in
		mine.ID = fmt.Sprint("A", i)
		_, created, err := s.Create(t.Context(), mine, operator)
		if err == nil && !created {
			err = errors.New("not created")
		}
		return err
	}) {
		t.Error(err)
	}
	numbers := s.ints(t, `SELECT CAST(number - ? AS SIGNED) FROM activity ORDER BY number`, in.OpensAt.UnixMilli())
	want := make([]int, n)
	for i := range want {
		want[i] = i
	}
	if !slices.Equal(numbers, want) {
		t.Errorf("numbers after the opening: %v", numbers)
	}
}

func TestSameCreationManyTimesAtOnceMakesOneActivity(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	in := draft(t, "A")
	var made atomic.Int32
	for _, err := range each(10, func(int) error {
		mine := in
		mine.TicketTypes = slices.Clone(in.TicketTypes)
		a, created, err := s.Create(t.Context(), mine, operator)
		if created {
			made.Add(1)
		}
		if err == nil && len(a.TicketTypes) != 2 {
			err = fmt.Errorf("answered with %+v", a)
		}
		return err
	}) {
		t.Error(err)
	}
	if made.Load() != 1 || s.audited(t, "activity.create") != 1 {
		t.Errorf("%d creations and %d audit rows", made.Load(), s.audited(t, "activity.create"))
	}
}

func TestValuesThatBreakARuleOfTheDatabaseAreRefusedAndLeaveNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for name, change := range map[string]func(*sale.Activity){
		"window":        func(a *sale.Activity) { a.ClosesAt = a.OpensAt },
		"limit":         func(a *sale.Activity) { a.PerUserLimit = 0 },
		"voucher limit": func(a *sale.Activity) { a.Kind = sale.Voucher },
		"buckets":       func(a *sale.Activity) { a.TicketTypes[0].Buckets = 11 },
		"metadata": func(a *sale.Activity) {
			a.Metadata = json.RawMessage(`{"deep":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`)
		},
		"price": func(a *sale.Activity) { a.TicketTypes[1].Price.Value = a.TicketTypes[1].Price.Value.Neg() },
	} {
		in := draft(t, "A")
		change(&in)
		if _, _, err := s.Create(t.Context(), in, operator); !errors.Is(err, catalog.ErrRefused) || fault.Of(err) != fault.ValidationFailed {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := s.ints(t, `SELECT (SELECT COUNT(*) FROM activity) + (SELECT COUNT(*) FROM stock_bucket) + (SELECT COUNT(*) FROM audit_log)`); n[0] != 0 {
		t.Errorf("%d rows are left of refused creations", n[0])
	}
}

func TestPricesOfEveryCurrencyStayExact(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for i, p := range [][2]string{{"1250", "JPY"}, {"0", "JPY"}, {"0.10", "CNY"}, {"9999999999999999.99", "EUR"}, {"0.00", "USD"}} {
		in := draft(t, fmt.Sprint("A", i))
		in.Currency = p[1]
		in.TicketTypes = []sale.TicketType{{ID: "T", Title: "T", Price: price(t, p[0], p[1]), Capacity: 1, Buckets: 1}}
		if a, _, err := s.Create(t.Context(), in, operator); err != nil || a.TicketTypes[0].Price.String() != p[0] || a.TicketTypes[0].Price.Currency != p[1] {
			t.Errorf("%s %s: %+v, %v", p[0], p[1], a, err)
		}
	}
}

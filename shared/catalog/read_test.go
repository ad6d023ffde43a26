package catalog_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast/shared/catalog"
	"holdfast/shared/fault"
	"holdfast/shared/sale"
)

func TestUnknownActivityIsNotFound(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	a := s.create(t, "A")
	for _, id := range []string{"B", "a", "A ", ""} {
		if _, err := catalog.Get(t.Context(), s.db, id); !errors.Is(err, catalog.ErrNotFound) || fault.Of(err) != fault.ActivityNotFound {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, err := catalog.ByNumber(t.Context(), s.db, a.Number+1); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("an unknown number: %v", err)
	}
}

func TestListPagesThroughAllOnceTheLatestOpeningFirst(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for i := range 7 {
		in := draft(t, fmt.Sprint("A", i))
		in.OpensAt, in.ClosesAt = in.OpensAt.Add(time.Duration(i)*time.Hour), in.ClosesAt.Add(time.Duration(i)*time.Hour)
		if _, _, err := s.Create(t.Context(), in, operator); err != nil {
			t.Fatal(err)
		}
	}
	s.move(t, "A1", sale.Published)
	s.move(t, "A2", sale.Published, sale.Closed)
	s.move(t, "A3", sale.Published, sale.Suspended)
	all := func(f catalog.ListFilter, limit int) (ids []string) {
		cursor := ""
		for range 20 {
			page, next, err := catalog.List(t.Context(), s.db, f, cursor, limit)
			if err != nil || len(page) > limit {
				t.Fatalf("%d items: %v", len(page), err)
			}
			for _, a := range page {
				if len(a.TicketTypes) != 2 || a.TicketTypes[0].ID != "VIP" {
					t.Errorf("%s has the types %+v", a.ID, a.TicketTypes)
				}
				ids = append(ids, a.ID)
			}
			if cursor = next; next == "" {
				return ids
			}
		}
		t.Fatal("the list does not end")
		return nil
	}
	for _, c := range []struct {
		outcome string
		filter  catalog.ListFilter
		want    []string
	}{
		{"drafts are hidden", catalog.ListFilter{}, []string{"A3", "A2", "A1"}},
		{"drafts are shown when asked for", catalog.ListFilter{Drafts: true}, []string{"A6", "A5", "A4", "A3", "A2", "A1", "A0"}},
		{"one status", catalog.ListFilter{Statuses: []sale.Status{sale.Suspended, sale.Draft}}, []string{"A3"}},
		{"drafts alone", catalog.ListFilter{Drafts: true, Statuses: []sale.Status{sale.Draft}}, []string{"A6", "A5", "A4", "A0"}},
		{"drafts asked for by one who may not", catalog.ListFilter{Statuses: []sale.Status{sale.Draft}}, nil},
	} {
		for _, limit := range []int{1, 2, 3, 7, 100} {
			if got := all(c.filter, limit); !slices.Equal(got, c.want) {
				t.Errorf("%s, pages of %d: %v, want %v", c.outcome, limit, got, c.want)
			}
		}
	}
	for _, cursor := range []string{"!", "-1", "zzzzzzzzzzzzzzzz", "0"} {
		if _, _, err := catalog.List(t.Context(), s.db, catalog.ListFilter{}, cursor, 10); !errors.Is(err, catalog.ErrBadCursor) {
			t.Errorf("the cursor %q: %v", cursor, err)
		}
	}
}

package timeline_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"holdfast/shared/catalog"
	"holdfast/shared/reconcile/timeline"
	"holdfast/shared/stock"
)

func TestABuyerWhoGotNothingHearsWhenUnitsRanOutAndWhetherSomeCameFree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	story := w.buyer("late")
	if !strings.Contains(story.Verdict, "never sold out; 6 are left") || len(story.Orders) != 0 || story.Limit != 4 {
		t.Errorf("before the first sale: %+v", story)
	}
	first := w.buy("ann", "a", 3)
	w.buy("bob", "b", 3)
	story = w.buyer("late")
	telling(t, story.Events, "REDIS The last units of STANDARD were taken")
	if !strings.Contains(story.Verdict, "The user has nothing") || !strings.Contains(story.Verdict, "no unit came free since") {
		t.Errorf("sold out: %s", story.Verdict)
	}
	w.cancel(first.ID, "ann")
	w.buy("cat", "c", 2)
	story = w.buyer("late")
	telling(t, story.Events, "REDIS The last units of STANDARD were taken", "REDIS Units of STANDARD came free")
	if !strings.Contains(story.Verdict, "3 units came free since, and 1 are left now") || len(story.NotProvable) != 1 ||
		!strings.Contains(story.NotProvable[0], "a refusal leaves no trace") {
		t.Errorf("after the cancellation: %+v", story)
	}
}

func TestABuyerAtTheLimitAndOneWhoseOrderEndedHearWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.buy("ann", "a", 4)
	if story := w.buyer("ann"); story.Held != 4 || len(story.Orders) != 1 || !strings.Contains(story.Verdict, "The limit is used up") {
		t.Errorf("at the limit: %+v", story)
	}
	o := w.buy("bob", "b", 1)
	w.cancel(o.ID, "bob")
	story := w.buyer("bob")
	if story.Held != 0 || !strings.Contains(story.Verdict, "Of the last order: The order is CANCELLED: the buyer took it back") {
		t.Errorf("cancelled: %+v", story)
	}
	telling(t, story.Events, fmt.Sprintf("REDIS Order %s: Taken: 1 unit of STANDARD", o.ID), "MYSQL It was CANCELLED", "REDIS Given back: 1 unit")
	reserved := w.mustReserve("cat", "c", 1)
	story = w.buyer("cat")
	if len(story.Orders) != 1 || story.Orders[0] != reserved.OrderID || !strings.Contains(story.Next, "become orders") {
		t.Errorf("reserved: %+v", story)
	}
}

func TestAfterALoadTheStorySaysWhereTheLogBegins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.buy("ann", "a", 3)
	w.buy("bob", "b", 3)
	if err := w.reconciler.Load(t.Context(), w.id); err != nil {
		t.Fatal(err)
	}
	story := w.buyer("late")
	telling(t, story.Events, "REDIS loaded anew from MySQL", "REDIS The last units of STANDARD were taken")
	if len(story.NotProvable) != 2 || !strings.Contains(story.NotProvable[1], "its log begins there") ||
		!strings.Contains(story.Verdict, "sold out at") {
		t.Errorf("%+v", story)
	}
}

func TestThereIsNoStoryOfAnUnknownSaleOrWhileRedisCannotTell(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := timeline.OfBuyer(t.Context(), w.db, w.stock, "none", "ann"); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("of nothing: %v", err)
	}
	w.redis("DEL", "buyers")
	if _, err := timeline.OfBuyer(t.Context(), w.db, w.stock, w.id, "ann"); !errors.Is(err, stock.ErrNotLoaded) {
		t.Errorf("of half a set: %v", err)
	}
}

package order_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"reflect"
	"testing"

	"holdfast/shared/order"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
)

func TestClaimedOrderReadsBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	want := w.order("aB3x", "k", 2)
	mine, known := w.claim(want)
	if !mine[want.ID] || len(known) != 0 {
		t.Fatalf("mine %v, known %v", mine, known)
	}
	got := w.get(want.ID)
	want.Before = -1 // belongs to the stock log
	if g, m := asJSON(t, got), asJSON(t, want); g != m {
		t.Fatalf("got  %s\nwant %s", g, m)
	}
	if !reflect.DeepEqual(got.Allocations, want.Allocations) || got.Reference != want.ID.Reference() || got.Revision != 1 {
		t.Fatalf("got %+v", got)
	}
	var cached order.Order
	if err := json.Unmarshal([]byte(asJSON(t, got)), &cached); err != nil || asJSON(t, cached) != asJSON(t, got) {
		t.Fatalf("the cached form does not come back: %v\n%s\n%s", err, asJSON(t, cached), asJSON(t, got))
	}
}

func TestClaimTellsItsOwnIDsFromKnownOnes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.order("u1", "k", 1), w.order("u2", "k", 1)
	w.claim(first)
	other := w.order("u1", "k", 3) // another wish under the id that is taken
	mine, known := w.claim(other, second)
	if mine[first.ID] || !mine[second.ID] || len(known) != 1 {
		t.Fatalf("mine %v, known %v", mine, known)
	}
	o := known[first.ID]
	if !o.SameWish(w.activity.ID, "u1", "STANDARD", 1) || o.SameWish(w.activity.ID, "u1", "STANDARD", 3) {
		t.Fatalf("the known row is %+v", o)
	}
}

func TestClaimLeavesOutAReferenceThatIsTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second, third := w.order("u1", "k", 1), w.order("u2", "k", 1), w.order("u3", "k", 1)
	second.Reference, third.Reference = first.Reference, first.Reference
	mine, _ := w.claim(first)
	also, known := w.claim(second, third)
	if !mine[first.ID] || !also[second.ID] || !also[third.ID] || len(known) != 0 {
		t.Fatalf("mine %v, then %v, known %v", mine, also, known)
	}
	if r := w.get(second.ID).Reference + w.get(third.ID).Reference; r != "" {
		t.Fatalf("a reference was given twice: %q", r)
	}
}

func TestClaimRefusesARowThatBreaksARule(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good, bad := w.order("u1", "k", 1), w.order("u2", "k", 1)
	bad.Quantity = 0
	orders := []order.Order{good, bad}
	order.Sort(orders)
	err := w.db.Run(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, _, err := order.Claim(ctx, tx, orders, order.BatchID{1})
		return err
	})
	if !sqltx.CheckViolated(err) {
		t.Fatalf("got %v, want the violated CHECK", err)
	}
	if n := w.value("SELECT COUNT(*) FROM trade_order"); n != "0" {
		t.Fatalf("%s rows stayed", n)
	}
}

func TestUsersWhoseNamesDifferInCaseOrSpaceAreNotOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.claim(w.order("aB3x", "k", 1), w.order("Ab3X", "k", 2), w.order("aB3x ", "k", 3))
	for name, want := range map[string]int{"aB3x": 1, "Ab3X": 2, "aB3x ": 3} {
		held, err := order.Held(t.Context(), w.db, order.Holder{ActivityID: w.activity.ID, UserID: name})
		if err != nil || held != want {
			t.Errorf("%q holds %d, %v; want %d", name, held, err, want)
		}
	}
}

func TestHundredsOfRowsAreWrittenInStatementsOfLimitedSize(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var orders []order.Order
	for i := range 350 {
		orders = append(orders, w.order(user(i), "k", 1))
	}
	mine, _ := w.claim(orders...)
	if len(mine) != 350 {
		t.Fatalf("claimed %d", len(mine))
	}
	ids := make([]sale.OrderID, len(orders))
	for i := range orders {
		ids[i] = orders[i].ID
	}
	found, err := order.GetMany(t.Context(), w.db, ids)
	if err != nil || len(found) != 350 {
		t.Fatalf("found %d, %v", len(found), err)
	}
}

func asJSON(t *testing.T, o order.Order) string {
	t.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

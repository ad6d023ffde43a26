package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/shared/checkout"
	"holdfast/shared/sale"
	"holdfast/shared/testenv"
)

// waits is a call about a user's place on the waitlist.
func waits(a *sale.Activity, method, user, body string) ask {
	return ask{user: user, body: body, method: method, path: "/v1/activities/" + a.ID + "/waitlist/me",
		params: map[string]string{"activityId": a.ID}}
}

// soldOut makes a sale of three units, each an order of its own, and gives the order ids.
func (w *world) soldOut() (*sale.Activity, []string) {
	w.t.Helper()
	a := w.sale(func(a *sale.Activity) { a.TicketTypes[0].Capacity, a.TicketTypes[0].Buckets = 3, 1 })
	h := NewReserveTicket(w.d)
	var ids []string
	for i := range 3 {
		got := w.call(h, wish(a, fmt.Sprint("buyer", i), "k", one))
		w.expect(got, http.StatusAccepted, "")
		ids = append(ids, got.str("orderId"))
	}
	w.consume()
	return a, ids
}

func (w *world) cancelAs(user, id string) {
	w.t.Helper()
	parsed, err := sale.ParseOrderID(id)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.d.Checkout.Cancel(w.t.Context(), parsed, checkout.Canceller{UserID: user}); err != nil {
		w.t.Fatal(err)
	}
}

// why gives the code of it.
func (a answer) why() string {
	why, _ := a.body["why"].(map[string]any)
	code, _ := why["code"].(string)
	return code
}

func TestJoiningLookingAndLeavingTheWaitlist(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, ids := w.soldOut()
	h := NewMyWaitlist(w.d)

	w.expect(w.call(h, waits(a, "GET", "head", "")), http.StatusNotFound, "NOT_WAITING")
	three := `{"ticketType":"STANDARD","quantity":3}`
	got := w.call(h, waits(a, "PUT", "head", three))
	w.expect(got, http.StatusCreated, "")
	if got.body["position"] != 1.0 || got.str("status") != "WAITING" || got.body["offer"] != nil || got.str("now") == "" {
		t.Errorf("joined: %s", got.text)
	}
	w.expect(w.call(h, waits(a, "PUT", "head", three)), http.StatusOK, "")
	w.expect(w.call(h, waits(a, "PUT", "head", one)), http.StatusConflict, "ALREADY_WAITING")
	if got = w.call(h, waits(a, "PUT", "next", one)); got.status != http.StatusCreated || got.body["position"] != 2.0 {
		t.Errorf("the next: %d %s", got.status, got.text)
	}
	w.expect(w.call(NewReserveTicket(w.d), wish(a, "public", "k", one)), http.StatusConflict, "INSUFFICIENT_STOCK")

	w.cancelAs("buyer0", ids[0]) // one comes free: the head wants three and is passed over
	got = w.call(h, waits(a, "GET", "next", ""))
	offer, _ := got.body["offer"].(map[string]any)
	if got.str("status") != "OFFERED" || offer["orderId"] == "" || offer["acceptBy"] == "" || got.body["position"] != nil {
		t.Errorf("the next has %s", got.text)
	}
	if got = w.call(h, waits(a, "GET", "head", "")); got.why() != "PASSED_OVER" || got.body["position"] != 1.0 {
		t.Errorf("the head has %s", got.text)
	}
	mine := w.call(NewMyActivity(w.d), ask{user: "next", method: "GET", path: "/v1/activities/" + a.ID + "/me",
		params: map[string]string{"activityId": a.ID}})
	if place, _ := mine.body["waitlist"].(map[string]any); place["status"] != "OFFERED" || mine.body["held"] != 1.0 {
		t.Errorf("the next holds %s", mine.text)
	}

	for range 2 {
		if got = w.call(h, waits(a, "DELETE", "next", "")); got.status != http.StatusNoContent || got.text != "" {
			t.Errorf("declined: %d %q", got.status, got.text)
		}
	}
	if got = w.call(h, waits(a, "GET", "next", "")); got.str("status") != "LAPSED" {
		t.Errorf("having declined, the next has %s", got.text)
	}
	w.expect(w.call(h, waits(a, "DELETE", "head", "")), http.StatusNoContent, "")
	w.expect(w.call(h, waits(a, "DELETE", "stranger", "")), http.StatusNoContent, "")
	w.expect(w.call(NewReserveTicket(w.d), wish(a, "public", "k", one)), http.StatusAccepted, "")
}

func TestRefusalsOfTheWaitlist(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.sale()
	h := NewMyWaitlist(w.d)
	w.expect(w.call(h, waits(a, "PUT", "u", one)), http.StatusConflict, "NOT_SOLD_OUT")
	w.expect(w.call(h, waits(&sale.Activity{ID: "nowhere"}, "PUT", "u", one)), http.StatusNotFound, "ACTIVITY_NOT_FOUND")
	w.expect(w.call(h, waits(&sale.Activity{ID: "nowhere"}, "DELETE", "u", "")), http.StatusNotFound, "ACTIVITY_NOT_FOUND")
	for body, want := range map[string]string{
		`{"ticketType":"STANDARD","quantity":5}`:                                                 "/quantity OUT_OF_RANGE",
		`{"ticketType":"STANDARD","quantity":0}`:                                                 "/quantity OUT_OF_RANGE",
		`{"ticketType":"OTHER","quantity":1}`:                                                    "/ticketType NOT_ALLOWED",
		`{"ticketType":"STANDARD","quantity":1,"policyHash":"xyz"}`:                              "/policyHash BAD_FORMAT",
		`{"ticketType":"STANDARD","quantity":1,"policyHash":"` + strings.Repeat("ab", 32) + `"}`: "/policyHash NOT_ALLOWED",
	} {
		got := w.call(h, waits(a, "PUT", "u", body))
		w.expect(got, http.StatusUnprocessableEntity, "VALIDATION_FAILED")
		first := got.body["errors"].([]any)[0].(map[string]any)
		if at := fmt.Sprint(first["pointer"], " ", first["code"]); at != want {
			t.Errorf("%s: %s, want %s", body, at, want)
		}
	}
	if n := w.rows("waitlist_entry"); n != 1 { // of the one who could buy
		t.Errorf("%d entries", n)
	}
	w.expect(w.call(h, ask{method: "GET", path: "/x", params: map[string]string{"activityId": a.ID}}), http.StatusUnauthorized, "UNAUTHENTICATED")
}

// Joining is a row: whoever asked while Redis is away waits, and is served when it is back.
func TestJoiningWhileRedisIsAwayIsJoining(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, _ := w.soldOut()
	w.redis.Down()
	defer w.redis.Up()
	w.expect(w.call(NewMyWaitlist(w.d), waits(a, "PUT", "u", one)), http.StatusCreated, "")
	if n := w.rows("waitlist_entry WHERE status = 'WAITING'"); n != 1 {
		t.Errorf("%d wait", n)
	}
}

func TestOperatorsSeeWhoWaitsAndWhy(t *testing.T) {
	t.Parallel()
	w := newOpsWorld(t, "")
	w.publish(map[string]any{"ticketTypes": []any{ticketBody(map[string]any{"capacity": 1, "buckets": 1})}})
	w.order("buyer", "k", 1)
	for i := range 3 {
		_, _, err := w.deps.Checkout.JoinWaitlist(t.Context(), checkout.WaitlistWish{ActivityID: w.id, UserID: fmt.Sprint("u", i),
			TicketType: "STANDARD", Quantity: 1})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.deps.Checkout.LeaveWaitlist(t.Context(), w.id, "u1"); err != nil {
		t.Fatal(err)
	}
	first := w.must(200, "GET", w.at("/waitlist?limit=2"), "")
	items := first.body["items"].([]any)
	one, two := items[0].(map[string]any), items[1].(map[string]any)
	if len(items) != 2 || one["userId"] != "u0" || one["place"] != 1.0 || two["status"] != "LEFT" || two["place"] != nil {
		t.Errorf("first page: %s", first.text)
	}
	next := w.must(200, "GET", w.at("/waitlist?limit=2&cursor="+first.body["nextCursor"].(string)), "")
	last := next.body["items"].([]any)
	if len(last) != 1 || last[0].(map[string]any)["userId"] != "u2" || last[0].(map[string]any)["place"] != 2.0 || next.body["nextCursor"] != nil {
		t.Errorf("second page: %s", next.text)
	}
	if got := w.must(200, "GET", w.at("/waitlist?status=LEFT&ticketType=STANDARD"), ""); len(got.body["items"].([]any)) != 1 {
		t.Errorf("those who left: %s", got.text)
	}
	w.must(422, "GET", w.at("/waitlist?cursor=x&status=NONE"), "")
	w.must(404, "GET", "/ops/v1/activities/nowhere/waitlist", "")
}

// kept is three units of which one is free, and a first in line who wants all three: the public is shut out.
func (w *world) kept() *sale.Activity {
	w.t.Helper()
	a, ids := w.soldOut()
	w.expect(w.call(NewMyWaitlist(w.d), waits(a, "PUT", "head", `{"ticketType":"STANDARD","quantity":3}`)), http.StatusCreated, "")
	w.cancelAs("buyer0", ids[0])
	if n := w.left(a); n != 1 {
		w.t.Fatalf("%d units are free", n)
	}
	return a
}

func TestNothingIsToBeHadByThePublicWhileSomebodyWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, free := w.kept(), w.sale()
	shown := func(got answer) string {
		t.Helper()
		w.expect(got, http.StatusOK, "")
		of := got.body
		if items, isList := of["items"].([]any); isList {
			for _, item := range items {
				if of = item.(map[string]any); of["activityId"] == a.ID {
					break
				}
			}
		}
		availability, _ := of["ticketTypes"].([]any)[0].(map[string]any)["availability"].(string)
		return availability
	}
	one, all := NewGetActivity(w.d), NewListActivities(w.d)
	list := ask{method: "GET", path: "/v1/activities"}
	if alone, listed := shown(w.call(one, activity(a.ID))), shown(w.call(all, list)); alone != "NONE" || listed != "NONE" {
		t.Errorf("while the head waits: %s, in the list %s", alone, listed)
	}
	if got := shown(w.call(one, activity(free.ID))); got != "PLENTY" {
		t.Errorf("where nobody waits: %s", got)
	}
	w.expect(w.call(NewMyWaitlist(w.d), waits(a, "DELETE", "head", "")), http.StatusNoContent, "")
	if alone, listed := shown(w.call(one, activity(a.ID))), shown(w.call(all, list)); alone != "FEW" || listed != "FEW" {
		t.Errorf("when nobody waits any more: %s, in the list %s", alone, listed)
	}
}

// What is held is known to Redis, so whoever asks for it does not hear less because MySQL, which has the waitlist, is away or hangs.
func TestWhatIsHeldIsToldWithoutTheWaitlist(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(w *world){
		"away":  func(w *world) { w.mysql.Down() },
		"hangs": func(w *world) { w.mysql.Delay(40 * time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a, _ := w.soldOut()
			h := NewMyActivity(w.d)
			mine := activity(a.ID)
			mine.user = "buyer0"
			w.expect(w.call(NewMyWaitlist(w.d), waits(a, "PUT", "buyer0", one)), http.StatusCreated, "")
			got := w.call(h, mine) // and the row is kept for a second
			if w.expect(got, http.StatusOK, ""); got.body["waitlist"] == nil {
				t.Errorf("buyer0 waits: %s", got.text)
			}
			fail(w)
			got = w.call(h, mine)
			w.expect(got, http.StatusOK, "")
			if got.body["held"] != 1.0 || got.body["limit"] != 4.0 || got.str("lastOrderId") == "" || got.body["waitlist"] != nil {
				t.Errorf("without MySQL: %s", got.text)
			}
		})
	}
}

func TestOperatorsPageOfTheWaitlistIsCountedOnce(t *testing.T) {
	t.Parallel()
	pool := testenv.MySQL(t)
	w := opsWorldOver(t, "", pool)
	w.publish(map[string]any{"ticketTypes": []any{ticketBody(map[string]any{"capacity": 1, "buckets": 1})}})
	w.order("buyer", "k", 1)
	selects := func(path string) (n int, items []any) {
		t.Helper()
		pool.SetMaxOpenConns(1)
		count := func() (n int) {
			t.Helper()
			var name string
			if err := pool.QueryRowContext(t.Context(), `SHOW SESSION STATUS LIKE 'Com_select'`).Scan(&name, &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := count()
		items, _ = w.must(200, "GET", path, "").body["items"].([]any)
		return count() - before, items
	}
	join := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			_, _, err := w.deps.Checkout.JoinWaitlist(t.Context(), checkout.WaitlistWish{ActivityID: w.id, UserID: fmt.Sprint("u", i),
				TicketType: "STANDARD", Quantity: 1})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	join(0, 1)
	few, _ := selects(w.at("/waitlist"))
	pool.SetMaxOpenConns(8)
	join(1, 6)
	if err := w.deps.Checkout.LeaveWaitlist(t.Context(), w.id, "u2"); err != nil {
		t.Fatal(err)
	}
	many, items := selects(w.at("/waitlist"))
	var places []any
	for _, item := range items {
		places = append(places, item.(map[string]any)["place"])
	}
	if got := fmt.Sprint(places); got != "[1 2 <nil> 3 4 5]" || many != few {
		t.Errorf("places %s by %d SELECTs, for one entry by %d", got, many, few)
	}
}

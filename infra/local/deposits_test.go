package local_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/infra/local"
)

// seatSale is a sale of deposit seats on a whole stack: a seat costs 100.00, its deposit is 30.00, and who misses the deadline leaves 6.00
// of that to the club.
type seatSale struct {
	*testing.T
	stack    *local.Stack
	id       string
	deadline time.Time
}

// answer is what the stack said.
type answer struct {
	status int
	text   string
	body   map[string]any
}

func (a answer) at(path string) any {
	var at any = a.body
	for name := range strings.SplitSeq(path, ".") {
		object, _ := at.(map[string]any)
		at = object[name]
	}
	return at
}

// call sends a request of a user, or of the operator, with headers "name: value".
func (s *seatSale) call(who, method, path, body string, headers ...string) answer {
	s.Helper()
	var scopes []string
	if who == "operator" {
		scopes = []string{"operator"}
	}
	request, err := http.NewRequestWithContext(s.Context(), method, s.stack.Addresses.API+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	request.Header.Set("Idempotency-Key", who+strings.ReplaceAll(path, "/", "-"))
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if who != "" {
		request.Header.Set("Authorization", "Bearer "+mint(s.T, s.stack.Addresses.API, who, scopes...))
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	got := answer{status: response.StatusCode, text: string(text)}
	_ = json.Unmarshal(text, &got.body) // not every answer is an object
	return got
}

func (s *seatSale) must(status int, who, method, path, body string, headers ...string) answer {
	s.Helper()
	got := s.call(who, method, path, body, headers...)
	if got.status != status {
		s.Fatalf("%s %s as %q: %d %s, want %d", method, path, who, got.status, got.text, status)
	}
	return got
}

// openSeatSale opens the sale two days before its deadline; reminders are due six hours before that.
func openSeatSale(t *testing.T, stack *local.Stack, capacity int) *seatSale {
	t.Helper()
	s := &seatSale{T: t, stack: stack, id: "seats"}
	now, err := time.Parse(time.RFC3339, s.must(200, "", "GET", "/local/clock", "").at("now").(string))
	if err != nil {
		t.Fatal(err)
	}
	s.deadline = now.Add(48 * time.Hour).Truncate(time.Second)
	at := func(d time.Duration) string { return s.deadline.Add(d).Format(time.RFC3339) }
	s.must(201, "operator", "POST", "/ops/v1/activities", fmt.Sprintf(`{"activityId":%q,"kind":"DEPOSIT","title":"Club evening","opensAt":%q,
		"closesAt":%q,"perUserLimit":1,"payWindowSeconds":900,"currency":"CNY",
		"ticketTypes":[{"ticketType":"SEAT","title":"Seat","price":{"amount":"100.00","currency":"CNY"},"capacity":%d,"buckets":4}],
		"deposit":{"ratio":"0.3","penaltyRatio":"0.2","confirmDeadline":%q,"remindAt":%q,"cancellation":"PENALTY","clubId":"club-1"}}`,
		s.id, at(-50*time.Hour), at(-time.Hour), capacity, at(0), at(-6*time.Hour)))
	s.must(200, "operator", "POST", "/ops/v1/activities/"+s.id+"/publication", "")
	return s
}

// buy gives a user 100.00 and has them reserve a seat; it returns the order once its deposit is frozen.
func (s *seatSale) buy(user string) (orderID string) {
	s.Helper()
	s.must(201, "operator", "POST", "/ops/v1/wallets/"+user+"/top-ups", `{"reference":"bank-`+user+`","amount":{"amount":"100.00","currency":"CNY"}}`)
	got := s.must(202, user, "POST", "/v1/activities/"+s.id+"/reservations", `{"ticketType":"SEAT","quantity":1}`)
	orderID, _ = got.at("orderId").(string)
	s.eventually(user+"'s deposit is frozen", func() bool { return s.order(user, orderID).at("deposit.status") == "FROZEN" })
	return orderID
}

func (s *seatSale) order(user, orderID string) answer {
	s.Helper()
	return s.must(200, user, "GET", "/v1/orders/"+orderID, "")
}

func (s *seatSale) eventually(what string, holds func() bool) {
	s.Helper()
	for end := time.Now().Add(60 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("after a minute still not: %s", what)
		}
	}
}

// moveTo moves the clock to an instant of the sale, counted from the deadline.
func (s *seatSale) moveTo(fromDeadline time.Duration) {
	s.Helper()
	now, err := time.Parse(time.RFC3339, s.must(200, "", "GET", "/local/clock", "").at("now").(string))
	if err != nil {
		s.Fatal(err)
	}
	s.must(200, "", "POST", "/local/clock", `{"advance":"`+s.deadline.Add(fromDeadline).Sub(now).String()+`"}`)
}

// execution reads how the execution of an order stands.
func (s *seatSale) execution(orderID string) map[string]any {
	s.Helper()
	items, _ := s.must(200, "", "GET", "/local/executions?name="+orderID, "").at("items").([]any)
	if len(items) != 1 {
		s.Fatalf("%d executions of %s", len(items), orderID)
	}
	return items[0].(map[string]any)
}

// wallet asserts what a user has, available and frozen.
func (s *seatSale) wallet(user, available, frozen string) {
	s.Helper()
	got := s.must(200, user, "GET", "/v1/wallet?currency=CNY", "")
	if got.at("available.amount") != available || got.at("frozen.amount") != frozen {
		s.Errorf("%s has %s, want %s and %s frozen", user, got.text, available, frozen)
	}
}

// told counts what the topic has of a kind about an order.
func (s *seatSale) told(kind, orderID string) int {
	s.Helper()
	items, _ := s.must(200, "", "GET", "/local/notices?type="+kind+"&orderId="+orderID, "").at("items").([]any)
	return len(items)
}

// lifeOfDeposits plays 48 hours and one more: one buyer confirms, one misses the deadline, one has it extended, and one's execution is
// killed.
func lifeOfDeposits(t *testing.T, stack *local.Stack) {
	t.Helper()
	s := openSeatSale(t, stack, 4)
	confirms, misses, extended, killed := s.buy("carol"), s.buy("mia"), s.buy("eve"), s.buy("kim")
	for user, id := range map[string]string{"carol": confirms, "mia": misses, "eve": extended, "kim": killed} {
		s.wallet(user, "70.00", "30.00")
		s.eventually("the execution of "+user+" waits", func() bool { return s.execution(id)["waitsTill"] != nil })
	}
	s.must(200, "", "DELETE", "/local/executions/"+killed, "")

	// Within 15 s of an instant the executions act alone; only later does the minute pass take what is overdue.
	s.moveTo(-6*time.Hour + 2*time.Second)
	for _, id := range []string{confirms, misses, extended} {
		s.eventually("the reminder is out", func() bool { return s.told("deposit.reminder", id) == 1 })
	}
	if s.told("deposit.reminder", killed) != 0 || s.execution(killed)["status"] != "ABORTED" {
		t.Error("a killed execution reminded")
	}
	if got := s.must(200, "carol", "POST", "/v1/orders/"+confirms+"/confirmation", ""); got.at("status") != "PAID" || got.at("deposit.status") != "DEDUCTED" {
		t.Errorf("confirmed: %s", got.text)
	}
	held := s.must(200, "operator", "GET", "/ops/v1/deposits?status=FROZEN", "").at("items").([]any)
	for _, item := range held {
		if d := item.(map[string]any); d["orderId"] == extended {
			s.must(200, "operator", "POST", "/ops/v1/deposits/"+extended+"/extension", `{"confirmDeadline":"`+s.deadline.Add(time.Hour).Format(time.RFC3339)+`"}`,
				fmt.Sprintf("If-Match: \"%v\"", d["revision"]))
		}
	}

	s.moveTo(2 * time.Second)
	s.eventually("the missed deposit is settled", func() bool { return s.order("mia", misses).at("status") == "CANCELLED" })
	s.wallet("mia", "94.00", "0.00")
	s.eventually("the extended one waits again", func() bool { return s.execution(extended)["state"] == "WaitAgain" })
	s.eventually("the confirmed one's execution ends", func() bool { return s.execution(confirms)["status"] == "SUCCEEDED" })
	for user, id := range map[string]string{"eve": extended, "kim": killed} {
		if got := s.order(user, id); got.at("deposit.status") != "FROZEN" {
			t.Errorf("%s: %s", user, got.text)
		}
	}

	s.moveTo(17 * time.Second)
	s.must(200, "", "POST", "/local/schedules/compensate-orders", "")
	if got := s.order("kim", killed); got.at("reason") != "DEPOSIT_FORFEITED" || got.at("deposit.penalty.amount") != "6.00" || got.at("deposit.refund.amount") != "24.00" {
		t.Errorf("what a killed execution left: %s", got.text)
	}

	s.moveTo(time.Hour + 2*time.Second)
	s.eventually("the extended one is settled", func() bool { return s.order("eve", extended).at("status") == "CANCELLED" })
	s.eventually("its execution ends", func() bool { return s.execution(extended)["status"] == "SUCCEEDED" })
	if e := s.execution(extended); e["entered"] != 11.0 {
		t.Errorf("one turn makes eleven states: %v", e)
	}
	for user, available := range map[string]string{"carol": "0.00", "mia": "94.00", "eve": "94.00", "kim": "94.00"} {
		s.wallet(user, available, "0.00")
	}
	for kind, ids := range map[string][]string{"deposit.confirmed": {confirms}, "deposit.penalty": {misses, extended, killed}} {
		for _, id := range ids {
			s.eventually(kind+" is told", func() bool { return s.told(kind, id) == 1 })
		}
	}
	if got := s.must(200, "", "POST", "/local/schedules/reconcile-deposits", ""); strings.Contains(got.text, `"error"`) ||
		!strings.Contains(got.text, `"provider":"ASKED"`) {
		t.Errorf("the daily round: %s", got.text)
	}
	found := s.must(200, "operator", "GET", "/ops/v1/differences", "").at("items").([]any)
	if len(found) != 0 {
		t.Errorf("differences: %v", found)
	}
}

func TestTheLifeOfDepositsIsPlayedInSecondsByTheMovedClock(t *testing.T) {
	lifeOfDeposits(t, up(t))
}

func TestTheLifeOfDepositsIsPlayedByProcessesToo(t *testing.T) {
	stack, _ := upInProcesses(t)
	lifeOfDeposits(t, stack)
}

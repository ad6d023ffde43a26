package local_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/infra/local"
	"holdfast/shared/sqltx"
)

// upInProcesses starts a stack whose functions are processes, with one published sale.
func upInProcesses(t *testing.T) (stack *local.Stack, dir string) {
	t.Helper()
	dir = t.TempDir()
	stack, err := local.Up(t.Context(), local.Options{DataDir: dir, Processes: true, Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stack.Close)
	operator := mint(t, stack.Addresses.API, "olga", "operator")
	if status, _, body := ask(t, "POST", stack.Addresses.API+"/ops/v1/activities", operator, draft("sale", 10)); status != http.StatusCreated {
		t.Fatalf("create: %d %s", status, body)
	}
	if status, _, body := ask(t, "POST", stack.Addresses.API+"/ops/v1/activities/sale/publication", operator, "{}"); status != http.StatusOK {
		t.Fatalf("publish: %d %s", status, body)
	}
	return stack, dir
}

// reserve takes two units for a user and returns the order's id.
func reserve(t *testing.T, stack *local.Stack, token string) string {
	t.Helper()
	status, _, body := ask(t, "POST", stack.Addresses.API+"/v1/activities/sale/reservations", token, `{"ticketType":"STANDARD","quantity":2}`)
	var order struct{ OrderID string }
	if err := json.Unmarshal([]byte(body), &order); err != nil || status != http.StatusAccepted {
		t.Fatalf("reserve: %d %s", status, body)
	}
	return order.OrderID
}

// awaitStatus polls an order until it has the status.
func awaitStatus(t *testing.T, stack *local.Stack, token, id, want string) {
	t.Helper()
	var body string
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if _, _, body = ask(t, "GET", stack.Addresses.API+"/v1/orders/"+id, token, ""); strings.Contains(body, `"`+want+`"`) {
			return
		}
	}
	t.Fatalf("order %s does not become %s: %s", id, want, body)
}

func TestProcessesSellAndFollowTheClockAndLogIntoTheStacksLog(t *testing.T) {
	stack, dir := upInProcesses(t)
	alice := mint(t, stack.Addresses.API, "alice")
	id := reserve(t, stack, alice)
	awaitStatus(t, stack, alice, id, "UNPAID")
	if n := len(stack.Processes().PIDs("create-orders")); n != 1 {
		t.Errorf("%d processes of create-orders", n)
	}
	// The order's 15 minutes pass at once for every function.
	if status, _, body := ask(t, "POST", stack.Addresses.API+"/local/clock", "", `{"advance":"16m"}`); status != http.StatusOK {
		t.Fatalf("clock: %d %s", status, body)
	}
	if status, _, body := ask(t, "POST", stack.Addresses.API+"/local/schedules/expire-orders", "", ""); status != http.StatusOK {
		t.Fatalf("expire-orders: %d %s", status, body)
	}
	awaitStatus(t, stack, alice, id, "CANCELLED")
	text, err := os.ReadFile(filepath.Join(dir, local.LogFile))
	if err != nil || !strings.Contains(string(text), `"function":"create-orders"`) {
		t.Errorf("the log lacks the lines of create-orders: %v\n%s", err, text)
	}
}

func TestAKilledInstanceFailsItsInvocationAndTheMessageComesBack(t *testing.T) {
	stack, _ := upInProcesses(t)
	alice := mint(t, stack.Addresses.API, "alice")
	db, err := sqltx.Open(stack.Addresses.MySQL)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// While the sale's row is locked, create-orders waits in its transaction.
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	var name string
	if err := tx.QueryRowContext(t.Context(), "SELECT activity_id FROM activity WHERE activity_id = 'sale' FOR UPDATE").Scan(&name); err != nil {
		t.Fatal(err)
	}
	id := reserve(t, stack, alice)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if busy, found := stack.Processes().Kill("create-orders"); found && busy {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("create-orders never had the message")
		}
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	var depth struct{ Visible, InFlight int }
	_, _, body := ask(t, "GET", stack.Addresses.API+"/local/queues/orders", "", "")
	if err := json.Unmarshal([]byte(body), &depth); err != nil || depth.InFlight != 1 {
		t.Fatalf("the message is not in flight: %s %v", body, err)
	}
	if _, _, body := ask(t, "GET", stack.Addresses.API+"/v1/orders/"+id, alice, ""); !strings.Contains(body, "RESERVED") {
		t.Errorf("the order is more than reserved: %s", body)
	}
	ask(t, "POST", stack.Addresses.API+"/local/clock", "", `{"advance":"181s"}`) // past the visibility timeout
	awaitStatus(t, stack, alice, id, "UNPAID")
}

func TestRedisFaultsStrikeProcessesToo(t *testing.T) {
	stack, _ := upInProcesses(t)
	alice := mint(t, stack.Addresses.API, "alice")
	url := stack.Addresses.API + "/v1/activities/sale/reservations"
	for _, c := range []struct{ mode, code string }{
		{"refuse", "STOCK_STORE_UNAVAILABLE"},      // said so: nothing is held
		{"lose-answer", "RESERVATION_UNCONFIRMED"}, // taken, and nobody knows
		{"hang", "RESERVATION_UNCONFIRMED"},        // not known to have been taken
	} {
		ask(t, "POST", stack.Addresses.API+"/local/faults", "", `{"point":"redis.reserve","mode":"`+c.mode+`"}`)
		status, _, body := ask(t, "POST", url, alice, `{"ticketType":"STANDARD","quantity":2}`)
		if status != http.StatusServiceUnavailable || !strings.Contains(body, c.code) {
			t.Errorf("%s: %d %s", c.mode, status, body)
		}
	}
	ask(t, "DELETE", stack.Addresses.API+"/local/faults", "", "")
	awaitStatus(t, stack, alice, reserve(t, stack, alice), "UNPAID")
}

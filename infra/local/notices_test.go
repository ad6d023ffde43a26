package local_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"holdfast/infra/local"
)

// publishedNotice is one notice as GET /local/notices shows it.
type publishedNotice struct {
	Attributes map[string]string
	Body       struct {
		ID, Type, ActivityID, OrderID, UserID, Time string
		Version                                     int
		Data                                        map[string]any
	}
}

// shown reads the notices of an order that were published.
func shown(t *testing.T, stack *local.Stack, query string) (items []publishedNotice, count int) {
	t.Helper()
	status, _, body := ask(t, "GET", stack.Addresses.API+"/local/notices?"+query, "", "")
	var answer struct {
		Published int
		Items     []publishedNotice
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
		t.Fatalf("notices: %d %s", status, body)
	}
	return answer.Items, answer.Published
}

// awaitNotices polls until so many notices of an order were published.
func awaitNotices(t *testing.T, stack *local.Stack, order string, n int) []publishedNotice {
	t.Helper()
	var items []publishedNotice
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if items, _ = shown(t, stack, "orderId="+order); len(items) >= n {
			return items
		}
	}
	t.Fatalf("%d notices of %d: %+v", len(items), n, items)
	return nil
}

// onSale makes a sale that has begun.
func onSale(t *testing.T, stack *local.Stack) (operator string) {
	t.Helper()
	operator = mint(t, stack.Addresses.API, "olga", "operator")
	if status, _, body := ask(t, "POST", stack.Addresses.API+"/ops/v1/activities", operator, draft("sale", 10)); status != http.StatusCreated {
		t.Fatalf("create: %d %s", status, body)
	}
	if status, _, body := ask(t, "POST", stack.Addresses.API+"/ops/v1/activities/sale/publication", operator, "{}"); status != http.StatusOK {
		t.Fatalf("publish: %d %s", status, body)
	}
	return operator
}

func TestNoticesArePublishedAndShownAndListedToTheirReader(t *testing.T) {
	stack := up(t)
	onSale(t, stack)
	tellAndList(t, stack)
	// While the topic refuses, a notice waits; the minute pass wakes the sender for it.
	api, bob := stack.Addresses.API, mint(t, stack.Addresses.API, "bob")
	if status, _, body := ask(t, "POST", api+"/local/faults", "", `{"point":"topic.publish","mode":"refuse"}`); status != http.StatusOK {
		t.Fatalf("faults: %d %s", status, body)
	}
	id := reserve(t, stack, bob)
	awaitStatus(t, stack, bob, id, "UNPAID")
	time.Sleep(500 * time.Millisecond) // the sender runs into the fault
	if items, _ := shown(t, stack, "orderId="+id); len(items) != 0 {
		t.Errorf("published while the topic refuses: %+v", items)
	}
	ask(t, "DELETE", api+"/local/faults", "", "")
	ask(t, "POST", api+"/local/clock", "", `{"advance":"3m"}`)
	if status, _, body := ask(t, "POST", api+"/local/schedules/compensate-orders", "", ""); status != http.StatusOK {
		t.Fatalf("compensate-orders: %d %s", status, body)
	}
	if items := awaitNotices(t, stack, id, 1); items[0].Body.Type != "order.created" {
		t.Errorf("%+v", items)
	}
}

// tellAndList sells an order and checks what is published of it, and what its buyer reads.
func tellAndList(t *testing.T, stack *local.Stack) {
	t.Helper()
	alice := mint(t, stack.Addresses.API, "alice")
	id := reserve(t, stack, alice)
	awaitStatus(t, stack, alice, id, "UNPAID")
	n := awaitNotices(t, stack, id, 1)[0]
	if n.Body.Type != "order.created" || n.Body.Version != 1 || n.Body.UserID != "alice" || n.Body.ActivityID != "sale" ||
		n.Body.Data["status"] != "UNPAID" || n.Attributes["type"] != "order.created" || n.Attributes["mode"] != "LIVE" {
		t.Errorf("published %+v", n)
	}
	if others, count := shown(t, stack, "userId=nobody"); len(others) != 0 || count < 1 {
		t.Errorf("%d of %d are nobody's", len(others), count)
	}
	status, _, body := ask(t, "GET", stack.Addresses.API+"/v1/notices", alice, "")
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK || len(list.Items) != 1 ||
		list.Items[0]["noticeId"] != n.Body.ID || list.Items[0]["kind"] != "ORDER_CREATED" || list.Items[0]["orderId"] != id {
		t.Errorf("listed %d %s", status, body)
	}
}

func TestAnExportIsWrittenAndCanBeFetched(t *testing.T) {
	stack := up(t)
	exportOrders(t, stack, onSale(t, stack))
}

// exportOrders sells an order, has the orders exported, and reads the file.
func exportOrders(t *testing.T, stack *local.Stack, operator string) {
	t.Helper()
	api, carol := stack.Addresses.API, mint(t, stack.Addresses.API, "carol")
	id := reserve(t, stack, carol)
	awaitStatus(t, stack, carol, id, "UNPAID")
	status, _, body := ask(t, "POST", api+"/ops/v1/exports", operator, `{"kind":"orders","activityId":"sale"}`)
	var job struct {
		JobID, Status string
		Result        struct {
			URL  string
			Rows int
		}
	}
	if err := json.Unmarshal([]byte(body), &job); err != nil || status != http.StatusAccepted {
		t.Fatalf("export: %d %s", status, body)
	}
	if status, _, body := ask(t, "POST", api+"/local/schedules/compensate-orders", "", ""); status != http.StatusOK {
		t.Fatalf("compensate-orders: %d %s", status, body)
	}
	_, _, body = ask(t, "GET", api+"/ops/v1/jobs/"+job.JobID, operator, "")
	if err := json.Unmarshal([]byte(body), &job); err != nil || job.Status != "SUCCEEDED" {
		t.Fatalf("job: %s", body)
	}
	answer, err := http.Get(job.Result.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%d %s, %v", answer.StatusCode, text, err)
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(lines) != job.Result.Rows+1 || !slices.ContainsFunc(lines, func(line []string) bool {
		return line[0] == id && line[2] == "sale" && line[4] == "carol"
	}) {
		t.Errorf("the file says %s, %v", text, err)
	}
}

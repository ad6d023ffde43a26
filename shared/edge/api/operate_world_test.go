package api

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"log/slog"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/redis/go-redis/v9"

	"holdfast/shared/catalog"
	"holdfast/shared/checkout"
	"holdfast/shared/edge"
	"holdfast/shared/reconcile"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

// opsWorld is operate-sales over a database and Redis keys of one test.
type opsWorld struct {
	t       *testing.T
	deps    edge.Deps
	handler lambda.Handler
	rdb     *redis.Client
	id      string       // of the activity that the helpers speak of
	ahead   atomic.Int64 // offset of both stores' clocks, nanoseconds
	log     bytes.Buffer
}

// newOpsWorld builds one; redisAddr is "" for the shared Redis.
func newOpsWorld(t *testing.T, redisAddr string) *opsWorld {
	t.Helper()
	return opsWorldOver(t, redisAddr, testenv.MySQL(t))
}

func opsWorldOver(t *testing.T, redisAddr string, pool *sql.DB) *opsWorld {
	t.Helper()
	w := &opsWorld{t: t, id: testenv.ActivityID(t), rdb: testenv.Redis(t)}
	client := w.rdb
	if redisAddr != "" {
		client = testenv.RedisClient(t, redisAddr)
	}
	offset := func() time.Duration { return time.Duration(w.ahead.Load()) }
	db := sqltx.New(pool, offset)
	st, cat := stock.New(client, offset), catalog.New(db)
	log := slog.New(slog.NewJSONHandler(&w.log, nil))
	ck := checkout.New(db, st, cat, log)
	w.deps = edge.Deps{DB: db, Stock: st, Catalog: cat, Checkout: ck, Reconcile: reconcile.New(db, st, cat, ck, nil, log),
		Claims: edge.Claims{UserID: "sub", Operator: "scope"}, Log: log}
	w.handler = NewOperateSales(w.deps)
	return w
}

// opsAnswer is what a call answered.
type opsAnswer struct {
	status int
	header map[string]string
	body   map[string]any
	text   string
}

// code is the problem's code; "" of an answer that is none.
func (a opsAnswer) code() string { code, _ := a.body["code"].(string); return code }

// pointers are the violations' pointers with their codes, "/title BAD_LENGTH".
func (a opsAnswer) pointers() []string {
	var out []string
	list, _ := a.body["errors"].([]any)
	for _, one := range list {
		v := one.(map[string]any)
		out = append(out, v["pointer"].(string)+" "+v["code"].(string))
	}
	return out
}

var operatorClaims = map[string]any{"sub": "ops-1", "scope": "operator"}

// call sends a request as an operator; headers are pairs of name and value.
func (w *opsWorld) call(method, path, body string, headers ...string) opsAnswer {
	w.t.Helper()
	return w.callAs(operatorClaims, method, path, body, headers...)
}

func (w *opsWorld) callAs(claims map[string]any, method, path, body string, headers ...string) opsAnswer {
	w.t.Helper()
	sent := map[string]string{"x-request-id": "r-" + method}
	if body != "" {
		sent["content-type"] = "application/json"
	}
	for i := 0; i+1 < len(headers); i += 2 {
		sent[strings.ToLower(headers[i])] = headers[i+1]
	}
	bare, query, _ := strings.Cut(path, "?")
	request := map[string]any{"version": "2.0", "rawPath": bare, "rawQueryString": query, "headers": sent, "body": body,
		"requestContext": map[string]any{"http": map[string]any{"method": method, "path": bare}}}
	if claims != nil {
		request["requestContext"].(map[string]any)["authorizer"] = map[string]any{"jwt": map[string]any{"claims": claims}}
	}
	return w.invoke(request)
}

func (w *opsWorld) invoke(request any) opsAnswer {
	w.t.Helper()
	payload, err := json.Marshal(request)
	if err != nil {
		w.t.Fatal(err)
	}
	reply, err := w.handler.Invoke(w.t.Context(), payload)
	if err != nil {
		w.t.Fatal(err)
	}
	var e envelope
	if err := json.Unmarshal(reply, &e); err != nil {
		w.t.Fatal(err)
	}
	answer := opsAnswer{status: e.StatusCode, header: e.Headers, text: e.Body}
	if e.Body != "" {
		if err := json.Unmarshal([]byte(e.Body), &answer.body); err != nil {
			w.t.Fatalf("%v: %s", err, e.Body)
		}
	}
	return answer
}

// must is call, and fails the test unless the answer has this status.
func (w *opsWorld) must(status int, method, path, body string, headers ...string) opsAnswer {
	w.t.Helper()
	answer := w.call(method, path, body, headers...)
	if answer.status != status {
		w.t.Fatalf("%s %s: %d %s, want %d", method, path, answer.status, answer.text, status)
	}
	return answer
}

// at is a path of the world's activity.
func (w *opsWorld) at(rest string) string { return "/ops/v1/activities/" + w.id + rest }

// draft is a body of creation, changed by the given members; a member nil is left out.
func (w *opsWorld) draft(changes map[string]any) string {
	body := map[string]any{"activityId": w.id, "kind": "TICKET", "title": "A concert", "opensAt": stamp(time.Now().Add(-time.Hour)),
		"closesAt": stamp(time.Now().Add(24 * time.Hour)), "perUserLimit": 4, "payWindowSeconds": 900, "currency": "CNY",
		"ticketTypes": []any{ticketBody(nil)}}
	return changed(body, changes)
}

func ticketBody(changes map[string]any) map[string]any {
	body := map[string]any{"ticketType": "STANDARD", "title": "Standard", "price": map[string]any{"amount": "12.50", "currency": "CNY"},
		"capacity": 10, "buckets": 3}
	maps.Copy(body, changes)
	return body
}

func changed(body, changes map[string]any) string {
	for name, v := range changes {
		if body[name] = v; v == nil {
			delete(body, name)
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// publish makes the world's activity and opens it.
func (w *opsWorld) publish(changes map[string]any) {
	w.t.Helper()
	w.must(201, "POST", "/ops/v1/activities", w.draft(changes))
	w.must(200, "POST", w.at("/publication"), "")
}

// activity reads the world's activity from the database.
func (w *opsWorld) activity() *sale.Activity {
	w.t.Helper()
	a, err := catalog.Get(w.t.Context(), w.deps.DB, w.id)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// open moves the clocks to a second after the world's activity opens.
func (w *opsWorld) open() {
	w.t.Helper()
	w.ahead.Store(int64(time.Until(w.activity().OpensAt) + time.Second))
}

// reserve takes units for a user in Redis; no order is made.
func (w *opsWorld) reserve(user, key string, quantity int) sale.Reservation {
	w.t.Helper()
	facts := w.activity().Facts()
	got, err := w.deps.Stock.Reserve(w.t.Context(), &facts, stock.ReserveRequest{OrderID: facts.OrderID(user, key), UserID: user,
		TicketType: "STANDARD", Quantity: quantity})
	if err != nil {
		w.t.Fatal(err)
	}
	return got.Reservation
}

// order makes an order of a user, all the way.
func (w *opsWorld) order(user, key string, quantity int) string {
	w.t.Helper()
	r := w.reserve(user, key, quantity)
	outcome, err := w.deps.Checkout.CreateOrders(w.t.Context(), []checkout.Message{{Reservation: r, MessageID: "m-" + key}})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(outcome.Live) != 1 {
		w.t.Fatalf("the reservation became %+v", outcome)
	}
	if err := w.deps.Checkout.Settle(w.t.Context(), outcome); err != nil {
		w.t.Fatal(err)
	}
	return r.OrderID.String()
}

// snapshot reads the counters in Redis.
func (w *opsWorld) snapshot() stock.Snapshot {
	w.t.Helper()
	facts := w.activity().Facts()
	s, err := stock.New(w.rdb, nil).Snapshot(w.t.Context(), &facts)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// audits lists the actions in the audit log about a subject, oldest first.
func (w *opsWorld) audits(subject string) []string {
	w.t.Helper()
	rows, err := w.deps.DB.QueryContext(w.t.Context(),
		`SELECT action, operator, request_id FROM audit_log WHERE subject = ? ORDER BY audit_id`, subject)
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var action, operator, requestID string
		if err := rows.Scan(&action, &operator, &requestID); err != nil {
			w.t.Fatal(err)
		}
		if operator != "ops-1" || !strings.HasPrefix(requestID, "r-") {
			w.t.Errorf("audit row of %q by %q in %q", action, operator, requestID)
		}
		out = append(out, action)
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// rows counts rows of a table.
func (w *opsWorld) rows(table string) (n int) {
	w.t.Helper()
	if err := w.deps.DB.QueryRowContext(w.t.Context(), `SELECT COUNT(*) FROM `+table).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

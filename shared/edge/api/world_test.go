package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"holdfast/shared/audit"
	"holdfast/shared/checkout"
	"holdfast/shared/edge"
	"holdfast/shared/edge/boot"
	"holdfast/shared/money"
	"holdfast/shared/sale"
	"holdfast/shared/sqltx"
	"holdfast/shared/testenv"
)

// world is a sale on real stores, each behind a proxy that can fail, with a queue that does what the test says.
type world struct {
	t     *testing.T
	d     edge.Deps
	queue *carrier
	redis *testenv.TCPProxy
	mysql *testenv.TCPProxy
	sure  *redis.Client // past the proxy, for looking
	log   *syncBuffer
}

// newWorld makes a world on the shared Redis.
func newWorld(t *testing.T) *world { return newWorldOn(t, testenv.RedisAddr(t)) }

func newWorldOn(t *testing.T, redisAddr string) *world {
	t.Helper()
	w := &world{t: t, queue: &carrier{}, redis: testenv.Proxy(t, redisAddr), sure: testenv.RedisClient(t, redisAddr), log: &syncBuffer{}}
	dsn, err := mysql.ParseDSN(testenv.MySQLDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	w.mysql = testenv.Proxy(t, dsn.Addr)
	dsn.Addr = w.mysql.Addr
	dsn.Timeout, dsn.ReadTimeout, dsn.WriteTimeout = 0, 0, 0 // those of production
	db, err := sqltx.Open(dsn.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(8)
	t.Cleanup(func() { db.Close() })
	options := boot.RedisOptions(w.redis.Addr)
	options.PoolSize = 32
	cache := redis.NewUniversalClient(options)
	t.Cleanup(func() { _ = cache.Close() })
	w.d = boot.Assemble(db, cache, nil, nil, slog.New(slog.NewJSONHandler(w.log, nil)))
	w.d.Orders = w.queue
	return w
}

// sale makes an activity that sells now, loaded. change may alter the draft.
func (w *world) sale(change ...func(*sale.Activity)) *sale.Activity {
	w.t.Helper()
	a := w.publish(change...)
	if err := w.d.Reconcile.Load(w.t.Context(), a.ID); err != nil {
		w.t.Fatal(err)
	}
	return a
}

// publish makes an activity that is PUBLISHED and not loaded.
func (w *world) publish(change ...func(*sale.Activity)) *sale.Activity {
	w.t.Helper()
	a := w.draft(change...)
	a, _, err := w.d.Catalog.Transition(w.t.Context(), a.ID, sale.Published, audit.Entry{Operator: "op", RequestID: "r"})
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func (w *world) draft(change ...func(*sale.Activity)) *sale.Activity {
	w.t.Helper()
	price, err := money.Parse("12.50", "CNY")
	if err != nil {
		w.t.Fatal(err)
	}
	now := time.Now()
	a := sale.Activity{ID: testenv.ActivityID(w.t), Kind: sale.Ticket, Mode: sale.Live, Title: "A sale", OpensAt: now.Add(-time.Hour),
		ClosesAt: now.Add(time.Hour), PerUserLimit: 4, PayWindow: 15 * time.Minute, Currency: "CNY",
		TicketTypes: []sale.TicketType{{ID: "STANDARD", Title: "Standard", Price: price, Capacity: 10, Buckets: 2}}}
	for _, c := range change {
		c(&a)
	}
	made, _, err := w.d.Catalog.Create(w.t.Context(), a, audit.Entry{Operator: "op", RequestID: "r"})
	if err != nil {
		w.t.Fatal(err)
	}
	return made
}

// left is how many units of STANDARD Redis has.
func (w *world) left(a *sale.Activity) int {
	w.t.Helper()
	f := a.Facts()
	s, err := w.d.Stock.Snapshot(w.t.Context(), &f)
	if err != nil {
		w.t.Fatal(err)
	}
	return s.Types["STANDARD"].Left
}

// pending is how many reservations wait for their order.
func (w *world) pending(a *sale.Activity) int {
	w.t.Helper()
	f := a.Facts()
	s, err := w.d.Stock.Snapshot(w.t.Context(), &f)
	if err != nil {
		w.t.Fatal(err)
	}
	return s.Pending
}

// rows counts rows of a table.
func (w *world) rows(table string) (n int) {
	w.t.Helper()
	if err := w.d.DB.QueryRowContext(w.t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// consume makes orders of everything in the queue, as create-orders does.
func (w *world) consume() {
	w.t.Helper()
	var batch []checkout.Message
	for _, r := range w.queue.take() {
		batch = append(batch, checkout.Message{Reservation: r, MessageID: "m"})
	}
	out, err := w.d.Checkout.CreateOrders(w.t.Context(), batch)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.d.Checkout.Settle(w.t.Context(), out); err != nil {
		w.t.Fatal(err)
	}
}

// carrier is the queue: it keeps what it accepted, and fails as it is told.
type carrier struct {
	mu       sync.Mutex
	messages []sale.Reservation
	attempts int
	fail     func(attempt int) string // "refuse", "hang", "lose-answer", or ""; attempts count from 1
}

var errRefused = errors.New("the queue refuses")

// Publish implements edge.Orders.
func (c *carrier) Publish(ctx context.Context, r sale.Reservation) error {
	c.mu.Lock()
	c.attempts++
	mode := ""
	if c.fail != nil {
		mode = c.fail(c.attempts)
	}
	if mode == "" || mode == "lose-answer" {
		c.messages = append(c.messages, r)
	}
	c.mu.Unlock()
	switch mode {
	case "refuse":
		return errRefused
	case "hang", "lose-answer":
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (c *carrier) set(fail func(int) string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail, c.attempts = fail, 0
}

// always makes every attempt fail this way.
func always(mode string) func(int) string { return func(int) string { return mode } }

func (c *carrier) take() []sale.Reservation {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.messages
	c.messages = nil
	return taken
}

func (c *carrier) count() (messages, attempts int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.messages), c.attempts
}

// ask is one request of a test.
type ask struct {
	user, key, body string
	method, path    string
	params, header  map[string]string
	query           string
	claims          map[string]any
}

// answer is what came back.
type answer struct {
	status int
	header map[string]string
	body   map[string]any
	text   string
	took   time.Duration
}

func (a answer) str(name string) string {
	s, _ := a.body[name].(string)
	return s
}

// call sends a request as payload 2.0.
func (w *world) call(h lambda.Handler, q ask) answer {
	w.t.Helper()
	header := map[string]string{}
	if q.key != "" {
		header["idempotency-key"] = q.key
	}
	if q.body != "" {
		header["content-type"] = "application/json"
	}
	for name, value := range q.header {
		header[strings.ToLower(name)] = value
	}
	event := map[string]any{"version": "2.0", "rawPath": q.path, "rawQueryString": q.query, "headers": header, "body": q.body,
		"pathParameters": q.params}
	claims := q.claims
	if claims == nil && q.user != "" {
		claims = map[string]any{"sub": q.user}
	}
	rc := map[string]any{"requestId": "r-1", "http": map[string]string{"method": q.method, "path": q.path}}
	if claims != nil {
		rc["authorizer"] = map[string]any{"jwt": map[string]any{"claims": claims}}
	}
	event["requestContext"] = rc
	payload, err := json.Marshal(event)
	if err != nil {
		w.t.Fatal(err)
	}
	return invoke(w.t, h, payload)
}

func invoke(t *testing.T, h lambda.Handler, payload []byte) answer {
	t.Helper()
	start := time.Now()
	out, err := h.Invoke(context.Background(), payload)
	if err != nil {
		t.Fatal(err)
	}
	got := answer{took: time.Since(start)}
	var e envelope
	if err := json.Unmarshal(out, &e); err != nil {
		t.Fatal(err)
	}
	got.status, got.header, got.text = e.StatusCode, e.Headers, e.Body
	if e.Body != "" {
		if err := json.Unmarshal([]byte(e.Body), &got.body); err != nil {
			t.Fatalf("%d %s: %v", e.StatusCode, e.Body, err)
		}
	}
	return got
}

// wish is a reservation of one user under one key.
func wish(a *sale.Activity, user, key, body string) ask {
	return ask{user: user, key: key, body: body, method: "POST", path: "/v1/activities/" + a.ID + "/reservations",
		params: map[string]string{"activityId": a.ID}}
}

const (
	one = `{"ticketType":"STANDARD","quantity":1}`
	two = `{"ticketType":"STANDARD","quantity":2}`
)

// seek is a GET of one order.
func seek(user, id string) ask {
	return ask{user: user, method: "GET", path: "/v1/orders/" + id, params: map[string]string{"orderId": id}}
}

// syncBuffer is the log of a test.
type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// expect checks status and code of an answer, and that a refusal is a problem and a retryable one says when.
func (w *world) expect(got answer, status int, code string) {
	w.t.Helper()
	if got.status != status || got.str("code") != code {
		w.t.Fatalf("answered %d %s, want %d %q", got.status, got.text, status, code)
	}
	if code == "" {
		return
	}
	if got.header["Content-Type"] != "application/problem+json" {
		w.t.Errorf("%s is %q", code, got.header["Content-Type"])
	}
	retryable, _ := got.body["retryable"].(bool)
	if _, says := got.body["retryAfterMs"]; says != retryable || retryable != (got.header["Retry-After"] != "") {
		w.t.Errorf("%s: retryable %v, body %s, header %v", code, retryable, got.text, got.header)
	}
}

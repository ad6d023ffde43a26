package faulty

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"holdfast/infra/local"
	"holdfast/infra/local/server"
	"holdfast/shared/sqltx"
	"holdfast/shared/stock"
	"holdfast/shared/testenv"
)

// stage is a whole stack whose stores can be broken: its Redis is this test's own process, and a proxy stands before each store.
type stage struct {
	t        *testing.T
	stack    *local.Stack
	http     *http.Client
	redis    *server.Process
	cache    *testenv.TCPProxy // between the stack and Redis
	database *testenv.TCPProxy // between the stack and MariaDB
	rows     *sql.DB           // straight to MariaDB
	keys     *redis.Client     // straight to Redis
	operator string

	mu     sync.Mutex
	tokens map[string]string
}

// newStage starts a stack on a database of its own.
func newStage(t *testing.T) *stage {
	t.Helper()
	return newStageOn(t, testenv.MySQLDSN(t))
}

// newStageOn starts a stack on the database that the DSN names.
func newStageOn(t *testing.T, dsn string) *stage {
	t.Helper()
	dsn = withProductionTimeouts(t, dsn)
	s := &stage{t: t, redis: testenv.OwnRedis(t), tokens: make(map[string]string)}
	s.keys = testenv.RedisClient(t, s.redis.Addr)
	var err error
	if s.rows, err = sqltx.Open(dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.rows.Close() })
	s.cache = testenv.Proxy(t, s.redis.Addr)
	var through string
	s.database, through = testenv.ProxyMySQL(t, dsn)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	s.http = &http.Client{Transport: transport, Timeout: 35 * time.Second}
	s.stack, err = local.Up(t.Context(), local.Options{DataDir: t.TempDir(), Redis: s.cache.Addr, MySQL: through, Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.cleanUp()
		s.stack.Close()
		transport.CloseIdleConnections()
	})
	s.operator = s.token("olga", "operator")
	return s
}

// cleanUp ends faults, so that what is in flight can end by itself.
func (s *stage) cleanUp() {
	s.cache.Delay(0)
	s.database.Delay(0)
	request, err := http.NewRequestWithContext(context.Background(), http.MethodDelete, s.stack.Addresses.API+"/local/faults", nil)
	if err != nil {
		return
	}
	if response, err := s.http.Do(request); err == nil {
		_ = response.Body.Close()
	}
}

// withProductionTimeouts takes the long timeouts of tests out of a DSN, so that the stack's own hold.
func withProductionTimeouts(t *testing.T, dsn string) string {
	t.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = 0, 0, 0
	return cfg.FormatDSN()
}

// answer is what came back over HTTP, and how long that took.
type answer struct {
	status int
	header http.Header
	took   time.Duration
	text   string
	body   struct {
		OrderID      string `json:"orderId"`
		Status       any    `json:"status"` // a word in an order, a number in a problem
		Reason       string `json:"reason"`
		Code         string `json:"code"`
		Retryable    bool   `json:"retryable"`
		RetryAfterMs int64  `json:"retryAfterMs"`
		Held         int    `json:"held"`
		Token        string `json:"token"`
	}
}

// state is the order's status, "" in a problem.
func (a answer) state() string {
	word, _ := a.body.Status.(string)
	return word
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, a.text) }

// ask sends a request; body nil sends none. It may be called by many goroutines: no answer at all is status 0.
func (s *stage) ask(method, path, token, key string, body any) answer {
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	if key != "" {
		header.Set("Idempotency-Key", key)
	}
	return s.askWith(method, path, header, body)
}

// askWith is ask with any header.
func (s *stage) askWith(method, path string, header http.Header, body any) answer {
	text, err := json.Marshal(body)
	if err != nil {
		return answer{text: err.Error()}
	}
	if body == nil {
		text = nil
	}
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.stack.Addresses.API+path, bytes.NewReader(text))
	if err != nil {
		return answer{text: err.Error()}
	}
	request.Header = header
	request.Header.Set("Content-Type", "application/json")
	began := time.Now()
	response, err := s.http.Do(request)
	if err != nil {
		return answer{text: err.Error(), took: time.Since(began)}
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	a := answer{status: response.StatusCode, header: response.Header, took: time.Since(began), text: string(got)}
	if err == nil {
		_ = json.Unmarshal(got, &a.body) // what is not JSON fails by its status
	}
	return a
}

// must is ask for what has to succeed.
func (s *stage) must(method, path, token string, body any) answer {
	s.t.Helper()
	a := s.ask(method, path, token, "", body)
	if a.status < 200 || a.status > 299 {
		s.t.Fatalf("%s %s: %v", method, path, a)
	}
	return a
}

// token gives a user's bearer token, by the stack's clock of now.
func (s *stage) token(user string, scopes ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token := s.tokens[user]; token != "" {
		return token
	}
	a := s.ask("POST", "/local/tokens", "", "", map[string]any{"sub": user, "scopes": scopes})
	if a.body.Token == "" {
		s.t.Errorf("no token for %s: %v", user, a)
	}
	s.tokens[user] = a.body.Token
	return a.body.Token
}

// advance moves the stack's clock; schedules that are due by then begin to run.
func (s *stage) advance(by time.Duration) {
	s.t.Helper()
	s.must("POST", "/local/clock", "", map[string]string{"advance": by.String()})
}

// compensate runs the minute pass of repair, beside those that the clock starts. It may fail while a store is away.
func (s *stage) compensate() answer {
	return s.ask("POST", "/local/schedules/compensate-orders", "", "", nil)
}

// pauseConsumer stops or resumes delivery to create-orders.
func (s *stage) pauseConsumer(paused bool) {
	s.t.Helper()
	s.must("POST", "/local/queues/orders", "", map[string]bool{"paused": paused})
}

// depth counts the messages in the orders queue.
type depth struct{ Visible, InFlight, Delayed int }

func (s *stage) depth() (d depth) {
	s.t.Helper()
	s.control("/local/queues/orders", &d)
	return d
}

// queueDepth counts them wherever they are there.
func (s *stage) queueDepth() int {
	s.t.Helper()
	d := s.depth()
	return d.Visible + d.InFlight + d.Delayed
}

// control gets what a control of the stack tells.
func (s *stage) control(path string, into any) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.must("GET", path, "", nil).text), into); err != nil {
		s.t.Fatal(err)
	}
}

// fault switches a fault on, in place of an earlier one at the same point.
func (s *stage) fault(point, mode string, every int) {
	s.t.Helper()
	s.must("POST", "/local/faults", "", map[string]any{"point": point, "mode": mode, "every": every})
}

// activeFaults are the faults that are on.
type activeFaults struct {
	Active []struct {
		Point string `json:"point"`
		Mode  string `json:"mode"`
		Hits  int    `json:"hits"`
	} `json:"active"`
}

// hits is how often the fault at a point has struck.
func (s *stage) hits(point string) int {
	s.t.Helper()
	var on activeFaults
	s.control("/local/faults", &on)
	for _, f := range on.Active {
		if f.Point == point {
			return f.Hits
		}
	}
	return 0
}

// endFaults switches all faults off and demands that each of them has struck.
func (s *stage) endFaults() {
	s.t.Helper()
	var on activeFaults
	s.control("/local/faults", &on)
	if len(on.Active) == 0 {
		s.t.Error("no fault was on")
	}
	for _, f := range on.Active {
		if f.Hits == 0 {
			s.t.Errorf("the fault %s at %s never struck", f.Mode, f.Point)
		}
	}
	s.must("DELETE", "/local/faults", "", nil)
}

// offset is how far the stack's clock is ahead.
func (s *stage) offset() time.Duration {
	s.t.Helper()
	var clock struct{ Now time.Time }
	s.control("/local/clock", &clock)
	return max(0, time.Until(clock.Now))
}

// store reads Redis past the proxy, by the stack's clock.
func (s *stage) store() *stock.Store {
	s.t.Helper()
	offset := s.offset()
	return stock.New(s.keys, func() time.Duration { return offset })
}

// count is the number that a query gives.
func (s *stage) count(query string, args ...any) int {
	s.t.Helper()
	var n int
	if err := s.rows.QueryRowContext(s.t.Context(), query, args...).Scan(&n); err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// patience is how long what happens by itself is waited for; a busy machine needs some of it.
const patience = time.Minute

// eventually waits until a condition holds, and fails the test with what it said last.
func (s *stage) eventually(what string, holds func() (bool, string)) {
	s.t.Helper()
	said := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var ok bool
		if ok, said = holds(); ok {
			return
		}
	}
	s.t.Fatalf("it never came true that %s: %s", what, said)
}

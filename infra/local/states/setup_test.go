package states_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"holdfast/infra/local/sqs"
	"holdfast/infra/local/states"
)

// definition reads the file that is deployed and fills in the functions; ending makes their names a test's own.
func definition(t *testing.T, ending string) []byte {
	t.Helper()
	text, err := os.ReadFile("../../workflows/deposit.asl.json")
	if err != nil {
		t.Fatal(err)
	}
	arn := "arn:aws:lambda:us-east-1:123456789012:function:"
	return []byte(strings.NewReplacer("${InvokeFunction}", "arn:aws:states:::lambda:invoke", "${RemindDepositFunctionArn}", arn+"remind-deposit"+ending,
		"${SettleDepositFunctionArn}", arn+"settle-deposit"+ending,
		"${RecordWorkflowFailureFunctionArn}", arn+"record-workflow-failure"+ending).Replace(string(text)))
}

// short makes the retries and the bound of the file's loop short enough to be seen in real time.
func short(t *testing.T, text []byte) []byte {
	t.Helper()
	var d map[string]any
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	for _, s := range d["States"].(map[string]any) {
		retriers, _ := s.(map[string]any)["Retry"].([]any)
		for _, r := range retriers {
			r := r.(map[string]any)
			r["IntervalSeconds"], r["MaxDelaySeconds"], r["MaxAttempts"] = 1, 2, 2
		}
	}
	out, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(out, []byte(`"NumericLessThan":100`)) {
		t.Fatal("the bound of the loop is not where it was")
	}
	return bytes.ReplaceAll(out, []byte(`"NumericLessThan":100`), []byte(`"NumericLessThan":3`))
}

// script stands in for the functions: it gives the answers that a test laid down, one after the other and the last one for ever, and
// notes what was called.
type script struct {
	mu      sync.Mutex
	answers map[string][]any // JSON values, or one of the two below
	calls   []string
	events  map[string][]map[string]any
	at      []time.Time
}

// What a script can answer besides a value.
type (
	functionFails struct{ message string }
	isThrottled   struct{}
)

func (f functionFails) Error() string { return f.message }

func newScript(answers map[string][]any) *script {
	return &script{answers: answers, events: map[string][]map[string]any{}}
}

// next takes the answer to a call of a function; one that is throttled has not run.
func (s *script) next(function string, payload []byte) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.answers[function]
	if len(list) == 0 {
		return functionFails{"nobody expected " + function}
	}
	if len(list) > 1 {
		s.answers[function] = list[1:]
	}
	if list[0] == (isThrottled{}) {
		return list[0]
	}
	var event map[string]any
	if err := json.Unmarshal(payload, &event); err != nil {
		return functionFails{err.Error()}
	}
	s.calls = append(s.calls, function)
	s.events[function] = append(s.events[function], event)
	s.at = append(s.at, time.Now())
	return list[0]
}

func (s *script) called() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.calls, " ")
}

func (s *script) event(function string, n int) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.events[function]) <= n {
		return nil
	}
	return s.events[function][n]
}

// Invoke implements states.Functions.
func (s *script) Invoke(_ context.Context, function string, payload []byte) ([]byte, error) {
	switch answer := s.next(function, payload).(type) {
	case functionFails:
		return nil, answer
	default:
		return json.Marshal(answer)
	}
}

// Next implements sqs.Faults: a task whose turn it is to be throttled is refused.
func (s *script) Next(point string) sqs.Mode {
	s.mu.Lock()
	defer s.mu.Unlock()
	if point != states.PointTask {
		return sqs.None
	}
	for function, list := range s.answers {
		if len(list) > 0 && list[0] == (isThrottled{}) {
			s.answers[function] = list[1:]
			return sqs.Refuse
		}
	}
	return sqs.None
}

// newClient returns an SDK client as functions use it: one attempt.
func newClient(endpoint string) *sfn.Client {
	return sfn.New(sfn.Options{BaseEndpoint: aws.String(endpoint), Region: "us-east-1", Retryer: aws.NopRetryer{},
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")})
}

// serve puts a machine behind a URL, and ends both with the test.
func serve(t *testing.T, o states.Options) (*states.Machine, *sfn.Client) {
	t.Helper()
	m, err := states.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(m)
	t.Cleanup(func() {
		server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := m.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return m, newClient(server.URL)
}

// clock is the machine's clock and what it is ahead by.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clock) move(m *states.Machine, by time.Duration) {
	c.mu.Lock()
	c.ahead += by
	c.mu.Unlock()
	m.Wake()
}

const instant = "2006-01-02T15:04:05Z"

func inputOf(remindAt, deadline time.Time) string {
	return fmt.Sprintf(`{"orderId":"o1","remindAt":%q,"deadline":%q,"turns":0}`, remindAt.UTC().Format(instant), deadline.UTC().Format(instant))
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a minute still not: %s", what)
		}
	}
}

// answered writes what a router answers as Lambda's API does.
func answered(w http.ResponseWriter, answer any) {
	w.Header().Set("X-Amzn-Requestid", "00000000-0000-0000-0000-000000000000") // without it moto fails
	status := http.StatusOK
	switch said := answer.(type) {
	case isThrottled:
		w.Header().Set("X-Amzn-Errortype", "TooManyRequestsException")
		status, answer = http.StatusTooManyRequests, map[string]string{"Type": "User", "message": "Rate Exceeded.", "Reason": "CallerRateLimitExceeded"}
	case functionFails:
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		answer = map[string]string{"errorMessage": said.message, "errorType": "functionFails"}
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

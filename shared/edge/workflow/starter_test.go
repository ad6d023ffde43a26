package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"holdfast/infra/local/sqs"
	"holdfast/infra/local/states"
	"holdfast/infra/workflows"
	"holdfast/shared/deposit"
	"holdfast/shared/edge/boot"
	"holdfast/shared/edge/workflow"
	"holdfast/shared/sale"
)

// machine is a state machine that runs the deployed file, with steps that only note that they were called.
type machine struct {
	*states.Machine
	starter *workflow.Starter

	mu     sync.Mutex
	ahead  time.Duration
	calls  []string
	starts sqs.Mode

	handlers map[string]lambda.Handler // real steps, where a test wants them
}

func newMachine(t testing.TB) *machine {
	t.Helper()
	m := &machine{}
	definition := workflows.Deposit(func(function string) string { return "arn:aws:lambda:us-east-1:000000000000:function:" + function })
	var err error
	m.Machine, err = states.New(states.Options{Name: "deposits", Definition: definition, Functions: m, Now: m.now, Faults: m})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(m.Machine)
	t.Cleanup(func() {
		server.Close()
		if err := m.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	m.starter = workflow.NewStarter(boot.LocalStates(server.URL), m.ARN(), m.now)
	return m
}

func (m *machine) offset() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ahead
}

func (m *machine) now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Now().Add(m.ahead)
}

func (m *machine) move(by time.Duration) {
	m.mu.Lock()
	m.ahead += by
	m.mu.Unlock()
	m.Wake()
}

// Invoke implements states.Functions.
func (m *machine) Invoke(ctx context.Context, function string, payload []byte) ([]byte, error) {
	m.mu.Lock()
	m.calls = append(m.calls, function)
	handler := m.handlers[function]
	m.mu.Unlock()
	if handler != nil {
		return handler.Invoke(ctx, payload)
	}
	return []byte(`{"status":"SETTLED","seconds":0}`), nil
}

// Next implements sqs.Faults.
func (m *machine) Next(point string) sqs.Mode {
	m.mu.Lock()
	defer m.mu.Unlock()
	if point == states.PointStart {
		return m.starts
	}
	return sqs.None
}

func (m *machine) called() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.calls, " ")
}

func (m *machine) ended(t testing.TB, id sale.OrderID) states.Execution {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if e, found := m.Execution(id.String()); found && e.Status != states.Running {
			return e
		}
		if time.Now().After(end) {
			t.Fatalf("the execution of %s has not ended", id)
		}
	}
}

// orderID is an order's id, another for each n.
func orderID(n byte) sale.OrderID {
	return sale.NewOrderID(1_700_000_000_000, []byte("salt"), "user", string([]byte{'k', n}))
}

func TestADepositHasOneTimerHoweverOftenItIsStarted(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	deadline := m.now().Add(48 * time.Hour)
	// The same instants, as three writers may hold them.
	same := []deposit.Execution{
		{OrderID: orderID(1), RemindAt: deadline.Add(-time.Hour).Truncate(time.Second), Deadline: deadline.Truncate(time.Second)},
		{OrderID: orderID(1), RemindAt: deadline.Add(-time.Hour).Truncate(time.Second).UTC(), Deadline: deadline.Truncate(time.Second).In(time.FixedZone("", 8*3600))},
		{OrderID: orderID(1), RemindAt: deadline.Add(-time.Hour).Truncate(time.Second).Round(0), Deadline: deadline.Truncate(time.Second).Round(0)},
	}
	var all sync.WaitGroup
	for _, e := range same {
		all.Go(func() {
			if err := m.starter.StartDeposit(t.Context(), e); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	moved := same[0]
	moved.Deadline = moved.Deadline.Add(time.Hour)
	if err := m.starter.StartDeposit(t.Context(), moved); err != nil {
		t.Errorf("another input while it runs: %v", err)
	}
	m.move(49 * time.Hour)
	if e := m.ended(t, orderID(1)); e.Status != states.Succeeded {
		t.Errorf("%+v", e)
	}
	for _, e := range append(same, moved) {
		if err := m.starter.StartDeposit(t.Context(), e); err != nil {
			t.Errorf("after its end: %v", err)
		}
	}
	if n, calls := len(m.Executions()), m.called(); n != 1 || calls != "remind-deposit settle-deposit" {
		t.Errorf("%d executions called %q", n, calls)
	}
}

func TestInstantsAreWrittenInWholeSecondsOfUTC(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	second := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	m.move(time.Until(second.Add(-time.Hour)))
	for n, c := range []struct {
		at   time.Time
		want string
	}{
		{second, "2031-02-03T04:05:06Z"},
		{second.Add(time.Nanosecond), "2031-02-03T04:05:07Z"}, // nobody is woken before the instant
		{second.Add(999_999_999), "2031-02-03T04:05:07Z"},
		{second.In(time.FixedZone("", 8*3600)), "2031-02-03T04:05:06Z"},
	} {
		id := orderID(byte(n))
		if err := m.starter.StartDeposit(t.Context(), deposit.Execution{OrderID: id, RemindAt: c.at, Deadline: c.at}); err != nil {
			t.Fatal(err)
		}
		e, _ := m.Execution(id.String())
		want := `{"orderId":"` + id.String() + `","remindAt":"` + c.want + `","deadline":"` + c.want + `","turns":0}`
		if e.Input != want || !json.Valid([]byte(e.Input)) {
			t.Errorf("%v: %s, want %s", c.at, e.Input, want)
		}
		if e.Status == states.Failed {
			t.Errorf("%v: %+v", c.at, e)
		}
	}
}

func TestInstantsThatHavePassedFireAtOnceAndThoseToComeInTime(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for n, until := range []time.Duration{-48 * time.Hour, 0, time.Second} {
		id, now := orderID(byte(n)), m.now()
		if err := m.starter.StartDeposit(t.Context(), deposit.Execution{OrderID: id, RemindAt: now, Deadline: now.Add(until)}); err != nil {
			t.Fatal(err)
		}
		if e := m.ended(t, id); e.Status != states.Succeeded || e.Entered != 7 || until > 0 && e.StoppedAt.Before(now.Add(until)) {
			t.Errorf("%v: %+v", until, e)
		}
	}
}

func TestADeadlineBeyondAYearIsLeftToTheMinutePass(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	far := deposit.Execution{OrderID: orderID(1), RemindAt: m.now(), Deadline: m.now().Add(400 * 24 * time.Hour)}
	if err := m.starter.StartDeposit(t.Context(), far); !errors.Is(err, workflow.ErrTooFar) {
		t.Errorf("%v, want ErrTooFar", err)
	}
	near := deposit.Execution{OrderID: orderID(2), RemindAt: m.now(), Deadline: m.now().Add(360 * 24 * time.Hour)}
	if err := m.starter.Start(t.Context(), []deposit.Execution{far, near}); err != nil {
		t.Errorf("a far deadline is no failure of a batch: %v", err)
	}
	if list := m.Executions(); len(list) != 1 || list[0].Name != near.OrderID.String() {
		t.Errorf("%+v", list)
	}
}

func TestABatchIsStartedWhole(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	list := make([]deposit.Execution, 100)
	for i := range list {
		list[i] = deposit.Execution{OrderID: orderID(byte(i)), RemindAt: m.now().Add(time.Hour), Deadline: m.now().Add(time.Hour)}
	}
	if err := m.starter.Start(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	if n := len(m.Executions()); n != len(list) {
		t.Errorf("%d executions", n)
	}
}

func TestAServiceThatDoesNotStartHoldsABatchUpForABoundedTimeAndIsReported(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		mode sqs.Mode
		says string
	}{{"throttles", sqs.Refuse, "ThrottlingException"}, {"never answers", sqs.Hang, "deadline exceeded"}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.starts = c.mode
			list := make([]deposit.Execution, 40)
			for i := range list {
				list[i] = deposit.Execution{OrderID: orderID(byte(i)), RemindAt: m.now(), Deadline: m.now()}
			}
			began := time.Now()
			err := m.starter.Start(t.Context(), list)
			if err == nil || !strings.Contains(err.Error(), "40 of 40") || !strings.Contains(err.Error(), c.says) {
				t.Errorf("it is reported as %v", err)
			}
			if took := time.Since(began); took > 9*time.Second { // three times what the code allows itself
				t.Errorf("it took %v", took)
			}
		})
	}
}

func TestANameFromAnyOrderIDIsLegal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for n := range byte(50) {
		id := orderID(n)
		if n < 2 {
			for i := range id {
				id[i] = 255 * n
			}
		}
		if err := m.starter.StartDeposit(t.Context(), deposit.Execution{OrderID: id, RemindAt: m.now().Add(time.Hour), Deadline: m.now().Add(time.Hour)}); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}

package states_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"holdfast/infra/local/states"
)

// stage is one state machine on one service, with the script of its functions.
type stage struct {
	*testing.T
	client  *sfn.Client
	machine string
	script  *script
	isMoto  bool
}

// TestOursAndMotoRunTheFileAlike runs one table, written against the SDK's client, on this package's interpreter and on moto's, both in
// real time and on the file that is deployed; only its retries and its bound are made short.
func TestOursAndMotoRunTheFileAlike(t *testing.T) {
	t.Parallel()
	for _, service := range []string{"ours", "moto"} {
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			for _, c := range conformance {
				t.Run(c.outcome, func(t *testing.T) {
					t.Parallel()
					c.run(newStage(t, service, c.answers))
				})
			}
		})
	}
}

func newStage(t *testing.T, service string, answers map[string][]any) *stage {
	t.Helper()
	own := make(map[string][]any, len(answers))
	for function, list := range answers {
		own[function] = append([]any(nil), list...)
	}
	s := newScript(own)
	if service == "ours" {
		m, client := serve(t, states.Options{Name: "deposits", Definition: short(t, definition(t, "")), Functions: s, Faults: s})
		return &stage{T: t, client: client, machine: m.ARN(), script: s}
	}
	raw := make([]byte, 6)
	_, _ = rand.Read(raw)
	ending := "_" + hex.EncodeToString(raw)
	client := newClient(motoEndpoint(t, ending, s))
	made, err := client.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{Name: aws.String("deposits" + ending),
		Definition: aws.String(string(short(t, definition(t, ending)))), RoleArn: aws.String("arn:aws:iam::123456789012:role/any")})
	if err != nil {
		t.Fatal(err)
	}
	return &stage{T: t, client: client, machine: *made.StateMachineArn, script: s, isMoto: true}
}

func (s *stage) start(name, input string) (string, error) {
	out, err := s.client.StartExecution(context.Background(), &sfn.StartExecutionInput{StateMachineArn: &s.machine, Name: &name, Input: &input})
	if err != nil {
		return "", err
	}
	return *out.ExecutionArn, nil
}

func (s *stage) started(name, input string) string {
	s.Helper()
	arn, err := s.start(name, input)
	if err != nil {
		s.Fatal(err)
	}
	return arn
}

func (s *stage) look(arn string) *sfn.DescribeExecutionOutput {
	s.Helper()
	out, err := s.client.DescribeExecution(context.Background(), &sfn.DescribeExecutionInput{ExecutionArn: &arn})
	if err != nil {
		s.Fatal(err)
	}
	return out
}

// ended waits for the execution's end.
func (s *stage) ended(arn string) *sfn.DescribeExecutionOutput {
	s.Helper()
	var out *sfn.DescribeExecutionOutput
	eventually(s.T, "the execution ends", func() bool {
		time.Sleep(20 * time.Millisecond)
		out = s.look(arn)
		return out.Status != types.ExecutionStatusRunning
	})
	return out
}

func (s *stage) wantCalls(want string) {
	s.Helper()
	if got := s.script.called(); got != want {
		s.Errorf("called %q, want %q", got, want)
	}
}

var (
	reminded = map[string]any{"status": "REMINDED", "seconds": 0}
	settled  = map[string]any{"status": "SETTLED", "seconds": 0}
	done     = map[string]any{"status": "DONE", "seconds": 0}
	notDue   = map[string]any{"status": "NOT_DUE", "seconds": 1}
	recorded = map[string]any{"status": "RECORDED", "seconds": 0}
	long     = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) // long ago
)

var conformance = []struct {
	outcome string
	answers map[string][]any
	run     func(s *stage)
}{
	{"instants that have passed fire at once", map[string][]any{"remind-deposit": {reminded}, "settle-deposit": {settled}}, pastFiresAtOnce},
	{"instants to come are waited for", map[string][]any{"remind-deposit": {reminded}, "settle-deposit": {settled}}, waitsForInstants},
	{"a deposit that is no longer frozen ends at its reminder", map[string][]any{"remind-deposit": {done}}, doneEnds},
	{"a settlement that comes too early is made again", map[string][]any{"remind-deposit": {reminded}, "settle-deposit": {notDue, notDue, settled}}, notDueLoops},
	{"too many turns end the execution without a failure", map[string][]any{"remind-deposit": {reminded}, "settle-deposit": {notDue}}, turnsAreBounded},
	{"a throttled function is called again", map[string][]any{"remind-deposit": {isThrottled{}, reminded}, "settle-deposit": {settled}}, throttledIsRetried},
	{"a function that fails twice and then works is no failure", map[string][]any{"remind-deposit": {reminded},
		"settle-deposit": {functionFails{"the database is away"}, functionFails{"the database is away"}, settled}}, failingIsRetried},
	{"what stays impossible is recorded, and the execution fails", map[string][]any{"remind-deposit": {reminded},
		"settle-deposit": {functionFails{"the database is away"}}, "record-workflow-failure": {recorded}}, failureIsRecorded},
	{"a failure that cannot be recorded fails the execution all the same", map[string][]any{"remind-deposit": {functionFails{"away"}},
		"record-workflow-failure": {functionFails{"away"}}}, recordingFails},
	{"the same name and input while it runs is the same execution, another input is refused", map[string][]any{"remind-deposit": {done}}, namesAreUsedOnce},
	{"a stopped execution does nothing more", map[string][]any{"remind-deposit": {reminded}, "settle-deposit": {settled}}, stoppedIsOver},
	{"executions and machines that are not there are named as such", nil, unknownOnes},
}

func pastFiresAtOnce(s *stage) {
	arn := s.started("o1", inputOf(long, long.Add(time.Hour)))
	if out := s.ended(arn); out.Status != types.ExecutionStatusSucceeded {
		s.Errorf("%+v", out)
	}
	s.wantCalls("remind-deposit settle-deposit")
	if e := s.script.event("remind-deposit", 0); len(e) != 1 || e["orderId"] != "o1" {
		s.Errorf("remind-deposit got %v", e)
	}
	settle := s.script.event("settle-deposit", 0)
	startedAt, _ := settle["startedAt"].(string)
	if at, err := time.Parse(time.RFC3339, startedAt); settle["orderId"] != "o1" || err != nil || time.Since(at).Abs() > time.Minute {
		s.Errorf("settle-deposit got %v", settle)
	}
}

func waitsForInstants(s *stage) {
	now := time.Now()
	remindAt, deadline := now.Add(4*time.Second).Truncate(time.Second), now.Add(7*time.Second).Truncate(time.Second)
	if out := s.ended(s.started("o1", inputOf(remindAt, deadline))); out.Status != types.ExecutionStatusSucceeded {
		s.Errorf("%+v", out)
	}
	s.wantCalls("remind-deposit settle-deposit")
	early := time.Duration(0)
	if s.isMoto {
		early = 2 * time.Second // it cuts off fractions of the instant and of the time that is left
	}
	for i, due := range []time.Time{remindAt, deadline} {
		if at := s.script.at[i]; at.Before(due.Add(-early)) {
			s.Errorf("call %d came %v early", i+1, due.Sub(at))
		}
	}
}

func doneEnds(s *stage) {
	if out := s.ended(s.started("o1", inputOf(long, time.Now().Add(time.Hour)))); out.Status != types.ExecutionStatusSucceeded {
		s.Errorf("%+v", out)
	}
	s.wantCalls("remind-deposit")
}

func notDueLoops(s *stage) {
	began := time.Now()
	if out := s.ended(s.started("o1", inputOf(long, long))); out.Status != types.ExecutionStatusSucceeded {
		s.Errorf("%+v", out)
	}
	s.wantCalls("remind-deposit settle-deposit settle-deposit settle-deposit")
	if took := time.Since(began); took < 2*time.Second {
		s.Errorf("two waits of a second took %v", took)
	}
}

func turnsAreBounded(s *stage) {
	if out := s.ended(s.started("o1", inputOf(long, long))); out.Status != types.ExecutionStatusSucceeded {
		s.Errorf("%+v", out)
	}
	s.wantCalls("remind-deposit" + strings.Repeat(" settle-deposit", 4)) // the first and three more
}

func throttledIsRetried(s *stage) {
	if out := s.ended(s.started("o1", inputOf(long, long))); out.Status != types.ExecutionStatusSucceeded {
		s.Errorf("%+v", out)
	}
	s.wantCalls("remind-deposit settle-deposit")
}

func failingIsRetried(s *stage) {
	if out := s.ended(s.started("o1", inputOf(long, long))); out.Status != types.ExecutionStatusSucceeded {
		s.Errorf("%+v", out)
	}
	s.wantCalls("remind-deposit settle-deposit settle-deposit settle-deposit")
}

func failureIsRecorded(s *stage) {
	out := s.ended(s.started("o1", inputOf(long, long)))
	if out.Status != types.ExecutionStatusFailed || aws.ToString(out.Error) != "DepositWorkflowFailed" {
		s.Errorf("%+v", out)
	}
	s.wantCalls("remind-deposit settle-deposit settle-deposit settle-deposit record-workflow-failure")
	e := s.script.event("record-workflow-failure", 0)
	cause, _ := e["cause"].(string)
	if e["orderId"] != "o1" || e["execution"] != "o1" || e["error"] != "functionFails" || !strings.Contains(cause, "the database is away") {
		s.Errorf("record-workflow-failure got %v", e)
	}
}

func recordingFails(s *stage) {
	out := s.ended(s.started("o1", inputOf(long, long)))
	if out.Status != types.ExecutionStatusFailed || aws.ToString(out.Error) != "DepositWorkflowFailed" {
		s.Errorf("%+v", out)
	}
	s.wantCalls("remind-deposit remind-deposit remind-deposit" + strings.Repeat(" record-workflow-failure", 3))
}

func namesAreUsedOnce(s *stage) {
	input := inputOf(time.Now().Add(time.Hour), time.Now().Add(2*time.Hour))
	first := s.started("0000-same", input)
	for range 2 {
		if again := s.started("0000-same", input); again != first {
			s.Errorf("%s, then %s", first, again)
		}
	}
	_, err := s.start("0000-same", inputOf(long, long))
	if exists := (*types.ExecutionAlreadyExists)(nil); !errors.As(err, &exists) {
		s.Errorf("another input: %v", err)
	}
}

func stoppedIsOver(s *stage) {
	due := time.Now().Add(8 * time.Second)
	arn := s.started("o1", inputOf(due, due.Add(time.Second)))
	eventually(s.T, "the execution is stopped", func() bool {
		_, err := s.client.StopExecution(s.Context(), &sfn.StopExecutionInput{ExecutionArn: &arn, Cause: aws.String("a test")})
		if err != nil && !s.isMoto { // which cannot stop one that it has not begun yet
			s.Fatal(err)
		}
		return err == nil
	})
	if out := s.ended(arn); out.Status != types.ExecutionStatusAborted {
		s.Errorf("%+v", out)
	}
	time.Sleep(time.Until(due.Add(2 * time.Second)))
	s.wantCalls("")
}

func unknownOnes(s *stage) {
	arn := strings.Replace(s.machine, "stateMachine", "execution", 1) + ":nobody"
	_, err := s.client.DescribeExecution(s.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &arn})
	if missing := (*types.ExecutionDoesNotExist)(nil); !errors.As(err, &missing) {
		s.Errorf("execution: %v", err)
	}
	_, err = s.client.StartExecution(s.Context(), &sfn.StartExecutionInput{StateMachineArn: aws.String(s.machine + "x"), Name: aws.String("a"), Input: aws.String("{}")})
	if missing := (*types.StateMachineDoesNotExist)(nil); !errors.As(err, &missing) {
		s.Errorf("machine: %v", fmt.Sprint(err))
	}
}

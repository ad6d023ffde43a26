package states_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"holdfast/infra/local/sqs"
	"holdfast/infra/local/states"
)

// local is the machine of the deployed file on a clock that a test moves.
type local struct {
	*testing.T
	m      *states.Machine
	client *sfn.Client
	script *script
	clock  *clock
}

func newLocal(t *testing.T, answers map[string][]any, faults sqs.Faults) *local {
	t.Helper()
	l := &local{T: t, script: newScript(answers), clock: &clock{}}
	l.m, l.client = serve(t, states.Options{Name: "deposits", Definition: definition(t, ""), Functions: l.script, Now: l.clock.Now, Faults: faults})
	return l
}

func (l *local) start(name, input string) error {
	_, err := l.client.StartExecution(context.Background(), &sfn.StartExecutionInput{StateMachineArn: aws.String(l.m.ARN()), Name: &name, Input: &input})
	return err
}

func (l *local) execution(name string) states.Execution {
	l.Helper()
	e, found := l.m.Execution(name)
	if !found {
		l.Fatalf("there is no execution %s", name)
	}
	return e
}

func (l *local) status(name, want string) {
	l.Helper()
	eventually(l.T, name+" is "+want, func() bool { return l.execution(name).Status == want })
}

// waiting waits until the execution waits in a state.
func (l *local) waiting(name, state string) states.Execution {
	l.Helper()
	var e states.Execution
	eventually(l.T, name+" waits in "+state, func() bool {
		e = l.execution(name)
		return e.State == state && e.WaitsTill != nil
	})
	return e
}

func TestTwoDaysPassWhenTheClockIsMoved(t *testing.T) {
	t.Parallel()
	l := newLocal(t, map[string][]any{"remind-deposit": {reminded}, "settle-deposit": {settled}}, nil)
	deadline := l.clock.Now().Add(48 * time.Hour).Truncate(time.Second)
	if err := l.start("o1", inputOf(deadline.Add(-6*time.Hour), deadline)); err != nil {
		t.Fatal(err)
	}
	l.waiting("o1", "WaitForReminder")
	l.clock.move(l.m, 41*time.Hour)
	if e := l.waiting("o1", "WaitForReminder"); l.script.called() != "" || !e.WaitsTill.Equal(deadline.Add(-6*time.Hour)) {
		t.Errorf("an hour before the reminder: %+v, called %q", e, l.script.called())
	}
	l.clock.move(l.m, 2*time.Hour)
	l.waiting("o1", "WaitForDeadline")
	l.clock.move(l.m, 6*time.Hour)
	l.status("o1", states.Succeeded)
	if got := l.script.called(); got != "remind-deposit settle-deposit" {
		t.Errorf("called %q", got)
	}
	if e := l.execution("o1"); e.Entered != 7 || e.Retries != 0 || e.StoppedAt == nil || e.Output == "" {
		t.Errorf("%+v: a deposit costs seven transitions", e)
	}
}

func TestAHundredTurnsEndTheExecution(t *testing.T) {
	t.Parallel()
	l := newLocal(t, map[string][]any{"remind-deposit": {reminded}, "settle-deposit": {map[string]any{"status": "NOT_DUE", "seconds": 86_400}}}, nil)
	if err := l.start("o1", inputOf(long, long)); err != nil {
		t.Fatal(err)
	}
	for turn := 0; turn < 100; turn++ {
		eventually(t, "the next turn waits", func() bool {
			return strings.Count(l.script.called(), "settle-deposit") == turn+1 && l.execution("o1").WaitsTill != nil
		})
		l.clock.move(l.m, 24*time.Hour)
	}
	l.status("o1", states.Succeeded)
	if got := strings.Count(l.script.called(), "settle-deposit"); got != 101 {
		t.Errorf("settled %d times, want the first and a hundred turns", got)
	}
}

func TestANameIsUsedOnce(t *testing.T) {
	t.Parallel()
	l := newLocal(t, map[string][]any{"remind-deposit": {done}}, nil)
	input := inputOf(l.clock.Now().Add(time.Hour), l.clock.Now().Add(2*time.Hour))
	reordered := strings.Replace(input, `"orderId":"o1",`, "", 1)
	reordered = strings.TrimSuffix(reordered, "}") + `,"orderId":"o1"}`
	exists := (*types.ExecutionAlreadyExists)(nil)
	for range 2 {
		if err := l.start("o1", input); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.start("o1", reordered); !errors.As(err, &exists) {
		t.Errorf("while it runs, other bytes: %v", err)
	}
	l.clock.move(l.m, 2*time.Hour)
	l.status("o1", states.Succeeded)
	if err := l.start("o1", input); !errors.As(err, &exists) {
		t.Errorf("after its end, the same input: %v", err)
	}
	if got := l.script.called(); got != "remind-deposit" || len(l.m.Executions()) != 1 {
		t.Errorf("called %q, %d executions", got, len(l.m.Executions()))
	}
	for _, name := range []string{"with space", "star*", "slash/", "a:b", "a\x7fb", strings.Repeat("x", 81)} {
		if bad := (*types.InvalidName)(nil); !errors.As(l.start(name, input), &bad) {
			t.Errorf("%q was taken for a name", name)
		}
	}
	if err := l.start(strings.Repeat("x", 80), input); err != nil {
		t.Errorf("eighty letters: %v", err)
	}
	if bad := (*types.InvalidExecutionInput)(nil); !errors.As(l.start("o2", "{"), &bad) {
		t.Error("an input that is no JSON was taken")
	}
}

func TestInstantsAndWaitsOfAnotherFormFail(t *testing.T) {
	t.Parallel()
	answers := map[string][]any{"remind-deposit": {reminded}, "settle-deposit": {map[string]any{"status": "NOT_DUE", "seconds": 0}}}
	l := newLocal(t, answers, nil)
	for name, at := range map[string]string{"fraction": "2020-01-01T00:00:00.5Z", "offset": "2020-01-01T00:00:00+00:00", "day": "2020-01-01", "no": ""} {
		if err := l.start(name, `{"orderId":"o1","remindAt":"`+at+`","deadline":"2020-01-01T00:00:00Z","turns":0}`); err != nil {
			t.Fatal(err)
		}
		l.status(name, states.Failed)
		if e := l.execution(name); e.Error != "States.Runtime" {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if err := l.start("busy", inputOf(long, long)); err != nil {
		t.Fatal(err)
	}
	l.status("busy", states.Failed) // a loop without a wait would never rest
}

func TestWhatFailsForGoodIsRecorded(t *testing.T) {
	t.Parallel()
	l := newLocal(t, map[string][]any{"remind-deposit": {reminded}, "settle-deposit": {functionFails{"the database is away"}},
		"record-workflow-failure": {recorded}}, nil)
	if err := l.start("o1", inputOf(long, long)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the execution ends", func() bool {
		l.clock.move(l.m, 2*time.Minute) // longer than any wait between two tries
		return l.execution("o1").Status == states.Failed
	})
	if got, want := l.script.called(), "remind-deposit"+strings.Repeat(" settle-deposit", 7)+" record-workflow-failure"; got != want {
		t.Errorf("called %q, want %q", got, want)
	}
	if e := l.execution("o1"); e.Retries != 6 || e.Error != "DepositWorkflowFailed" {
		t.Errorf("%+v", e)
	}
}

// oneFault is a fault that strikes once.
type oneFault struct {
	point string
	mode  sqs.Mode
	hit   chan struct{} // holds one
}

func strike(point string, mode sqs.Mode) *oneFault {
	f := &oneFault{point, mode, make(chan struct{}, 1)}
	f.hit <- struct{}{}
	return f
}

func (f *oneFault) Next(point string) sqs.Mode {
	if point != f.point {
		return sqs.None
	}
	select {
	case <-f.hit:
		return f.mode
	default:
		return sqs.None
	}
}

func TestAStartWhoseAnswerIsLostHasStarted(t *testing.T) {
	t.Parallel()
	l := newLocal(t, map[string][]any{"remind-deposit": {done}}, strike(states.PointStart, sqs.LoseAnswer))
	if err := l.start("o1", inputOf(long, long)); err == nil {
		t.Fatal("the answer came")
	}
	l.status("o1", states.Succeeded)
}

func TestARefusedStartHasStartedNothing(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil, strike(states.PointStart, sqs.Refuse))
	if err := l.start("o1", inputOf(long, long)); err == nil || !strings.Contains(err.Error(), "ThrottlingException") {
		t.Errorf("%v", err)
	}
	if n := len(l.m.Executions()); n != 0 {
		t.Errorf("%d executions", n)
	}
}

func TestAStepWhoseAnswerIsLostIsMadeAgain(t *testing.T) {
	t.Parallel()
	l := newLocal(t, map[string][]any{"remind-deposit": {reminded}, "settle-deposit": {settled}}, strike(states.PointTask, sqs.LoseAnswer))
	if err := l.start("o1", inputOf(long, long)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the execution ends", func() bool {
		l.clock.move(l.m, time.Minute)
		return l.execution("o1").Status == states.Succeeded
	})
	if got := l.script.called(); got != "remind-deposit remind-deposit settle-deposit" {
		t.Errorf("called %q", got)
	}
}

func TestAMachineThatStopsEndsWhatWaits(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil, nil)
	if err := l.start("o1", inputOf(l.clock.Now().Add(time.Hour), l.clock.Now().Add(time.Hour))); err != nil {
		t.Fatal(err)
	}
	if err := l.m.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := l.execution("o1"); e.Status != states.Aborted {
		t.Errorf("%+v", e)
	}
	if err := l.start("o2", "{}"); err == nil {
		t.Error("a stopped machine starts executions")
	}
}

func TestDefinitionsThatSayMoreThanIsRunAreRefused(t *testing.T) {
	t.Parallel()
	whole := definition(t, "")
	replace := func(old, with string) []byte {
		if !bytes.Contains(whole, []byte(old)) {
			t.Fatalf("the file does not say %s", old)
		}
		return bytes.Replace(whole, []byte(old), []byte(with), 1)
	}
	for outcome, text := range map[string][]byte{
		"no state to start at":             replace(`"StartAt": "WaitForReminder"`, `"StartAt": "Nowhere"`),
		"a target that is missing":         replace(`"Next": "Remind"`, `"Next": "Remnid"`),
		"another type of state":            replace(`"Finished": {"Type": "Succeed"}`, `"Finished": {"Type": "Parallel"}`),
		"a field of another type":          replace(`"Finished": {"Type": "Succeed"}`, `"Finished": {"Type": "Succeed", "ResultPath": "$.x"}`),
		"a field nobody knows":             replace(`"Finished": {"Type": "Succeed"}`, `"Finished": {"Type": "Succeed", "Colour": "red"}`),
		"a path with a filter":             replace(`"$.remindAt"`, `"$.list[0]"`),
		"another member of the context":    replace(`"$$.Execution.Name"`, `"$$.Execution.RoleArn"`),
		"another function of the language": replace(`States.MathAdd(`, `States.MathRandom(`),
		"another service":                  replace(`"arn:aws:states:::lambda:invoke"`, `"arn:aws:states:::sns:publish"`),
		"a retrier without jitter":         replace(`"JitterStrategy": "FULL"`, `"JitterStrategy": "SOME"`),
		"no JSON":                          []byte("{"),
	} {
		if _, err := states.New(states.Options{Name: "deposits", Definition: text, Functions: newScript(nil)}); !errors.Is(err, states.ErrDefinition) {
			t.Errorf("%s: %v", outcome, err)
		}
	}
	if _, err := states.New(states.Options{Name: "deposits", Definition: whole, Functions: newScript(nil)}); err != nil {
		t.Errorf("the file itself: %v", err)
	}
}

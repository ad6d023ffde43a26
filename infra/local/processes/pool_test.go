package processes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

// TestMain makes this very binary a function, when it is started as one.
func TestMain(m *testing.M) {
	switch os.Getenv("TEST_FUNCTION") {
	case "":
		os.Exit(m.Run())
	case "broken":
		os.Exit(7)
	}
	lambda.Start(answerWish)
}

// wish is what a test asks of the function.
type wish struct {
	Do   string `json:"do"`
	File string `json:"file"`
}

// told is what the function saw.
type told struct {
	PID      int       `json:"pid"`
	Request  string    `json:"request"`
	ARN      string    `json:"arn"`
	Deadline time.Time `json:"deadline"`
	Home     string    `json:"home"`
}

func answerWish(ctx context.Context, w wish) (told, error) {
	switch w.Do {
	case "fail":
		return told{}, errors.New("no luck today")
	case "panic":
		panic("oh")
	case "hang":
		<-make(chan struct{})
	case "wait":
		for {
			if _, err := os.Stat(w.File); err == nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	lc, _ := lambdacontext.FromContext(ctx)
	deadline, _ := ctx.Deadline()
	return told{os.Getpid(), lc.AwsRequestID, lc.InvokedFunctionArn, deadline, os.Getenv("HOME")}, nil
}

// function starts this binary as a function named f.
func function(t *testing.T, kind string, timeout time.Duration, limit int) *Processes {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(binary, filepath.Join(dir, "f")); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	p := Start(Options{Functions: []Function{{Name: "f", Timeout: timeout, MemoryMB: 128, Variables: []string{"TEST_FUNCTION"}}}, Binaries: dir,
		Limit: limit, Log: log, Variables: func(names []string) []string { return []string{names[0] + "=" + kind} }})
	t.Cleanup(func() {
		p.Close()
		_ = log.Close()
	})
	return p
}

// do invokes f and reads what it saw.
func do(t *testing.T, p *Processes, w wish) (told, error) {
	t.Helper()
	event, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := p.Invoke(context.Background(), "f", event)
	var saw told
	if err == nil {
		if err := json.Unmarshal(answer, &saw); err != nil {
			t.Fatalf("%s: %v", answer, err)
		}
	}
	return saw, err
}

func TestAnInstanceIsUsedAgainAndSeesWhatLambdaShows(t *testing.T) {
	p := function(t, "sound", 5*time.Second, 2)
	first, err := do(t, p, wish{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := do(t, p, wish{})
	if err != nil || second.PID != first.PID || second.Request == first.Request {
		t.Errorf("first %+v, second %+v, %v", first, second, err)
	}
	if !strings.HasSuffix(first.ARN, ":function:f") || time.Until(first.Deadline) > 5*time.Second || time.Until(first.Deadline) < 0 {
		t.Errorf("it saw %+v", first)
	}
	if first.Home != "" {
		t.Error("it saw a variable of ours that nobody gave it")
	}
}

func TestAFunctionsErrorIsToldAndTheInstanceGoesOn(t *testing.T) {
	p := function(t, "sound", 5*time.Second, 2)
	before, err := do(t, p, wish{})
	if err != nil {
		t.Fatal(err)
	}
	var said *FunctionError
	if _, err := do(t, p, wish{Do: "fail"}); !errors.As(err, &said) || said.Message != "no luck today" {
		t.Errorf("error %v", err)
	}
	if after, err := do(t, p, wish{}); err != nil || after.PID != before.PID {
		t.Errorf("before %+v, after %+v, %v", before, after, err)
	}
}

func TestAnInstanceThatPanicsTimesOutOrIsKilledIsReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		do   string
		kill bool
		want func(error) bool
	}{
		"panics":    {"panic", false, func(err error) bool { var said *FunctionError; return errors.As(err, &said) && said.Message == "oh" }},
		"times out": {"hang", false, func(err error) bool { return errors.Is(err, ErrTimeout) }},
		"is killed": {"hang", true, func(err error) bool { return errors.Is(err, ErrDied) }},
	} {
		t.Run(name, func(t *testing.T) {
			timeout := time.Second
			if c.kill {
				timeout = time.Minute
			}
			p := function(t, "sound", timeout, 1)
			before, err := do(t, p, wish{})
			if err != nil {
				t.Fatal(err)
			}
			if c.kill {
				go func() {
					for busy := false; !busy; time.Sleep(time.Millisecond) {
						busy = isBusy(p) // only then: an idle one that dies is no failure
					}
					p.Kill("f")
				}()
			}
			if _, err := do(t, p, wish{Do: c.do}); !c.want(err) {
				t.Errorf("error %v", err)
			}
			after, err := do(t, p, wish{})
			if err != nil || after.PID == before.PID {
				t.Errorf("before %+v, after %+v, %v", before, after, err)
			}
			if alive := p.PIDs("f"); len(alive) != 1 {
				t.Errorf("instances %v", alive)
			}
		})
	}
}

func isBusy(p *Processes) bool {
	pool := p.pools["f"]
	pool.mu.Lock()
	defer pool.mu.Unlock()
	for i, busy := range pool.instances {
		i.mu.Lock()
		has := i.current != nil
		i.mu.Unlock()
		if busy && has {
			return true
		}
	}
	return false
}

func TestAnIdleInstanceThatDiesIsNoFailure(t *testing.T) {
	p := function(t, "sound", 5*time.Second, 1)
	if _, err := do(t, p, wish{}); err != nil {
		t.Fatal(err)
	}
	for busy, found := true, true; busy || !found; { // until it has asked for the next event
		busy, found = isBusy(p), len(p.PIDs("f")) == 1
	}
	p.Kill("f")
	if _, err := do(t, p, wish{}); err != nil {
		t.Errorf("error %v", err)
	}
}

func TestAFunctionThatDoesNotStartSaysSo(t *testing.T) {
	p := function(t, "broken", 5*time.Second, 1)
	if _, err := do(t, p, wish{}); !errors.Is(err, ErrInit) || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("error %v", err)
	}
}

func TestInstancesGrowWithTheCallsUpToTheLimit(t *testing.T) {
	p := function(t, "sound", 20*time.Second, 3)
	file := filepath.Join(t.TempDir(), "go")
	var calls sync.WaitGroup
	errs := make(chan error, 5)
	for range 5 {
		calls.Go(func() {
			_, err := p.Invoke(context.Background(), "f", fmt.Appendf(nil, `{"do":"wait","file":%q}`, file))
			errs <- err
		})
	}
	for deadline := time.Now().Add(20 * time.Second); len(p.PIDs("f")) < 3; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("instances %v", p.PIDs("f"))
		}
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	calls.Wait()
	for range 5 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := len(p.PIDs("f")); n != 3 {
		t.Errorf("%d instances", n)
	}
}

func TestACallerThatGoesAwayEndsNothing(t *testing.T) {
	p := function(t, "sound", 20*time.Second, 1)
	file := filepath.Join(t.TempDir(), "go")
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := p.Invoke(ctx, "f", fmt.Appendf(nil, `{"do":"wait","file":%q}`, file)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v", err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := do(t, p, wish{}); err != nil {
		t.Error(err)
	}
	if n := len(p.PIDs("f")); n != 1 {
		t.Errorf("%d instances: the first was ended", n)
	}
}

func TestAClosedStackLeavesNoProcessBehind(t *testing.T) {
	p := function(t, "sound", 5*time.Second, 1)
	saw, err := do(t, p, wish{})
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	if process, err := os.FindProcess(saw.PID); err == nil && process.Signal(os.Signal(nil)) == nil {
		t.Error("it still runs")
	}
	if _, err := do(t, p, wish{}); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v", err)
	}
}
